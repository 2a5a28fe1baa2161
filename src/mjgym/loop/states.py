"""The entries of a state: their names, and whether values for them can be written."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.util import generators
from mjgym.util.suggestions import or_else

# Prefixes in a state of what is not the simulation's own.
MEMORY, READINGS, VARIATION = "memory.", "observables.", "variation."
_PREFIXED = (MEMORY, READINGS, VARIATION)
_OWN = ("steps", "success_once", "rng", "rng.variation")


def in_simulation(name: str) -> bool:
    """Whether an entry of a state belongs to the simulation itself."""
    return name not in _OWN and not name.startswith(_PREFIXED)


def check_state(state: Any, current: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Entries to write, as arrays of the right shapes, before anything is written.

    Args:
        state: what the user gave.
        current: the present state, for its names and shapes.

    Raises:
        TypeError: not a dict.
        ValueError: an entry is unknown, of a wrong shape or kind, or not finite, or no generator
            can be in such a state; the message names it.
    """
    if not isinstance(state, dict):
        raise TypeError(f"state: expected a dict of arrays, got {type(state).__name__}")
    checked = {}
    for name, value in state.items():
        if name not in current:
            raise ValueError(f"state: no entry {name!r}{or_else(name, current)}")
        wanted = current[name]
        array = _converted(name, value, wanted.dtype)
        if array.shape != wanted.shape:
            raise ValueError(f"state: {name!r} has shape {array.shape}, expected {wanted.shape}")
        # Readings are what they have been, be it infinite.
        readings = name.startswith(READINGS)
        if array.dtype.kind == "f" and not (readings or np.isfinite(array).all()):
            raise ValueError(f"state: {name!r} is not finite")
        if name == "steps" and (array < 0).any():
            raise ValueError(f"state: 'steps' must not be negative, got {array.min()}")
        if name in ("rng", "rng.variation"):
            for words in array.reshape(-1, generators.WORDS):
                generators.check(name, words)
        checked[name] = array
    return checked


def _converted(name: str, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """An entry in the kind of numbers that a state has it in, if that says the same.

    Raises:
        ValueError: it is no array of real numbers, or whole ones are expected.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind == "c":  # NumPy would drop the imaginary parts
            raise TypeError("they are complex")
        if given.dtype.kind not in "biuf":
            given = np.asarray(value, dtype=float if dtype.kind == "f" else dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"state: {name!r} is not an array of numbers: {error}") from None
    if dtype.kind == "f":
        return given.astype(dtype)
    with np.errstate(invalid="ignore"):
        whole = given.astype(dtype)
    if not np.array_equal(whole, given):
        raise ValueError(f"state: {name!r} holds what is no {dtype.name}: {value!r}")
    return whole
