"""Entries of a state: their names and validation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.sim.engine import HUGE, RESET_IF_HUGE
from mjgym.util import generators
from mjgym.util.suggestions import or_else
from mjgym.util.values import unmasked

# Prefixes of entries that do not belong to the simulation.
MEMORY, READINGS, VARIATION, FRAMES = "memory.", "observables.", "variation.", "frames."
_PREFIXED = (MEMORY, READINGS, VARIATION, FRAMES)
ID = "id"
_EPISODE_ENTRIES = ("steps", "success_once", "rng", "rng.variation", ID)


def in_simulation(name: str) -> bool:
    return name not in _EPISODE_ENTRIES and not name.startswith(_PREFIXED)


def first_memory(env: Any) -> dict[str, np.ndarray]:
    """Entries of a state for the task's memory, as an episode would begin in the current state."""
    return {MEMORY + name: value for name, value in env.task.memory(env.view).items()}


def identity(spec: Any, n: int | None = None) -> dict[str, np.ndarray]:
    """The state's entry that names the id, as UTF-8 bytes; {} without a specification.

    With n, it has a leading axis of n states.
    """
    if spec is None:
        return {}
    letters = np.frombuffer(spec.id.encode(), dtype=np.uint8)
    return {ID: letters.copy() if n is None else np.tile(letters, (n, 1))}


def check_state(
    state: Any, current: Mapping[str, np.ndarray], rows: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """The entries of a state as arrays of the right shapes, before anything is written.

    Args:
        state: the user's entries; in a batch, each has a leading axis of the length of `rows` or 1,
            or none and applies to all.
        current: the current state, for names and shapes.
        rows: numbers of the sub-environments to write; None for a single environment.
    """
    if not isinstance(state, dict):
        raise TypeError(f"state: expected a dict of arrays, got {type(state).__name__}")
    if ID in state:  # first: nothing of another id's state fits, which says less
        _check_id(state[ID], current.get(ID))
    checked = {}
    for name, value in state.items():
        if name == ID:
            continue
        if name not in current:
            raise ValueError(f"state: no entry {name!r}{or_else(name, current)}")
        wanted = current[name]
        array = _converted(name, value, wanted.dtype)
        if rows is not None and array.shape in (wanted.shape[1:], (1, *wanted.shape[1:])):
            array = np.broadcast_to(array, wanted.shape).copy()  # to be written to
        if array.shape != wanted.shape:
            raise ValueError(f"state: {name!r} has shape {array.shape}, expected {wanted.shape}")
        # Readings may be infinite.
        readings = name.startswith(READINGS)
        if array.dtype.kind == "f" and not (readings or np.isfinite(array).all()):
            first = np.argwhere(~np.isfinite(array))[0]
            where = "" if rows is None else f" of sub-environment {rows[first[0]]}"
            raise ValueError(f"state: {name!r}{where} is not finite")
        if name in RESET_IF_HUGE and (np.abs(array) > HUGE).any():
            raise ValueError(f"state: {name!r} exceeds {HUGE:g}, which the engine calls diverged")
        if name == "steps" and (array < 0).any():
            raise ValueError(f"state: 'steps' must not be negative, got {array.min()}")
        if name in ("rng", "rng.variation"):
            for words in array.reshape(-1, generators.STATE_WORDS):
                generators.check(name, words)
        checked[name] = array
    return checked


def _check_id(value: Any, current: np.ndarray | None) -> None:
    """Refuse a state of another id; an environment without an id accepts any."""
    if current is None:
        return
    here = bytes(current.reshape(-1, current.shape[-1])[0]).decode()
    letters = _converted(ID, value, np.dtype(np.uint8))
    for row in letters.reshape(-1, letters.shape[-1] if letters.ndim else 1):
        if (there := bytes(row).decode(errors="replace")) != here:
            raise ValueError(
                f"state: it is of {there!r}, not of {here!r}; without its 'id' the entries that fit"
                " can be written"
            )


def _converted(name: str, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """The entry in the state's dtype, if that loses nothing but floating-point precision."""
    value = unmasked(f"state: {name!r}", value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":  # NumPy would drop the imaginary parts
            raise TypeError("they are complex")
        if array.dtype.kind not in "biuf":
            array = np.asarray(value, dtype=float if dtype.kind == "f" else dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"state: {name!r} is not an array of numbers: {error}") from None
    if dtype.kind == "f":
        return array.astype(dtype)
    with np.errstate(invalid="ignore"):
        whole = array.astype(dtype)
    if not np.array_equal(whole, array):
        raise ValueError(f"state: {name!r} holds what is no {dtype.name}: {value!r}")
    return whole
