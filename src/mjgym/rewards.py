"""Reward shapes: `tolerance`, `ramp` and `small_control`, with values between 0 and 1.

The formulae are those of section 2 of Tunyasuvunakool et al., "dm_control: Software and tasks for
continuous control" (2020), under the names used there.
"""

import functools
import math
from typing import Any, Literal, get_args

import numpy as np

from mjgym.arrays import Array, known_true, namespace, total
from mjgym.util.suggestions import or_else

Sigmoid = Literal[
    "gaussian",
    "hyperbolic",
    "long_tail",
    "reciprocal",
    "cosine",
    "linear",
    "quadratic",
    "tanh_squared",
]
SIGMOIDS: tuple[str, ...] = get_args(Sigmoid)
_NUMBER_TYPES = frozenset((float, int, np.float64))
REACH_ZERO = ("cosine", "linear", "quadratic")  # exactly 0 beyond some distance


def tolerance(
    x: Array,
    bounds: tuple[Array, Array] = (0.0, 0.0),
    margin: Array = 0.0,
    sigmoid: Sigmoid = "gaussian",
    value_at_margin: float = 0.1,
) -> Array:
    """1 where `x` lies within `bounds`, falling to `value_at_margin` at distance `margin` outside.

    Numbers and zero-dimensional arrays use plain arithmetic, ten times faster than arrays and
    bit-identical.

    Args:
        x: number or array of any shape.
        bounds: lower and upper end of the interval of reward 1, both included; may be infinite, or
            arrays that broadcast with `x`.
        margin: distance from the interval at which the reward is `value_at_margin`; with 0, the
            reward outside the interval is 0. A number, or an array that broadcasts with `x`.
        sigmoid: the shape of the fall.
        value_at_margin: the reward at distance `margin`, in (0, 1); 0 is also allowed for the
            shapes that reach zero ("cosine", "linear", "quadratic").

    Returns:
        The reward, of the shape of `x`. NaN counts as outside: it gives 0 with a margin of 0 and
        with the shapes that reach zero, NaN with the others.

    Raises:
        ValueError: `bounds` are out of order, `margin` is negative, or, with a positive margin,
            `sigmoid` is unknown or `value_at_margin` is out of range.
    """
    lower, upper = bounds
    if not (_is_array(x) or _is_array(margin) or _is_array(lower) or _is_array(upper)):
        return _of_number(
            float(x), (float(lower), float(upper)), float(margin), sigmoid, value_at_margin
        )
    xp = namespace(x, lower, upper, margin)
    if known_true(lower > upper):
        raise ValueError(f"bounds: the lower end must not exceed the upper one, got {bounds}")
    if known_true(margin < 0):
        raise ValueError(f"margin: must not be negative, got {margin}")
    inside = (lower <= x) & (x <= upper)
    if not known_true(margin != 0) and known_true(margin == 0):
        return xp.astype(inside, xp.float64)
    scale = _scale(sigmoid, value_at_margin)
    # Clipped at 0: a shape may be undefined inside the bounds.
    distance = xp.maximum(xp.maximum(lower - x, x - upper), 0.0) / margin
    return xp.where(inside, 1.0, _SHAPES[sigmoid](xp, distance * scale))


def ramp(x: Array, zero: Array, one: Array) -> Array:
    """0 up to `zero`, 1 from `one` on, and linear in between: a one-sided "linear" tolerance.

    `x` is a number or an array of any shape, which the result has too.

    Raises:
        ValueError: `zero` is larger than `one`.
    """
    return tolerance(x, (one, math.inf), one - zero, "linear", 0.0)


def small_control(control: Array) -> Array:
    """A penalty on control, in [0.8, 1]: (4 + mean of max(1 - u^2, 0) over the actuators) / 5.

    `control` is (..., nu), of actuators with range [-1, 1]; the factor is (...), 1 at zero control.
    """
    xp = namespace(control)
    saved = xp.maximum(1 - control * control, 0.0)  # a quadratic tolerance with margin 1
    return (4 + total(saved) / control.shape[-1]) / 5


def _is_array(x: Any) -> bool:
    """Tell whether a value is an array: it has an axis, or belongs to another library."""
    if type(x) in _NUMBER_TYPES:
        return False
    # A subclass of NumPy's array may compute otherwise.
    plain = type(x) is np.ndarray or isinstance(x, np.generic)
    return x.ndim > 0 if plain else hasattr(x, "ndim")


def _of_number(
    x: float, bounds: tuple[float, float], margin: float, sigmoid: str, value_at_margin: float
) -> float:
    lower, upper = bounds
    if lower > upper:
        raise ValueError(
            f"bounds: the lower end must not exceed the upper one, got {(lower, upper)}"
        )
    if margin < 0:
        raise ValueError(f"margin: must not be negative, got {margin}")
    if margin == 0:
        return 1.0 if lower <= x <= upper else 0.0
    scale = _scale(sigmoid, value_at_margin)
    if lower <= x <= upper:
        return 1.0
    distance = (lower - x if x < lower else x - upper) / margin
    return float(_SHAPES[sigmoid](_NUMBERS, distance * scale))


class _NUMBERS:
    """The functions that the sigmoids use, for one number.

    Transcendental functions are NumPy's, so that one number and an array round alike.
    """

    exp = np.exp
    cos = np.cos
    cosh = np.cosh
    tanh = np.tanh

    @staticmethod
    def where(condition: bool, a: float, b: float) -> float:
        return a if condition else b


# Shapes as functions of y = k d, where d is the distance from the bounds in margins and k scales
# the value at d = 1. Products, not powers: they round alike everywhere.
_SHAPES: dict[str, Any] = {
    "gaussian": lambda xp, y: xp.exp(-0.5 * (y * y)),
    "hyperbolic": lambda xp, y: 1 / xp.cosh(y),
    "long_tail": lambda xp, y: 1 / (y * y + 1),
    "reciprocal": lambda xp, y: 1 / (y + 1),
    "cosine": lambda xp, y: xp.where(y < 1, (1 + xp.cos(math.pi * y)) / 2, 0.0),
    "linear": lambda xp, y: xp.where(y < 1, 1 - y, 0.0),
    "quadratic": lambda xp, y: xp.where(y < 1, 1 - y * y, 0.0),
    "tanh_squared": lambda xp, y: 1 - _squared(xp.tanh(y)),
}

_SCALES: dict[str, Any] = {
    "gaussian": lambda value: math.sqrt(-2 * math.log(value)),
    "hyperbolic": lambda value: math.acosh(1 / value),
    "long_tail": lambda value: math.sqrt(1 / value - 1),
    "reciprocal": lambda value: 1 / value - 1,
    "cosine": lambda value: math.acos(2 * value - 1) / math.pi,
    "linear": lambda value: 1 - value,
    "quadratic": lambda value: math.sqrt(1 - value),
    "tanh_squared": lambda value: math.atanh(math.sqrt(1 - value)),
}


def _squared(y: Array) -> Array:
    return y * y


@functools.lru_cache(maxsize=256)
def _scale(sigmoid: str, value_at_margin: float) -> float:
    """The factor k of a shape; checks both arguments."""
    if sigmoid not in _SCALES:
        raise ValueError(f"sigmoid: unknown kind {sigmoid!r}{or_else(sigmoid, SIGMOIDS)}")
    zero_allowed = sigmoid in REACH_ZERO
    if not (value_at_margin >= 0 if zero_allowed else value_at_margin > 0) or value_at_margin >= 1:
        interval = "[0, 1)" if zero_allowed else "(0, 1)"
        raise ValueError(
            f"value_at_margin: must lie in {interval} for {sigmoid!r}, got {value_at_margin}"
        )
    return float(_SCALES[sigmoid](value_at_margin))
