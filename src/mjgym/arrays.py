"""Array-library helpers; tasks run on any library that follows the array API standard."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = Any
"""An array from any library that follows the array API standard, or a number."""


def namespace(*arrays: Array) -> Any:
    """The array library of the arguments; NumPy for numbers."""
    for x in arrays:
        if type(x) is np.ndarray:
            return np
    others = [x for x in arrays if not isinstance(x, (np.generic, float, int))]
    if not others:
        return np
    if isinstance(others[0], np.ndarray):  # a subclass may have functions of its own
        return others[0].__array_namespace__()
    import array_api_compat

    return array_api_compat.array_namespace(*others)


def shape(x: Array) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


# NumPy's methods and ufunc reductions take at most half the time of its functions.


def reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape) if isinstance(x, np.ndarray) else namespace(x).reshape(x, shape)


def _is_special(x: Any) -> bool:
    """Tell whether an array is of a subclass of NumPy's, which computes otherwise."""
    return isinstance(x, np.ndarray) and type(x) is not np.ndarray


def columns(x: Array, places: Sequence[int] | np.ndarray, axis: int = -1) -> Array:
    """The entries at some indices along an axis, the last one by default."""
    if isinstance(x, np.ndarray):
        if _is_special(places):
            return namespace(places).take(x, places, axis=axis)
        return x.take(places, axis=axis)
    xp = namespace(x)
    return xp.take(x, xp.asarray(places, device=x.device), axis=axis)


class Methods(NamedTuple):
    """Array operations of a namespace: `columns` and `reshaped`, or NumPy's own."""

    take: Callable[..., Array] = columns
    reshape: Callable[..., Array] = reshaped


METHODS = Methods(), Methods(np.ndarray.take, np.ndarray.reshape)
"""By whether arrays are NumPy's, for functions that call them in each physics step."""


def alongside(constant: np.ndarray, x: Array) -> Array:
    """A NumPy constant in the library of another array, on its device."""
    if isinstance(x, np.ndarray | np.generic | float):
        return constant
    return namespace(x).asarray(constant, device=x.device)


def copied(x: Array) -> Array:
    """A copy of an array."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.copy()
    return namespace(x).asarray(x, copy=True)


FEW = 24  # up to this many numbers, a list is faster to check than an array


def all_finite(x: np.ndarray) -> bool:
    """Tell whether every number of a NumPy array is finite."""
    # A product is the fastest test for many numbers; either measure may overflow.
    few = x.ndim == 1 and x.size <= FEW
    measure = math.hypot(*x.tolist()) if few else np.vdot(x, x)
    return math.isfinite(measure) or bool(np.isfinite(x).all())


# Row masks: bool, of the leading shape of the arrays that they apply to.


def where_rows(mask: Array, one: Array, other: Array) -> Array:
    """Rows of `one` where the mask is True, and of `other`, of the same shape, elsewhere."""
    if isinstance(mask, np.ndarray) and mask.ndim == other.ndim:  # in half the time
        return np.where(mask, one, other)
    spread = reshaped(mask, (*mask.shape, *[1] * (other.ndim - mask.ndim)))
    return namespace(mask).where(spread, one, other)


def zero_unless(mask: Array, values: Array) -> Array:
    """The array with zeros in all rows where the mask is False."""
    if isinstance(values, np.ndarray):
        masked = np.zeros_like(values)
        masked[mask] = values[mask]
        return masked
    return where_rows(mask, values, namespace(values).zeros_like(values))


def any_true(mask: Array) -> bool:
    """Tell whether any entry of a mask is True; waits for a device."""
    return bool(
        np.count_nonzero(mask) if isinstance(mask, np.ndarray) else namespace(mask).any(mask)
    )


def known_empty(mask: Array) -> bool:
    """Tell whether a mask is known to be all False, without waiting for a device."""
    return type(mask) is np.ndarray and np.count_nonzero(mask) == 0


def known_true(condition: Array) -> bool:
    """Tell whether a condition, one or an array, is known to hold somewhere.

    Nothing is known while a hook is recorded on arrays without numbers.
    """
    if isinstance(condition, bool | np.bool_):
        return bool(condition)
    return not _is_special(condition) and any_true(condition)


# Along the last axis.


def total(x: Array) -> Array:
    return np.add.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).sum(x, axis=-1)


def largest(x: Array) -> Array:
    return np.maximum.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).max(x, axis=-1)


def smallest(x: Array) -> Array:
    return np.minimum.reduce(x, -1) if isinstance(x, np.ndarray) else namespace(x).min(x, axis=-1)


def drawn_row(drawn: Array, columns: int, number: Array) -> Array:
    """A row of the numbers that an episode has drawn, by its number, (..., columns).

    Args:
        drawn: the numbers row by row, (..., rows * columns); after the last row comes the first.
        number: of the row, (...).
    """
    xp, rows = namespace(drawn), drawn.shape[-1] // columns
    table = reshaped(drawn, (*drawn.shape[:-1], rows, columns))
    chosen = xp.arange(float(rows)) == (number % rows)[..., None]
    return xp.sum(xp.where(chosen[..., None], table, 0.0), axis=-2)
