"""Labels of numbers under arithmetic: element, unit, frame and source."""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

XYZ = ("x", "y", "z")
WORLD = "world"
ORIGIN = (f"body {WORLD}",)

Places = tuple[str, ...]
NOWHERE: tuple[Places, Places] = ((), ())


@dataclasses.dataclass(frozen=True)
class Label:
    """The label of one number."""

    what: str  # the element or thing, e.g. "torso"
    axis: str = ""  # the component of a vector, e.g. "x"; empty for a scalar
    unit: str = ""  # "1" if dimensionless, empty if unknown
    frame: str = ""  # the axes of a vector, see `Signal`
    source: str = ""  # place in the engine's arrays, see `Signal`
    scale: float = 1.0  # units per 1 of the number
    # Of positions, the elements that are added and those that are subtracted
    ends: tuple[Places, Places] = NOWHERE
    # Of an entry of a rotation, its frame, the world axis and the frame's axis
    turn: tuple[str, str, str] | None = None
    swings: bool = False  # whether that frame only turns in the vertical plane of x and z

    @property
    def name(self) -> str:
        """The element and its component."""
        return f"{self.what} {self.axis}" if self.axis else self.what

    @property
    def whole_unit(self) -> str:
        """The unit with its scale: "10 m" for a number of metres divided by 10."""
        scaled = self.scale != 1 and self.unit not in ("", "1")
        return f"{self.scale:.4g} {self.unit}" if scaled else self.unit

    def replace(self, **changes: Any) -> "Label":
        return dataclasses.replace(self, **changes)

    # Arithmetic. A plain number shifts or scales, and does not change the meaning.

    def __add__(self, other: Any) -> Any:
        return self._added(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._added(other, -1)

    def __radd__(self, other: Any) -> Any:
        return self

    def __rsub__(self, other: Any) -> Any:
        return -self

    def __neg__(self) -> "Label":
        plus, minus = self.ends
        if not plus and not minus:
            return self
        return _between(self, minus or ORIGIN, plus)

    def __pos__(self) -> "Label":
        return self

    def _added(self, other: Any, sign: int) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Label):
            return self
        alike = (self.axis, self.frame) == (other.axis, other.frame)
        if sign < 0 and alike and NOWHERE not in (self.ends, other.ends):
            plus = Counter(self.ends[0]) + Counter(other.ends[1])
            minus = Counter(self.ends[1]) + Counter(other.ends[0])
            return _between(
                self, tuple((plus - minus).elements()), tuple((minus - plus).elements())
            )
        return self.replace(
            axis=self.axis if self.axis == other.axis else "",
            unit=self.unit if self.unit == other.unit else "",
            frame=self.frame if self.frame == other.frame else "",
            source=_joined(self, other),
            ends=self.ends if self.ends == other.ends else NOWHERE,
            turn=None,
        )

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Label):
            return self._scaled(1 / other if other else 1.0)
        for turn, vector in ((self, other), (other, self)):
            if turn.turn and vector.axis in XYZ:
                return vector._turned(turn)
        return self._combined(other, 1)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self._combined(other, -1) if isinstance(other, Label) else self._scaled(other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.replace(unit=power(self.unit, -1), turn=None, ends=NOWHERE)

    def __pow__(self, exponent: Any) -> Any:
        return self.replace(unit=power(self.unit, exponent), turn=None)

    def __abs__(self) -> "Label":
        return self.replace(what=f"size of {self.what}", turn=None)

    def _scaled(self, factor: Any) -> "Label":
        size = abs(float(factor))
        known = math.isfinite(size) and size > 0
        return self.replace(scale=self.scale * size) if known and size != 1 else self

    def _turned(self, turn: "Label") -> "Label":
        """A component of a vector that is part of a sum in another frame."""
        frame, of_world, frame_axis = turn.turn or ("", "", "")
        source = self.source if self.ends != NOWHERE else _joined(self, turn)
        if self.frame == frame and self.axis == frame_axis:
            return self.replace(axis=of_world, frame=WORLD, source=source)
        if self.axis == of_world:
            return self.replace(axis=frame_axis, frame=frame, source=source)
        return self._combined(turn, 1)

    def _combined(self, other: "Label", sign: int) -> "Label":
        same = self == other
        return Label(
            self.what if same else f"{self.name} {'*' if sign > 0 else '/'} {other.name}",
            self.axis if same else "",
            times(self.unit, power(other.unit, sign)),
            self.frame if self.frame == other.frame else "",
            _joined(self, other),
            self.scale * other.scale**sign,
            self.ends if same else NOWHERE,
        )

    # It is unknown which number a maximum or a condition takes: take the label.

    def __gt__(self, other: Any) -> bool:
        return True

    __ge__ = __gt__

    def __lt__(self, other: Any) -> bool:
        return False

    __le__ = __lt__

    def __float__(self) -> float:
        return math.nan

    # NumPy calls these for its functions of the same name.

    def _with_form(self, form: str) -> "Label":
        unit = self.whole_unit
        return self.replace(unit=unit if unit in ("", "1") else form.format(unit), scale=1.0)

    def _part(self, form: str) -> "Label":
        plain = self.replace(unit="1", scale=1.0, ends=NOWHERE, turn=None)
        return plain.replace(what=form.format(self.what))

    tanh = functools.partialmethod(_with_form, "tanh({})")
    arcsinh = functools.partialmethod(_with_form, "arcsinh({})")
    exp = functools.partialmethod(_with_form, "exp({})")
    log = functools.partialmethod(_with_form, "ln({})")
    log1p = functools.partialmethod(_with_form, "ln(1 + {})")
    sin = functools.partialmethod(_part, "sine of {}")
    cos = functools.partialmethod(_part, "cosine of {}")

    def arctan2(self, other: Any) -> "Label":
        return self.replace(what=f"angle of {self.what}", axis="", unit="rad", scale=1.0, turn=None)

    def hypot(self, other: Any) -> "Label":
        """The length of a vector of two."""
        squared: Label = self * self + other * other
        return squared.sqrt()

    def sqrt(self) -> "Label":
        """The length of a vector, from the sum of its squares."""
        unit = power(self.unit, 0.5)
        length = {"m": "distance", "m/s": "speed"}.get(unit)
        frame = "" if length else self.frame
        what = self.what if length is None else length
        return self.replace(what=what, unit=unit, scale=math.sqrt(self.scale), frame=frame)


def _between(label: Label, plus: Places, minus: Places) -> Label:
    source = " - ".join([" + ".join(plus), *minus])
    what = label.what
    if plus != label.ends[0]:
        what = "origin" if plus == ORIGIN else plus[0].partition(" ")[2] if plus else what
    return label.replace(what=what, source=source, ends=(plus, minus), turn=None)


def _joined(*labels: Label) -> str:
    sources = (part for label in labels for part in label.source.split(", ") if part)
    return ", ".join(dict.fromkeys(sources))


def _factors(unit: str) -> dict[str, float]:
    """Exponents of a unit's symbols: "N m/s^2" is N^1 m^1 s^-2."""
    if "(" in unit:
        return {unit: 1.0}
    exponents: dict[str, float] = {}
    for sign, part in zip((1, -1), unit.split("/"), strict=False):
        for symbol in part.split():
            base, _, n = symbol.partition("^")
            if base != "1":
                exponents[base] = exponents.get(base, 0.0) + sign * float(n or 1)
    return exponents


def _written(factors: Mapping[str, float]) -> str:
    def part(sign: int) -> str:
        powers = [(base, sign * n) for base, n in factors.items() if sign * n > 0]
        return " ".join(base if n == 1 else f"{base}^{n:g}" for base, n in powers)

    above, below = part(1), part(-1)
    return f"{above or '1'}/{below}" if below else above or "1"


def power(unit: str, exponent: float) -> str:
    """The unit of a power: the square of "m/s" has "m^2/s^2"; "" if unknown."""
    if not unit or not isinstance(exponent, int | float):
        return ""
    return _written({base: n * exponent for base, n in _factors(unit).items()})


def times(a: str, b: str) -> str:
    """The unit of a product; "" if either is unknown."""
    if not a or not b:
        return ""
    factors = _factors(a)
    for base, n in _factors(b).items():
        factors[base] = factors.get(base, 0.0) + n
    return _written(factors)
