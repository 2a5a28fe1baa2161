"""Action and observation spaces, and how named entries become observations."""

import functools
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy import ndarray

from mjgym import pixels
from mjgym.actions import Action, bounds
from mjgym.arrays import chosen, copied, namespace, surely_nobody
from mjgym.observables import Image
from mjgym.task import Arrays

MODES = ("flat", "dict", "pixels", "flat+pixels", "dict+pixels")
DTYPES = ("float32", "float64")
_BARE = ""  # of an observation that is no dict

Draw = Callable[[Image], np.ndarray]
"""Draws a picture of the simulation, or one of each."""


def action_space(actions: Sequence[Action]) -> gymnasium.spaces.Box:
    """The ranges of the actions as a space, float32, one dimension for each number."""
    return box(*bounds(actions))


def box(low: np.ndarray, high: np.ndarray) -> gymnasium.spaces.Box:
    """A space of float32 between bounds."""
    return gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def check_action(action: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An action as an array, as given: neither rounded nor clipped.

    Args:
        action: one action (nu,), or one for each sub-environment (n, nu).
        shape: what it must be.

    Raises:
        ValueError: wrong shape or type, or not finite; the message names the index.
    """
    array = action if isinstance(action, np.ndarray) else _as_array(action)
    if array.shape != shape:
        raise ValueError(f"action: expected shape {shape}, got {array.shape}")
    if array.dtype.kind not in "fiu":
        raise ValueError(f"action: expected real numbers, got dtype {array.dtype}")
    # A product is the cheapest way to meet every number; it may overflow.
    numbers = array if array.ndim == 1 else array.ravel()
    if math.isfinite(numbers.dot(numbers)):
        return array
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f"index {index[-1]}"
        if len(shape) > 1:
            where = f"sub-environment {index[0]}, {where}"
        raise ValueError(f"action: {array[index]} at {where}; nothing has been stepped")
    return array


def _as_array(action: Any) -> np.ndarray:
    try:
        return np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"action: not an array of numbers: {error}") from None


class Layout:
    """How the entries of `Task.observation`, and pictures, make an observation.

    Args:
        sample: the entries of one simulation, for their names, order and shapes.
        mode: one of `MODES`: "flat" joins the entries into one vector in their order, "dict" keeps
            them apart, "pixels" shows pictures alone, "flat+pixels" and "dict+pixels" both (the
            vector is then the entry "flat").
        dtype: of the entries.
        pictures: by name; only used with pixels.
        readings: how many of a picture an observation shows, by name, see `mjgym.pixels.space`.
        players: of a match, () for one agent: entries then have an axis of players before their
            own, and so has the observation; all players see the same pictures.
    """

    def __init__(
        self,
        sample: Arrays,
        mode: str,
        dtype: str,
        pictures: dict[str, Image] | None = None,
        readings: Mapping[str, int] | None = None,
        players: tuple[str, ...] = (),
    ) -> None:
        self._players = (len(players),) if players else ()
        state, _, added = mode.partition("+")
        self.dtype = np.dtype(dtype)
        self.pictures = (pictures or {}) if "pixels" in (state, added) else {}
        self._readings = readings or {}
        self.has_entries = state != "pixels"
        self.needs_entries = self.has_entries or bool(self._readings)
        self._flat = state == "flat"
        # Without a dict around it: one vector, or one picture.
        self._bare = mode == "flat" or (mode == "pixels" and len(self.pictures) == 1)
        self.shapes = {
            name: np.shape(value)[len(self._players) :] for name, value in sample.items()
        }
        # In a dict every entry has an axis, which learners' networks want.
        self._in_dict = {name: shape or (1,) for name, shape in self.shapes.items()}
        self.slices: dict[str, slice] = {}
        self._columns: list[tuple[str, Any, bool]] = []
        start = 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            self.slices[name] = slice(start, start + size)
            # A scalar entry is written to its column as it is; the others need to be flat.
            column = start if shape == () else slice(start, start + size)
            self._columns.append((name, (..., column), len(shape) > 1))
            start += size
        self.size = start

    def space(self, lead: tuple[int, ...] = ()) -> gymnasium.Space[Any]:
        """The space of one observation, or of a batch; entries are unbounded, as quantities are."""
        lead = (*lead, *self._players)

        def box(shape: tuple[int, ...]) -> gymnasium.spaces.Box:
            return gymnasium.spaces.Box(-np.inf, np.inf, (*lead, *shape), self.dtype.type)

        # An OrderedDict keeps the order of the entries; Gymnasium sorts those of a plain dict.
        spaces: OrderedDict[str, gymnasium.Space[Any]] = OrderedDict()
        if self._flat:
            spaces["flat"] = box((self.size,))
        elif self.has_entries:
            spaces.update((name, box(shape)) for name, shape in self._in_dict.items())
        spaces.update(
            (name, pixels.space(picture, lead, self._readings.get(name, 0)))
            for name, picture in self.pictures.items()
        )
        if self._bare:
            (only,) = spaces.values()
            return only
        return gymnasium.spaces.Dict(spaces)

    def empty(self, lead: tuple[int, ...], xp: Any = np) -> Any:
        """A buffer for `write`, of the library whose namespace is given."""

        buffers = {
            name: xp.zeros((*lead, *shape), dtype=getattr(xp, kind))
            for name, (shape, kind) in self._parts.items()
        }
        return buffers[_BARE] if self._bare else buffers

    @functools.cached_property
    def _parts(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and kind of what one observation consists of, by name.

        A space itself takes longer to make than many a step.
        """
        space: Any = self.space()
        spaces = {_BARE: space} if self._bare else space.spaces
        return {name: (part.shape, part.dtype.name) for name, part in spaces.items()}

    def write(self, entries: Arrays, buffer: Any, draw: Draw) -> Any:
        """Fill a buffer of `empty` with the entries and pictures of all simulations; returns it.

        A picture that is not among the entries is drawn.
        """
        if self._flat:
            vector = buffer if self._bare else buffer["flat"]
            for name, column, ravel in self._columns:
                value = entries[name]
                if ravel:
                    value = value.reshape(*vector.shape[:-1], -1)
                vector[column] = value
        elif self.has_entries:
            for name, shape in self.shapes.items():
                part = buffer[name]
                (part if shape else part[..., 0])[...] = entries[name]
        for name, picture in self.pictures.items():
            target = buffer if self._bare else buffer[name]
            shown = entries[name] if name in entries else draw(picture)
            target[...] = np.expand_dims(shown, 1) if self._players else shown
        return buffer

    def pack(self, entries: Arrays, draw: Draw, lead: tuple[int, ...] = (), xp: Any = np) -> Any:
        """The observation made of the entries and pictures, in new arrays of their library."""
        if self._flat and self._bare and xp is np:  # the common case, without a space in between
            buffer = np.empty((*lead, *self._players, self.size), self.dtype)
        else:
            buffer = self.empty(lead, xp)
        return self.write(entries, buffer, draw)


def not_finite(observation: Any, n: int) -> Any:
    """Which of n observations hold a number that is not finite, (n,) bool.

    None where it is known that none does; what a device holds is not waited for.
    """
    bad = None
    for part in observation.values() if isinstance(observation, dict) else (observation,):
        if isinstance(part, ndarray):
            if part.dtype.kind != "f":
                continue
            numbers = part if part.ndim == 1 else part.ravel()
            # A product is the cheapest way to meet every number; it may overflow.
            if math.isfinite(numbers.dot(numbers)):
                continue
        xp = namespace(part)
        rows = ~xp.all(xp.isfinite(xp.reshape(part, (n, -1))), axis=-1)
        bad = rows if bad is None else bad | rows
    return None if bad is None or surely_nobody(bad) else bad


def copy_observation(observation: Any) -> Any:
    """A copy of an observation in either mode."""
    if isinstance(observation, dict):
        return {name: copied(value) for name, value in observation.items()}
    # The common case without a call in between.
    return observation.copy() if isinstance(observation, ndarray) else copied(observation)


def replaced(target: Any, rows: Any, source: Any) -> Any:
    """A batch of observations with other ones in the rows of a mask.

    NumPy's are overwritten, in a tenth of the time; a device, which would have to be waited for to
    do so, gives new arrays.
    """
    if isinstance(target, dict):
        return {name: replaced(value, rows, source[name]) for name, value in target.items()}
    if isinstance(target, ndarray):
        target[rows] = source[rows]
        return target
    return chosen(rows, source, target)


def row(observation: Any, i: int) -> Any:
    """A copy of one sub-environment's observation."""
    if isinstance(observation, dict):
        return {name: copied(value[i]) for name, value in observation.items()}
    return copied(observation[i])


def rows_of(observation: Any, mask: np.ndarray) -> np.ndarray:
    """Copies of the observations of a mask one by one, (n,) of objects; None of the others."""
    rows = np.full(len(mask), None, dtype=object)
    for i in np.flatnonzero(mask).tolist():
        rows[i] = row(observation, i)
    return rows


def take(observation: Any, rows: np.ndarray) -> Any:
    """A copy of some sub-environments' observations."""
    if isinstance(observation, dict):
        return {name: value[rows] for name, value in observation.items()}
    return observation[rows]
