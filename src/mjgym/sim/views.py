"""The live arrays of a simulation, under the engine's names, for one simulation or many."""

import math
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import NoReturn

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim import dynamics
from mjgym.sim.fields import KINDS, VIEWED, field_rows, owner
from mjgym.util.suggestions import did_you_mean


class Named:
    """The arrays of one named element: `v.body("torso").xpos`, `v.joint("hinge").qpos`, ...

    Attributes are those of MuJoCo's named access, first on `MjData`, then on `MjModel`, with the
    view's leading shape. Each is looked up once: the arrays are live.
    """

    def __init__(self, fetch: Callable[[str], Array]) -> None:
        self.__dict__["_fetch"] = fetch

    def __getattr__(self, attribute: str) -> Array:
        value = self._fetch(attribute)
        if isinstance(value, np.ndarray):
            self.__dict__[attribute] = value
        return value

    def __setattr__(self, attribute: str, value: Array) -> None:
        getattr(self, attribute)[...] = value


class _Elements(dict[str, Named]):
    """Elements of one kind by name, each looked up once, since hooks access them in every step."""

    def __init__(self, view: "View", kind: str) -> None:
        self._view, self._kind = view, kind

    def __missing__(self, name: str) -> Named:
        return self.setdefault(name, self._view._element(self._kind, name))


def _refuse(name: str) -> NoReturn:
    raise RuntimeError("the simulations of this view have been closed")


class View:
    """The live arrays of a simulation, as a task sees them.

    Every field of `MjData` and `MjModel` is an attribute (`v.qpos`, `v.sensordata`, `v.geom_size`),
    and `body`, `joint`, `geom`, `site`, `sensor`, `actuator`, `tendon`, `camera` and `light` give
    the arrays of one element. All have the leading shape `lead`: `()` for one simulation, `(n,)`
    for a batch. Arrays are live. Assignment writes into the simulation (`v.qpos = 0`), which only
    `Task.initialize` may do.
    """

    lead: tuple[int, ...]
    model: mujoco.MjModel
    """The compiled model, for names, ids and limits. The fields that vary by episode are the
    view's (`v.geom_size`)."""
    xp: ModuleType
    memory: dict[str, Array]
    body: Callable[[str], Named]
    """The arrays of a body: xpos, xquat, xmat, xipos, cvel, mass, ..."""
    joint: Callable[[str], Named]
    """The arrays of a joint: qpos, qvel, xanchor, range, ... (of length 1 for a hinge)."""
    geom: Callable[[str], Named]
    """The arrays of a geom: xpos, xmat, size, ..."""
    site: Callable[[str], Named]
    """The arrays of a site: xpos, xmat, size, ..."""
    sensor: Callable[[str], Named]
    """The arrays of a sensor: data (a scalar sensor's has length 1)."""
    actuator: Callable[[str], Named]
    """The arrays of an actuator: ctrl, force, length, velocity, ..."""
    tendon: Callable[[str], Named]
    """The arrays of a tendon: length, velocity, ..."""
    camera: Callable[[str], Named]
    """The arrays of a camera: xpos, xmat, fovy, ..."""
    light: Callable[[str], Named]
    """The arrays of a light: xpos, xdir, pos, ..."""

    def __init__(self, lead: tuple[int, ...], xp: ModuleType = np) -> None:
        self.__dict__.update(lead=lead, xp=xp, memory={}, _rows={})
        for kind in VIEWED:
            self.__dict__[kind] = _Elements(self, kind).__getitem__

    def part(self, where: Array) -> tuple["View", np.ndarray | None]:
        """A view of a mask of simulations, and their rows; itself, and None, if it has no parts."""
        return self, None

    def to_numpy(self, array: Array) -> np.ndarray:
        """An array of the view's library as a NumPy array."""
        return np.asarray(array)

    def from_numpy(self, array: np.ndarray) -> Array:
        """A NumPy array as one of the view's library."""
        return self.xp.asarray(array)

    def by_row(self, array: Array) -> np.ndarray:
        """An array of leading shape lead as NumPy, with a leading axis of simulations."""
        whole = self.to_numpy(array)
        return np.reshape(whole, (math.prod(self.lead), *whole.shape[len(self.lead) :]))

    def owned(self, entries: Mapping[str, Array]) -> dict[str, Array]:
        """Copies of a hook's results, which may be live arrays or plain numbers."""
        asarray = self.xp.asarray
        return {name: asarray(value, copy=True) for name, value in entries.items()}

    def _field(self, name: str) -> Array:
        raise AttributeError(name)

    def _element(self, kind: str, name: str) -> Named:
        raise AttributeError(kind)

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._field(name)
        if isinstance(value, np.ndarray) and self.stays(name):
            self.__dict__[name] = value
        return value

    def release(self) -> None:
        """Drop all arrays; later access raises a RuntimeError."""
        for kind in VIEWED:
            getattr(self, kind).__self__.clear()
        self.__dict__.clear()
        self.__dict__.update(dict.fromkeys(("_field", *VIEWED), _refuse), memory={})

    def stays(self, name: str) -> bool:
        """Tell whether an array keeps its place and size while the simulation lives."""
        return True

    def __setattr__(self, name: str, value: Array) -> None:
        if name == "memory":
            self.__dict__[name] = value
        else:
            getattr(self, name)[...] = value

    def names(self, kind: str) -> tuple[str, ...]:
        """List the names of a kind's elements ("joint", "body", "actuator", ...), in id order."""
        if kind not in VIEWED:
            raise KeyError(f"no kind of elements {kind!r}{did_you_mean(kind, VIEWED)}")
        known: tuple[str, ...] | None = self._rows.get(kind)
        if known is None:
            element = getattr(self.model, kind)
            count = getattr(self.model, KINDS[kind].count)
            known = tuple(element(i).name for i in range(count))
            self._rows[kind] = known
        return known

    def rows(self, field: str, names: Iterable[str]) -> slice | np.ndarray:
        """Index of elements' numbers in a field: `v.qpos[v.rows("qpos", joints)] = 0`.

        Args:
            field: "qpos", "qvel" (of joints), "sensordata" (of sensors), "act" (of stateful
                actuators), "xpos" (of bodies), "geom_size", "site_xpos", "ten_length", ...
            names: names of the elements; the result is in their order.

        Returns:
            An index for the field's axis of elements: a slice if they are consecutive, else an
            array.

        Raises:
            KeyError: the field or an element is unknown; the message suggests the nearest ones.
        """
        names = tuple(names)
        key = field, names
        index: slice | np.ndarray | None = self._rows.get(key)
        if index is None:
            index = self._rows[key] = self._find_rows(field, names)
        return index

    def jacobian(self, kind: str, name: str, joints: Iterable[str]) -> Array:
        """The Jacobian of a site or a body with respect to some joints, (..., 6, n).

        The rows are the velocity of its origin (m/s) and its angular velocity (rad/s), in world
        axes; the columns are the joints' degrees of freedom.

        Args:
            kind: "site" or "body".
            joints: names of the joints, in the order of the columns.

        Raises:
            KeyError: the kind, element or joint is unknown; the message suggests the nearest ones.
        """
        i, root, dofs, mask = self._jacobian_rows(kind, name, tuple(joints))
        points = self.xpos if kind == "body" else self.site_xpos
        offset = points[..., i, :] - self.subtree_com[..., root, :]
        return dynamics.point_jacobian(dynamics.taken(self.cdof, dofs, -2), offset, mask)

    def _jacobian_rows(
        self, kind: str, name: str, joints: tuple[str, ...]
    ) -> tuple[int, int, dynamics.Places, np.ndarray]:
        """Ids of the element and of its tree's root, the dofs, and a mask of those that move it."""
        key = "jacobian", kind, name, joints
        if key not in self._rows:
            if kind not in ("site", "body"):
                raise KeyError(f"no Jacobian of a {kind!r}; there are those of a site and a body")
            if name not in (known := self.names(kind)):
                raise KeyError(f"the model has no {kind} {name!r}{did_you_mean(name, known)}")
            model, i = self.model, known.index(name)
            body = i if kind == "body" else int(model.site_bodyid[i])
            dofs = self._dofs(joints)
            mask = dynamics.chain_mask(model, body, dofs)
            self._rows[key] = i, int(model.body_rootid[body]), dynamics.places(dofs), mask
        rows: tuple[int, int, dynamics.Places, np.ndarray] = self._rows[key]
        return rows

    def inertia(self, joints: Iterable[str]) -> Array:
        """Joint-space inertia matrix of some joints, armature included, (..., n, n).

        It is a block of the whole matrix, in the order of the joints' degrees of freedom.

        Raises:
            KeyError: a joint is unknown; the message suggests the nearest ones.
        """
        key = "inertia", tuple(joints)
        if key not in self._rows:
            self._rows[key] = dynamics.inertia_index(self.model, self._dofs(key[1]))
        return dynamics.dense_inertia(self.M, *self._rows[key])

    def _dofs(self, joints: tuple[str, ...]) -> np.ndarray:
        return np.arange(self.model.nv)[self.rows("qvel", joints)]

    def take(self, field: str, names: Iterable[str]) -> Array:
        """Numbers of named elements in a field, in the order of the names.

        Arguments and errors are those of `rows`.

        Returns:
            (..., k), or e.g. (..., k, 3) if the field has several numbers per element.
        """
        values = getattr(self, field)
        return dynamics.taken(values, self.rows(field, names), len(self.lead) - values.ndim)

    def past(self, names: Iterable[str]) -> Array:
        """Readings of sensors before each of the last physics steps, (..., k, nsample, dim).

        All sensors have the same dimension and keep as many readings (the model's `nsample`) as a
        control step has physics steps; the readings are then in order, without the current one.

        Raises:
            KeyError: a sensor is unknown; the message suggests the nearest ones.
        """
        names = tuple(names)
        key = "past", names
        if key not in self._rows:
            model, known = self.model, self.names("sensor")
            for name in names:
                if name not in known:
                    raise KeyError(f"the model has no sensor {name!r}{did_you_mean(name, known)}")
            numbers = [known.index(name) for name in names]
            count, dim = int(model.sensor_history[numbers[0], 0]), int(model.sensor_dim[numbers[0]])
            # After a cursor and the times of the readings.
            first = model.sensor_historyadr[numbers][:, None] + 2 + count
            where = dynamics.places(np.ravel(first + np.arange(count * dim)))
            self._rows[key] = where, (len(numbers), count, dim)
        where, shape = self._rows[key]
        return self.xp.reshape(dynamics.taken(self.history, where), (*self.lead, *shape))

    def _find_rows(self, field: str, names: tuple[str, ...]) -> slice | np.ndarray:
        kind = owner(field)[0] or field.partition("_")[0]
        known = self.names(kind)
        for name in names:
            if name not in known:
                raise KeyError(f"the model has no {kind} {name!r}{did_you_mean(name, known)}")
        ids = np.array([known.index(name) for name in names], dtype=np.int64)
        return dynamics.places(field_rows(self.model, field, ids))
