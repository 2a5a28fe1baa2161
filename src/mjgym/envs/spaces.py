"""Action and observation spaces, and where each entry is in an observation."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np

from mjgym.actions import Action, bounds
from mjgym.arrays import Array, all_finite, reshaped
from mjgym.envs import pixels
from mjgym.observables import Image
from mjgym.task import Arrays
from mjgym.util.goal_entries import OBSERVED
from mjgym.util.values import unmasked

MODES = ("flat", "dict", "pixels", "flat+pixels", "dict+pixels", "goal")
DTYPES = ("float32", "float64")
_DOUBLE = np.dtype(np.float64)


def action_space(actions: Sequence[Action]) -> gymnasium.spaces.Box:
    return box(*bounds(actions))


def box(low: np.ndarray, high: np.ndarray) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def refuse_closed(env: Any) -> None:
    if env.closed:
        raise gymnasium.error.ClosedEnvironmentError("it has been closed; make another one")


def check_action(action: Any, shape: tuple[int, ...], first: int = 0) -> np.ndarray:
    """Convert an action to float64 and check its shape; it is neither rounded nor clipped.

    Args:
        action: one action (nu,), or one per sub-environment (n, nu).
        first: number of the first sub-environment, for messages.
    """
    array = action if type(action) is np.ndarray else _as_array(action)
    if array.shape != shape:
        raise ValueError(f"action: expected shape {shape}, got {array.shape}")
    if array.dtype.kind not in "fiu":
        raise ValueError(f"action: expected real numbers, got dtype {array.dtype}")
    array = array.astype(_DOUBLE, "C")  # numbers step alike in any type and order
    if not all_finite(array):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"index {index[-1]}"
        if len(shape) > 1:
            where = f"sub-environment {first + index[0]}, {where}"
        raise ValueError(f"action: {array[index]} at {where}; nothing has been stepped")
    return array


def _as_array(action: Any) -> np.ndarray:
    try:
        return np.asarray(unmasked("action", action), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"action: not an array of numbers: {error}") from None


class Layout:
    """Layout of an observation: the entries of `Task.observation`, and images.

    Args:
        sample: entries of one simulation, for their names, order and shapes.
        mode: one of `MODES`: "flat" joins the entries into one vector in their order, "dict" keeps
            them apart, "pixels" shows images only, "flat+pixels" and "dict+pixels" both (the
            vector is then the entry "flat"), "goal" the vector as the entry "observation" beside
            the goals.
        readings: number of readings per image, by name, see `mjgym.envs.pixels.space`.
        players: players of a match, () for one agent; they add a leading axis to entries and to the
            observation, and all see the same images.
        frames: number of stacked observations, along an axis after that of the players; None for no
            such axis.

    Attributes:
        frames: number of stacked observations, or None.
        frame_axis: index of their axis, not counting the axis of a batch.
    """

    def __init__(
        self,
        sample: Arrays,
        mode: str,
        dtype: str,
        pictures: dict[str, Image] | None = None,
        readings: Mapping[str, int] | None = None,
        players: tuple[str, ...] = (),
        frames: int | None = None,
        goals: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    ) -> None:
        self._players = (len(players),) if players else ()
        self.frames, self.frame_axis = frames, len(self._players)
        state, _, added = mode.partition("+")
        self.dtype = np.dtype(dtype)
        self.pictures = (pictures or {}) if "pixels" in (state, added) else {}
        self._readings = readings or {}
        self.has_entries = state != "pixels"
        self.needs_entries = self.has_entries or bool(self._readings)
        self._flat = state in ("flat", "goal")
        self._vector = OBSERVED if state == "goal" else "flat"
        self._goals = goals
        # Not a dict: one vector, or one image.
        self._bare = mode == "flat" or (mode == "pixels" and len(self.pictures) == 1)
        self.shapes = {
            name: np.shape(value)[len(self._players) :] for name, value in sample.items()
        }
        # In a dict every entry has an axis, which networks expect.
        self._in_dict = {name: shape or (1,) for name, shape in self.shapes.items()}
        self.slices: dict[str, slice] = {}
        start = 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            self.slices[name] = slice(start, start + size)
            start += size
        self.size = start

    def space(self, lead: tuple[int, ...] = ()) -> gymnasium.Space[Any]:
        """The space of one observation, or of a batch; entries are unbounded."""
        lead = (*lead, *self._players, *(() if self.frames is None else (self.frames,)))

        def box(shape: tuple[int, ...]) -> gymnasium.spaces.Box:
            return gymnasium.spaces.Box(-np.inf, np.inf, (*lead, *shape), self.dtype.type)

        # An OrderedDict keeps the order of the entries; Gymnasium sorts those of a plain dict.
        spaces: OrderedDict[str, gymnasium.Space[Any]] = OrderedDict()
        if self._flat:
            spaces[self._vector] = box((self.size,))
            spaces.update((name, box(shape)) for name, shape in self._goals.items())
        elif self.has_entries:
            spaces.update((name, box(shape)) for name, shape in self._in_dict.items())
        spaces.update(
            (name, pixels.space(image, lead, self._readings.get(name, 0)))
            for name, image in self.pictures.items()
        )
        if self._bare:
            (only,) = spaces.values()
            return only
        return gymnasium.spaces.Dict(spaces)

    @property
    def is_plain(self) -> bool:
        """True if an observation is numbers of the present alone: no images, no stack."""
        return self.has_entries and not self.pictures and self.frames is None

    def block(self, lead: tuple[int, ...]) -> tuple[np.ndarray, Any]:
        """One array for all numbers of plain observations, and an observation of views into it."""
        goals = [int(np.prod(shape)) for shape in self._goals.values()]
        block = np.zeros((*lead, *self._players, self.size + sum(goals)), dtype=self.dtype)
        if self._bare:
            return block, block
        before, observation = block.shape[:-1], {}
        shapes = self._goals if self._flat else self._in_dict
        start = 0
        if self._flat:
            observation[self._vector] = block[..., : self.size]
            start = self.size
        for name, shape in shapes.items():
            end = start + int(np.prod(shape))
            observation[name] = block[..., start:end].reshape((*before, *shape))
            start = end
        return block, observation

    def entries(self, observation: Any) -> dict[str, Array]:
        """The part of each entry, in its shape, in an observation without the axis of frames."""
        if self._flat:
            vector = observation if self._bare else observation[self._vector]
            lead = vector.shape[:-1]
            entries = {
                name: reshaped(vector[..., self.slices[name]], (*lead, *shape))
                for name, shape in self.shapes.items()
            }
            return {**entries, **{name: observation[name] for name in self._goals}}
        shown = self.shapes if self.has_entries else {}
        return {
            n: observation[n] if shape else observation[n][..., 0] for n, shape in shown.items()
        }

    def shown_pictures(self, observation: Any) -> list[tuple[str, Image, Array]]:
        """Images by name, each with its part of an observation without the axis of frames."""
        shown = []
        for name, image in self.pictures.items():
            part = observation if self._bare else observation[name]
            shown.append((name, image, np.moveaxis(part, 1, 0) if self._players else part))
        return shown
