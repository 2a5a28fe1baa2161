"""Action and observation spaces, and how named entries become observations."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy import ndarray

from mjgym import pixels
from mjgym.actions import Action, bounds
from mjgym.arrays import (
    Array,
    all_finite,
    chosen,
    copied,
    namespace,
    reshaped,
    surely_nobody,
)
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
    if not all_finite(array):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
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
        start = 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            self.slices[name] = slice(start, start + size)
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

    def parts(self, observation: Any) -> dict[str, Array]:
        """The part of an observation that belongs to each entry, in the entry's shape."""
        if self._flat:
            vector = observation if self._bare else observation["flat"]
            lead = vector.shape[:-1]
            return {
                name: reshaped(vector[..., self.slices[name]], (*lead, *shape))
                for name, shape in self.shapes.items()
            }
        shown = self.shapes if self.has_entries else {}
        return {
            n: observation[n] if shape else observation[n][..., 0] for n, shape in shown.items()
        }

    def shown_pictures(self, observation: Any) -> list[tuple[str, Image, Array]]:
        """The pictures by name, and the part of an observation that shows each to all players."""
        shown = []
        for name, picture in self.pictures.items():
            part = observation if self._bare else observation[name]
            shown.append((name, picture, np.moveaxis(part, 1, 0) if self._players else part))
        return shown


class Buffer:
    """An observation of one simulation or of many that is written again and again.

    Args:
        layout: of the observation.
        lead: shape of the view whose entries are written.
        xp: namespace of their library.

    Attributes:
        observation: an array, or a dict of them.
    """

    def __init__(self, layout: Layout, lead: tuple[int, ...] = (), xp: Any = np) -> None:
        def zeros(space: Any) -> Any:
            return xp.zeros(space.shape, dtype=getattr(xp, space.dtype.name))

        space = layout.space(lead)
        self.observation = (
            {name: zeros(part) for name, part in space.spaces.items()}
            if isinstance(space, gymnasium.spaces.Dict)
            else zeros(space)
        )
        self._parts = [*layout.parts(self.observation).items()]
        self._pictures = layout.shown_pictures(self.observation)

    def write(self, entries: Arrays, draw: Draw) -> Any:
        """The observation, with the entries and pictures of all simulations written into it.

        A picture that is not among the entries is drawn.
        """
        for name, part in self._parts:
            part[...] = entries[name]
        for name, picture, part in self._pictures:
            part[...] = entries[name] if name in entries else draw(picture)
        return self.observation


def is_finite(observation: Any) -> bool:
    """Whether all numbers of one observation of NumPy are finite."""
    if isinstance(observation, dict):
        return all(map(is_finite, observation.values()))
    return observation.dtype.kind != "f" or all_finite(observation)


def not_finite(observation: Any, n: int) -> Any:
    """Which of n observations hold a number that is not finite, (n,) bool.

    None where it is known that none does; what a device holds is not waited for.
    """
    bad = None
    for part in observation.values() if isinstance(observation, dict) else (observation,):
        if isinstance(part, ndarray) and is_finite(part):
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


def replace(observation: Any, rows: Any, source: Any) -> None:
    """Overwrite the rows of a mask in a batch of observations with those of another batch."""
    if isinstance(observation, dict):
        for name, values in observation.items():
            replace(values, rows, source[name])
    elif isinstance(observation, ndarray):
        observation[rows] = source[rows]
    else:  # a device would have to be waited for to know the rows
        observation[...] = chosen(rows, source, observation)


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
