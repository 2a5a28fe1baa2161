"""The array library of an array; tasks run on any that follows the array API standard."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
"""An array of any library that follows the array API standard, or a number."""


def namespace(*arrays: Array) -> Any:
    """The module whose functions work on the arrays: NumPy for NumPy's and for numbers."""
    for x in arrays:
        if isinstance(x, np.ndarray):
            return np
    others = [x for x in arrays if not isinstance(x, (np.generic, float, int))]
    if not others:
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*others)


def shape(x: Array) -> tuple[int, ...]:
    """The shape of an array, wherever it is, or of what NumPy takes for one."""
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


# NumPy's own reductions and methods take half the time of its functions, or less.


def reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    """The numbers of an array in another shape."""
    return x.reshape(shape) if isinstance(x, np.ndarray) else namespace(x).reshape(x, shape)


def columns(x: Array, places: Sequence[int] | np.ndarray, axis: int = -1) -> Array:
    """Some of the numbers along the last axis, or another one, in the order of their places."""
    if isinstance(x, np.ndarray):
        return x.take(places, axis=axis)
    xp = namespace(x)
    return xp.take(x, xp.asarray(places, device=x.device), axis=axis)


def alongside(constant: np.ndarray, x: Array) -> Array:
    """A constant array of NumPy in the library of another array, on its device."""
    if isinstance(x, np.ndarray | np.generic | float):
        return constant
    return namespace(x).asarray(constant, device=x.device)


def trace(x: Array) -> Array:
    """The sum of the diagonal of each matrix, (..., n, n) to (...)."""
    return x.trace(0, -2, -1) if isinstance(x, np.ndarray) else namespace(x).linalg.trace(x)


def copied(x: Array) -> Array:
    """A copy of an array."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.copy()
    return namespace(x).asarray(x, copy=True)


FEW = 24  # numbers, up to which a list of them is looked through sooner than an array


def all_finite(x: np.ndarray) -> bool:
    """Whether every number of an array of NumPy is finite."""
    # A product is the cheapest way to meet many. Either may overflow, and says nothing then.
    few = x.ndim == 1 and x.size <= FEW
    measure = math.hypot(*x.tolist()) if few else np.vdot(x, x)
    return math.isfinite(measure) or bool(np.isfinite(x).all())


# Masks of rows: bool, of the shape with which arrays of a row each begin.


def where_rows(mask: Array, one: Array, other: Array) -> Array:
    """Rows of one array where a mask says so, and of another of the same shape elsewhere."""
    spread = reshaped(mask, (*mask.shape, *[1] * (other.ndim - mask.ndim)))
    return namespace(mask).where(spread, one, other)


def zero_unless(mask: Array, values: Array) -> Array:
    """Rows of an array where a mask says so, and zeros elsewhere."""
    if isinstance(values, np.ndarray):
        found = np.zeros_like(values)
        found[mask] = values[mask]
        return found
    return where_rows(mask, values, namespace(values).zeros_like(values))


def any_true(mask: Array) -> bool:
    """Whether a mask holds for any row; a device is waited for."""
    return bool(np.count_nonzero(mask) if isinstance(mask, np.ndarray) else mask.any())


def known_empty(mask: Array) -> bool:
    """Whether a mask is known to hold for no row; a device is not waited for, nor asked."""
    return isinstance(mask, np.ndarray) and np.count_nonzero(mask) == 0


# Along the last axis.


def total(x: Array) -> Array:
    """The sum along the last axis."""
    return np.add.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).sum(x, axis=-1)


def largest(x: Array) -> Array:
    """The largest along the last axis."""
    return np.maximum.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).max(x, axis=-1)


def smallest(x: Array) -> Array:
    """The smallest along the last axis."""
    return np.minimum.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).min(x, axis=-1)
