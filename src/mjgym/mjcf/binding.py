"""Live arrays over elements of a simulation, by their handles."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.mjcf.elements import Element, described, is_element, kind_of
from mjgym.sim.fields import KINDS, UNEVEN, attributes, object_of, rows, spans
from mjgym.sim.single import SingleView
from mjgym.sim.views import View
from mjgym.util.suggestions import or_else


class Bound:
    """Arrays of several elements: `bind(v, joints).qpos`, `bind(v, geoms).xpos`, ...

    An attribute is a field of MjData or MjModel, with or without the prefix of the kind (`xpos` of
    geoms is `geom_xpos`, `range` of joints is `jnt_range`, `data` of sensors is `sensordata`). Its
    shape is (*v.lead, n, ...) for n elements, in the order of the handles. Where an element can
    have several numbers (`qpos` of a ball joint, `data` of a gyro) they are concatenated,
    (*v.lead, total). For a single handle there is no element axis.

    Where the elements are evenly spaced in the engine's array, the array is a live view: it follows
    the simulation, and writes go to the simulation. Elsewhere each access returns a read-only copy.
    Assignment to the attribute (`bound.qpos = 0`) writes to the simulation in both cases.

    Raises:
        AttributeError: the elements have no such array; the message names the nearest.
        ValueError: assignment of a wrong shape, or to a model field shared by all simulations of a
            batch.
    """

    _view: View
    _kind: str
    _ids: np.ndarray
    _single: bool
    _indices: dict[str, Any]

    def __init__(self, view: View, kind: str, ids: np.ndarray, single: bool) -> None:
        self.__dict__.update(_view=view, _kind=kind, _ids=ids, _single=single, _indices={})

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        field, index, live = self._where(name)
        whole = getattr(self._view, field)
        part = whole[index]
        if not live:
            part.flags.writeable = False
        elif vars(self._view).get(field) is whole:  # a live array
            self.__dict__[name] = part
        return part

    def __setattr__(self, name: str, value: Array) -> None:
        field, index, _ = self._where(name)
        whole = getattr(self._view, field)
        if not whole.flags.writeable:
            raise ValueError(
                f"{name}: {field} cannot be written; in a batch, the fields of a model that can be"
                " are those that its task names in `varies`"
            )
        shape = whole[index].shape
        try:
            whole[index] = value
        except ValueError:
            raise ValueError(
                f"{name}: expected an array of shape {shape}, got {np.shape(value)}"
            ) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attributes(self._kind)})

    def _where(self, name: str) -> tuple[str, Any, bool]:
        """Field of an attribute, index of the elements in it, and whether it is a live view."""
        try:
            return self._indices[name]  # type: ignore[no-any-return]
        except KeyError:
            known = attributes(self._kind)
            if name not in known:
                raise AttributeError(
                    f"{self._kind}s have no attribute {name!r}{or_else(name, known)}"
                ) from None
        field, size = known[name]
        where, one = self._rows(name, size)
        lead = (slice(None),) * len(self._view.lead)
        live = not isinstance(where, np.ndarray)
        # The Ellipsis keeps a row of one number an array.
        index = (*lead, where, ...) if one else (*lead, where)
        self._indices[name] = field, index, live
        return field, index, live

    def _rows(self, name: str, size: str) -> tuple[Any, bool]:
        ids, model = self._ids, self._view.model
        if size == "nmocap":
            ids, _ = spans(model, size, ids)
            if (ids < 0).any():
                wrong = model.body(int(self._ids[np.argmax(ids < 0)])).name
                raise AttributeError(f"body {wrong!r} has no {name}: it is no mocap body")
        elif size in UNEVEN:
            return _regular(rows(model, size, ids)), False
        return (int(ids[0]), True) if self._single else (_regular(ids), False)


def bind(simulation: Any, handles: Any) -> Bound:
    """The live arrays of elements in a simulation, or in all simulations of a batch.

    Names are looked up once, here. Bind before the simulation is stepped (in a task, anywhere in
    its hooks): a batch fills a derived field only from the first step after its first use.

    Args:
        simulation: a view, as a task's hooks get it; a pair of MjModel and MjData; or an
            environment with a view (`env.unwrapped.view`) or with `model` and `data`.
        handles: elements of one kind, of the spec that was compiled or of a copy, in the order
            wanted; or a single one.

    Raises:
        TypeError: not a simulation, not elements, or elements of several kinds.
        ValueError: the model has no such element, or the element has no name.
    """
    view = _view(simulation)
    single = is_element(handles)
    listed = [handles] if single else handles
    if not isinstance(listed, Sequence) or not all(is_element(h) for h in listed):
        raise TypeError(f"bind: expected handles of elements, got {handles!r}")
    kinds = sorted({kind_of(handle) for handle in listed})
    if len(kinds) != 1:
        raise TypeError(
            f"bind: the handles are of several kinds: {', '.join(kinds)}"
            if kinds
            else "bind: there are no handles"
        )
    kind = kinds[0]
    if kind not in KINDS:
        raise TypeError(f"bind: a {kind} has no arrays; there are {', '.join(KINDS)}")
    ids = np.array([_id(view.model, kind, handle) for handle in listed])
    return Bound(view, kind, ids, single)


def _view(simulation: Any) -> View:
    if isinstance(simulation, View):
        return simulation
    pair = simulation
    if not isinstance(simulation, tuple | list):
        unwrapped = getattr(simulation, "unwrapped", simulation)
        view = getattr(unwrapped, "view", None)
        if isinstance(view, View):
            return view
        pair = (getattr(unwrapped, "model", None), getattr(unwrapped, "data", None))
    types = tuple(type(part) for part in pair)
    if types != (mujoco.MjModel, mujoco.MjData):
        raise TypeError(
            "bind: expected a view, an environment, or a pair (MjModel, MjData), got"
            f" {type(simulation).__name__}"
        )
    return SingleView(*pair)


def _id(model: mujoco.MjModel, kind: str, handle: Element) -> int:
    if not handle.name:
        if handle.signature == model.signature:
            return int(handle.id)
        raise ValueError(
            f"bind: a {kind} has no name, and the model was not compiled from its spec as it is;"
            " name it, or compile with mjcf.compile, which names all"
        )
    what = object_of(kind)
    index = mujoco.mj_name2id(model, what, handle.name)
    if index < 0:
        count = getattr(model, KINDS[kind].count)
        known = [mujoco.mj_id2name(model, what, i) or "" for i in range(count)]
        near = or_else(handle.name, [name for name in known if name])
        raise ValueError(f"bind: the model has no {described(handle)}{near}")
    return int(index)


def _regular(rows: np.ndarray) -> Any:
    if rows.size == 0:
        return slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    if rows.size == 1:
        return slice(first, first + 1)
    step = int(rows[1]) - first
    if step == 0 or (np.diff(rows) != step).any():
        return rows
    stop = last + (1 if step > 0 else -1)
    return slice(first, None if stop < 0 else stop, step)
