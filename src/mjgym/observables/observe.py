"""Quantities of a model by name, as observations that a task does not have itself.

    observe.body("torso").xpos[..., 2]
    observe.site("hand").xpos - observe.geom("ball").xpos
    observe.sensor("touch_left")
    observe.field("qvel")[..., :3]
    observe.image("egocentric", width=64, height=64)

Each is an expression over the arrays of a simulation; on a batch, it gives the values of all its
simulations.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View
from mjgym.util.operators import OPERATORS, methods
from mjgym.util.suggestions import or_else


def _join(symbol: str, left: Any, right: Any) -> "Quantity":
    return _Operation(symbol, left, right)


class Quantity:
    """An expression over the arrays of a simulation."""

    __array_ufunc__ = None  # so that `array * quantity` calls the quantity

    def __call__(self, v: View) -> Array:
        """The value, an array with leading shape `v.lead`."""
        raise NotImplementedError

    def __getitem__(self, key: Any) -> "Quantity":
        return _Item(self, key)

    __add__, __radd__ = methods("+", _join)
    __sub__, __rsub__ = methods("-", _join)
    __mul__, __rmul__ = methods("*", _join)
    __truediv__, __rtruediv__ = methods("/", _join)


@dataclass(frozen=True, eq=False)
class _Attribute(Quantity):
    kind: str
    name: str
    attribute: str

    def __call__(self, v: View) -> Array:
        try:
            element = getattr(v, self.kind)(self.name)
        except KeyError:
            known = [name for name in v.names(self.kind) if name]
            hint = or_else(self.name, known)
            raise ValueError(f"the model has no {self.kind} {self.name!r}{hint}") from None
        return getattr(element, self.attribute)

    def __repr__(self) -> str:
        element = f"{self.kind}({self.name!r})"
        return element if self.kind == "sensor" else f"{element}.{self.attribute}"


@dataclass(frozen=True, eq=False)
class _Field(Quantity):
    name: str

    def __call__(self, v: View) -> Array:
        value = getattr(v, self.name)
        if not v.stays(self.name):
            raise AttributeError(f"field {self.name!r} has no fixed size, which observations need")
        # The time of one simulation is a float.
        return np.asarray(value) if isinstance(value, float) else value

    def __repr__(self) -> str:
        return f"field({self.name!r})"


@dataclass(frozen=True, eq=False)
class _Item(Quantity):
    quantity: Quantity
    key: Any

    def __call__(self, v: View) -> Array:
        key = self.key if isinstance(self.key, tuple) else (self.key,)
        return self.quantity(v)[(*[slice(None)] * len(v.lead), *key)]

    def __repr__(self) -> str:
        keys = self.key if isinstance(self.key, tuple) else (self.key,)
        return f"{self.quantity!r}[{', '.join(map(_index_text, keys))}]"


def _index_text(key: Any) -> str:
    if key is Ellipsis:
        return "..."
    if isinstance(key, slice):
        parts = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if k is None else str(k) for k in parts)
    return str(key)


@dataclass(frozen=True, eq=False)
class _Operation(Quantity):
    symbol: str
    left: Any
    right: Any

    def __call__(self, v: View) -> Array:
        # Broadcast dimensions as in one simulation, not against the batch dimension.
        sides = [
            (x(v), len(v.lead)) if isinstance(x, Quantity) else (x, 0)
            for x in (self.left, self.right)
        ]
        rank = max(np.ndim(value) - lead for value, lead in sides)
        left, right = (
            _widened(value, lead, rank + lead - np.ndim(value)) if lead else value
            for value, lead in sides
        )
        return OPERATORS[self.symbol](left, right)

    def __repr__(self) -> str:
        return f"({self.left!r} {self.symbol} {self.right!r})"


def _widened(value: Array, lead: int, by: int) -> Array:
    shape = value.shape
    return value.reshape((*shape[:lead], *[1] * by, *shape[lead:])) if by else value


class Element:
    """A named element of a model; its attributes are quantities, see `mjgym.sim.views.View`."""

    def __init__(self, kind: str, name: str) -> None:
        self._kind, self._name = kind, name

    def __getattr__(self, attribute: str) -> Quantity:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return _Attribute(self._kind, self._name, attribute)


@dataclass(frozen=True)
class Image:
    """An image of one of the model's cameras."""

    camera: str | int = 0  # name, index, or -1 for the free camera
    # width and height: in pixels
    width: int = 84
    height: int = 84
    # "rgb", uint8 (height, width, 3), or "depth", float32 (height, width) in metres
    kind: str = "rgb"
    # Groups of geoms (0 to 5) to hide, besides 3 to 5, which are always hidden
    hidden_groups: tuple[int, ...] = ()


body = functools.partial(Element, "body")
"""A body by name: xpos, xquat, xmat, subtree_com, cvel, ..."""
joint = functools.partial(Element, "joint")
"""A joint by name: qpos, qvel, qfrc_actuator, xanchor, ..."""
geom = functools.partial(Element, "geom")
"""A geom by name: xpos, xmat, ..."""
site = functools.partial(Element, "site")
"""A site by name: xpos, xmat, ..."""
actuator = functools.partial(Element, "actuator")
"""An actuator by name: ctrl, force, length, velocity, ..."""
tendon = functools.partial(Element, "tendon")
"""A tendon by name: length, velocity, ..."""
camera = functools.partial(Element, "camera")
"""A camera's pose by name: xpos, xmat; see `image` for its images."""
light = functools.partial(Element, "light")
"""A light by name: xpos, xdir."""


def sensor(name: str) -> Quantity:
    return _Attribute("sensor", name, "data")


def field(name: str) -> Quantity:
    """A whole field of MjData or MjModel, e.g. "qvel"."""
    return _Field(name)


image = Image  # spelled like the other quantities
