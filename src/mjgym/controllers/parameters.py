"""Validation and arithmetic of control law parameters."""

import math

from mjgym.arrays import Array, namespace

Numbers = float | tuple[float, ...]
"""One number for all, or one for each."""


def finite(what: str, value: Numbers | None, count: int | None = None) -> None:
    """Raise ValueError unless a parameter is a finite number, or one per axis."""
    numbers = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise ValueError(f"{what}: expected finite numbers, got {value!r}")
    if count is not None and isinstance(value, tuple) and len(value) != count:
        raise ValueError(f"{what}: expected one number or {count}, got {len(value)}")


def not_negative(what: str, value: Numbers) -> None:
    """Raise ValueError if a parameter is below 0."""
    finite(what, value)
    if min(per_axis(value, 1)) < 0:
        raise ValueError(f"{what}: expected 0 or more, got {value!r}")


def ordered(what: str, limits: tuple[Numbers, Numbers] | None, count: int | None = None) -> None:
    """Raise ValueError unless a parameter is None or an ordered pair of limits."""
    if limits is None:
        return
    if not (isinstance(limits, tuple) and len(limits) == 2):
        raise ValueError(f"{what}: expected the least and the greatest, got {limits!r}")
    for limit in limits:
        finite(what, limit, count)
    width = max(len(per_axis(limit, 1)) for limit in limits)
    pairs = zip(*(per_axis(limit, width) for limit in limits), strict=False)
    if not all(low <= high for low, high in pairs):
        raise ValueError(f"{what}: the least exceeds the greatest in {limits!r}")


def per_axis(value: Numbers, count: int) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,) * count


def constant(value: Numbers, like: Array) -> Array:
    """Convert a parameter for arithmetic: a number, or an array of the library of `like`."""
    if not isinstance(value, tuple):
        return value
    return namespace(like).asarray(value, dtype=like.dtype, device=like.device)


def as_precise(action: Array, like: Array) -> Array:
    return namespace(action).astype(action, like.dtype, copy=False)


def clip(x: Array, low: Array, high: Array) -> Array:
    xp = namespace(x)
    return xp.minimum(xp.maximum(x, low), high)


def damping(kp: Array, damping_ratio: Array) -> Array:
    """Velocity gain for a position gain: 2 sqrt(kp) times the damping ratio."""
    if isinstance(kp, int | float):
        return 2 * math.sqrt(kp) * damping_ratio
    return 2 * namespace(kp).sqrt(kp) * damping_ratio
