"""A compiled model, indexed by the elements that it was made of."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from mjgym.sim import fields
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mjcf.constants import FRAME
from mjgym_compat.dm_control.mjcf.element import Element, RootElement
from mjgym_compat.dm_control.mujoco import Physics as NamedPhysics
from mjgym_compat.dm_control.mujoco.index import COLUMNS

# Attributes of models by which nothing is computed.
_LOOKS = {"rgba", "matid", "emission", "specular", "shininess", "reflectance", "needstage"}
_INPUTS = (
    *("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "qfrc_applied", "xfrc_applied"),
    *("qacc_warmstart", "time"),
)
_ROWS = (fields.QPOS, fields.QVEL, "na", "nsensordata")  # rows also for one element, as published
_MOVED = {"pos", "quat"}  # whose writing means that frames differ
_INERTIAL = {"ipos", "iquat"}
_MOCAP = "mocap_body"
_PICKLING_NOT_SUPPORTED = "{type} cannot be pickled, as it is part of a simulation; pickle a copy"


class BoundArray(np.ndarray):
    """Numbers of bound elements; writing into it writes to the simulation."""

    _binding: "Binding"
    _name: str

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if getattr(self, "_binding", None) is not None:
            self._binding.write(self._name, self)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __array_finalize__(self, other: Any) -> None:
        self.__dict__.pop("_binding", None)

    def copy(self, order: Any = "C") -> Any:
        return np.array(self, order=order, subok=False)

    def __reduce__(self) -> NoReturn:
        raise NotImplementedError(_PICKLING_NOT_SUPPORTED.format(type=type(self)))


class _Field(NamedTuple):
    data: Any  # the MjData that the values belong to
    name: str
    values: np.ndarray
    rows: Any
    computed: bool  # by `forward`


class Binding:
    """Numbers of some elements of one kind in the simulation, as attributes.

    Names are those of the engine's fields, with the kind's prefix or without.
    """

    _physics: "Binds"

    def __init__(self, physics: "Binds", namespace: str, names: str | tuple[str, ...]) -> None:
        kind = {FRAME: "body", _MOCAP: "body"}.get(namespace, namespace)
        if kind not in fields.KINDS:
            raise ValueError(f"elements of {namespace!r} cannot be bound to physics")
        single = isinstance(names, str)
        listed = [names] if isinstance(names, str) else list(names)
        ids = np.array([physics.model.name2id(name, kind) for name in listed], dtype=np.int64)
        self.__dict__.update(
            _physics=physics, _kind=kind, _single=single, _ids=ids, _fields={}, element_id=(
                int(ids[0]) if single else ids
            ),
        )  # fmt: skip

    def _field(self, name: str) -> _Field:
        data = self._physics.data.ptr
        known: _Field | None = self._fields.get(name)
        if known is None or known.data is not data:  # reloaded
            known = self._fields[name] = self._find(name, data)
        return known

    def _find(self, name: str, data: Any) -> _Field:
        attributes = fields.attributes(self._kind)
        if name not in attributes:
            raise AttributeError(
                f"bound {self._kind} does not have attribute {name!r}"
                f"{or_else(name, sorted(attributes))}"
            )
        field, size = attributes[name]
        model = self._physics.model.ptr
        rows: Any = self._ids
        if size in fields.UNEVEN:
            if size == "nmocap":
                rows = np.asarray(model.body_mocapid)[self._ids]
                if (rows < 0).any():
                    raise AttributeError(
                        f"bound {self._kind} does not have attribute {name!r}: it is no mocap body"
                    )
            else:
                rows = fields.rows(model, size, self._ids)
        single = self._single and size not in _ROWS and np.size(rows) == 1
        computed = field not in _INPUTS and hasattr(data, field)
        values = getattr(data if hasattr(data, field) else model, field)
        return _Field(data, field, values, int(rows[0]) if single else rows, computed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field = self._field(name)
        if field.computed and self._physics.is_dirty:
            self._physics.forward()
        values = field.values[field.rows]
        if not isinstance(values, np.ndarray):  # one number
            return values
        bound = values.copy().view(BoundArray)
        bound._binding, bound._name = self, name
        return bound

    def __setattr__(self, name: str, value: Any) -> None:
        self.write(name, value)

    def write(self, name: str, value: Any) -> None:
        """Write an attribute; what depends on it is recomputed when next read."""
        field = self._field(name)
        physics = self._physics
        if field.computed and physics.is_dirty:
            physics.forward()
        field.values[field.rows] = value
        short = name.removeprefix(f"{self._kind}_")
        model = physics.model.ptr
        if short in _MOVED | _INERTIAL and hasattr(model, f"{self._kind}_sameframe"):
            getattr(model, f"{self._kind}_sameframe")[self._ids] = 0
            if short in _INERTIAL:
                model.body_simple[self._ids] = 0
        if not field.computed and short not in _LOOKS:
            physics.mark_as_dirty()

    def _index(self, key: Any) -> tuple[str, Any]:
        name, column = key if isinstance(key, tuple) else (key, slice(None))
        field = self._field(name).name
        words = next(c for end, c in COLUMNS.items() if field.endswith(end))
        if isinstance(column, str):
            return name, words.index(column)
        if isinstance(column, list) and all(isinstance(c, str) for c in column):
            return name, [words.index(c) for c in column]
        return name, column

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return getattr(self, key)
        name, column = self._index(key)
        return getattr(self, name)[..., column]

    def __setitem__(self, key: Any, value: Any) -> None:
        name, column = self._index(key)
        values = np.asarray(getattr(self, name)).copy()
        if isinstance(key, tuple):
            values[..., column] = value
        else:
            values[...] = value
        self.write(name, values)


class _EmptyBinding:
    """A binding without elements."""

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("__"):
            raise AttributeError(name)
        return np.empty(0)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError("Cannot assign a value to an empty binding.")


class Binds:
    """Mixin of a physics: `bind` finds the numbers of the elements that it was compiled from."""

    model: Any
    data: Any
    from_xml_string: Callable[..., Any]
    reload_from_xml_string: Callable[..., Any]
    _dirty = False
    _bound: tuple[Any, dict[Any, Any]] = (None, {})  # the MjData, and its bindings

    @classmethod
    def from_mjcf_model(cls, mjcf_model: RootElement) -> Self:
        physics: Self = cls.from_xml_string(mjcf_model.to_xml_string(), mjcf_model.get_assets())
        return physics

    def reload_from_mjcf_model(self, mjcf_model: RootElement) -> None:
        self.reload_from_xml_string(mjcf_model.to_xml_string(), mjcf_model.get_assets())

    @property
    def is_dirty(self) -> bool:
        return self._dirty

    def mark_as_dirty(self) -> None:
        self._dirty = True

    def forward(self) -> None:
        super().forward()  # type: ignore[misc]
        self._dirty = False

    def bind(self, mjcf_elements: Element | Iterable[Element]) -> Any:
        """Numbers of an element, or of several of one kind, as attributes."""
        if mjcf_elements is None:
            raise ValueError("mjcf_elements is None")
        single = isinstance(mjcf_elements, Element)
        elements = (mjcf_elements,) if isinstance(mjcf_elements, Element) else tuple(mjcf_elements)
        if not elements:
            return _EmptyBinding()
        if self._bound[0] is not self.data.ptr:  # reloaded
            self._bound = self.data.ptr, {}
        bindings = self._bound[1]
        if (single, elements) in bindings:  # names of many elements take time
            return bindings[single, elements]
        kinds = {_kind(element) for element in elements}
        if len(kinds) > 1:
            raise ValueError(
                "Cannot bind to a collection containing multiple element types:"
                f" {', '.join(sorted(kinds))}"
            )
        names = tuple(element.full_identifier for element in elements)
        binding = Binding(self, next(iter(kinds)), names[0] if single else names)
        bindings[single, elements] = binding
        return binding


class Physics(Binds, NamedPhysics):
    """A compiled model and its state; `bind` finds the numbers of elements."""


def _kind(element: Element) -> str:
    """Namespace of the elements; mocap bodies, with different fields, are a separate kind."""
    is_mocap = element.get_attributes().get("mocap") == "true"
    return _MOCAP if is_mocap else element.spec.namespace
