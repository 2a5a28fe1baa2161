"""The current observations of episodes, and functions on observations.

An observation is an array or a dict of arrays, of one simulation or of many.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from mjgym.arrays import Array, all_finite, any_true, copied, known_empty, namespace, where_rows
from mjgym.envs.camera import Cameras
from mjgym.envs.layouts import layout_of
from mjgym.envs.options import Options
from mjgym.envs.spaces import Layout
from mjgym.loop.episode import Episodes
from mjgym.loop.states import FRAMES
from mjgym.observables import Image
from mjgym.task import Arrays


class Observations:
    """The current observation of episodes, and the previous one.

    At an episode's start, its first frame fills a whole stack.

    Attributes:
        present: the last result of `observe`; the next but one overwrites it, so copy it for users.
    """

    def __init__(self, episodes: Episodes, options: Options, cameras: Cameras) -> None:
        self.layout = layout_of(options, episodes)
        self._episodes = episodes
        self._cameras = cameras
        # Two buffers take turns: allocating arrays takes as long as filling them.
        self._now, self._before = self._buffer(), self._buffer()
        self._lead = episodes.view.lead
        self.present: Any = self._now.observation
        first = self.present
        episodes.target = self._before.address
        self._is_vector = isinstance(first, np.ndarray) and first.dtype.kind == "f"

    def _buffer(self) -> "Buffer":
        return Buffer(self.layout, self._episodes.view.lead, self._episodes.view.xp)

    def observe(self) -> Any:
        """Observe the current states."""
        self._now, self._before = self._before, self._now
        self.present = self._now.observation
        self._episodes.target = self._before.address
        if self._episodes.seen:
            self._episodes.seen = False
            return self.present
        if self._now.older:
            self._now.continue_from(self._before)
        entries = self._episodes.observe() if self.layout.needs_entries else {}
        self._now.write(entries, self._draw)
        if self._now.older:
            self._now.repeat(self._episodes.steps == 0)
        return self.present

    def resume(self, state: Mapping[str, np.ndarray], rows: Any = ...) -> Any:
        """Observe states that have just been written.

        Args:
            state: the written entries. Without older frames, the current frame fills the stack.
            rows: numbers of the simulations; `...` for a single one.
        """
        view = self._episodes.view
        mask = np.zeros(self._lead, dtype=bool)
        mask[rows] = True
        written = view.from_numpy(mask)
        some = self._observe_some(written)
        for name, older in self._some.older.items():
            if name in state:
                older[rows] = view.from_numpy(state[name])
        replace(self.present, written, some)
        return self.present

    def older_frames(self, rows: Any = ...) -> dict[str, np.ndarray]:
        to_numpy = self._episodes.view.to_numpy
        return {name: to_numpy(x)[rows].copy() for name, x in self._now.older.items()}

    def begin(self, where: Any = None) -> None:
        """Reset all episodes, or those of a mask, as the user asked, and observe them.

        Starts with an observation that is not finite are drawn again, before `refuse_starts`.
        """
        for _ in range(1 + self._episodes.redraws):
            self._episodes.reset(where)
            bad = self.show(where)
            if bad is None or not any_true(bad):
                return
            where = bad
        self._episodes.refuse_starts(where)

    def show(self, mask: Any = None) -> Any:
        """Observe the current states of all simulations, or of a mask; others are kept.

        Returns:
            Those with an observation that is not finite, bool of shape lead; None if it is known
            that there are none. Within a mask, they keep their previous observation.
        """
        if mask is None or mask.ndim == 0:
            seen = self._episodes.seen
            shown = self.observe()
            if seen:
                return self._episodes.not_finite
            if self._is_vector and all_finite(shown):  # the most common case
                return None
            return not_finite(shown, self._lead)
        some = self._observe_some(mask)
        bad = not_finite(some, self._lead)
        if bad is not None:
            bad, mask = bad & mask, ~bad & mask
        replace(self.present, mask, some)
        return bad

    def _observe_some(self, mask: Any) -> Any:
        entries = self._episodes.observe() if self.layout.needs_entries else {}
        some = self._some.write(entries, lambda image: self._draw(image, mask))
        self._some.repeat()
        return some

    @functools.cached_property
    def _some(self) -> "Buffer":
        return self._buffer()

    def take_back(self, mask: Any = ...) -> None:
        """Restore the observation before `observe`, for a mask of simulations or all.

        In a stack of frames, the previous frame is repeated.
        """
        if self._now.older:
            self._now.continue_from(self._before, mask)
            replace(self._now.last, mask, self._before.last)
        else:
            replace(self.present, mask, self._before.observation)

    def restore(self, observation: Any) -> None:
        replace(self.present, ..., observation)

    def _draw(self, image: Image, mask: Any = None) -> Any:
        return self._cameras.show(image, self._episodes.shown_rewards(), mask)


class Buffer:
    """An observation of one simulation or many that is overwritten in each step.

    Attributes:
        observation: an array, or a dict of arrays.
        older: the frames of a stack before the last one, by their names in a state.
        last: the last frame of a stack by the same names, with the axis of frames.
        address: of a NumPy array of all numbers, one simulation after another; 0 if there is none.
    """

    def __init__(self, layout: Layout, lead: tuple[int, ...] = (), xp: Any = np) -> None:
        def zeros(space: Any) -> Any:
            return xp.zeros(space.shape, dtype=getattr(xp, space.dtype.name))

        space = layout.space(lead)
        self.address = 0
        if layout.is_plain and xp is np:
            self._block, self.observation = layout.block(lead)
            self.address = int(self._block.ctypes.data)
        elif isinstance(space, gymnasium.spaces.Dict):
            self.observation = {name: zeros(part) for name, part in space.spaces.items()}
        else:
            self.observation = zeros(space)
        self.older: dict[str, Array] = {}
        self.last: dict[str, Array] = {}
        self._newer: dict[str, Array] = {}  # the frames after the first one
        frame = self.observation
        if layout.frames is not None:
            several = isinstance(frame, dict)
            stacks = frame if several else {"observation": frame}
            before = (slice(None),) * (len(lead) + layout.frame_axis)
            frames = {name: stack[(*before, -1)] for name, stack in stacks.items()}
            frame = frames if several else frames["observation"]
        if layout.frames is not None and layout.frames > 1:
            for name, stack in stacks.items():
                self.older[FRAMES + name] = stack[(*before, slice(None, -1))]
                self._newer[FRAMES + name] = stack[(*before, slice(1, None))]
                self.last[FRAMES + name] = stack[(*before, slice(-1, None))]
        self._parts = [*layout.entries(frame).items()]
        self._images = layout.shown_pictures(frame)

    def continue_from(self, before: "Buffer", mask: Any = ...) -> None:
        replace(self.older, mask, before._newer)

    def repeat(self, mask: Any = ...) -> None:
        replace(self.older, mask, self.last)

    def write(self, entries: Arrays, draw: Callable[[Image], Array]) -> Any:
        """Write entries and images of all simulations as the last frame; returns the observation.

        Images that are not among the entries come from `draw`.
        """
        for name, part in self._parts:
            part[...] = entries[name]
        for name, image, part in self._images:
            part[...] = entries[name] if name in entries else draw(image)
        return self.observation


def is_finite(observation: Any) -> bool:
    """Tell whether all numbers of a NumPy observation are finite."""
    if isinstance(observation, dict):
        return all(map(is_finite, observation.values()))
    return observation.dtype.kind != "f" or all_finite(observation)


def not_finite(observation: Any, lead: tuple[int, ...]) -> Any:
    """A mask of the observations that are not finite, of shape lead.

    None if it is known that all are finite; a device is not waited for.
    """
    bad = None
    for part in observation.values() if isinstance(observation, dict) else (observation,):
        if isinstance(part, np.ndarray) and is_finite(part):
            continue
        xp = namespace(part)
        if not xp.isdtype(part.dtype, "real floating"):  # an image
            continue
        rows = ~xp.all(xp.isfinite(xp.reshape(part, (*lead, -1))), axis=-1)
        bad = rows if bad is None else bad | rows
    return None if bad is None or known_empty(bad) else bad


def copy_observation(observation: Any) -> Any:
    """A copy of an observation."""
    if isinstance(observation, np.ndarray):
        return observation.copy()
    if isinstance(observation, dict):
        return {name: copied(value) for name, value in observation.items()}
    return copied(observation)


def replace(observation: Any, rows: Any, source: Any) -> None:
    """Overwrite the rows of a mask, or all with `...`, from another batch of observations."""
    if isinstance(observation, dict):
        for name, values in observation.items():
            replace(values, rows, source[name])
    elif rows is ... or isinstance(observation, np.ndarray):
        observation[rows] = source[rows]
    else:  # indexing by mask would wait for the device
        observation[...] = where_rows(rows, source, observation)


def row(observation: Any, i: int) -> Any:
    """A copy of one sub-environment's observation."""
    return copy_observation(take(observation, i))


def rows_of(observation: Any, mask: np.ndarray) -> np.ndarray:
    """Copies of masked observations as an object array (n,), None elsewhere."""
    rows = np.full(len(mask), None, dtype=object)
    for i in np.flatnonzero(mask).tolist():
        rows[i] = row(observation, i)
    return rows


def take(observation: Any, rows: Any) -> Any:
    """The observations of some sub-environments, or of one."""
    if isinstance(observation, dict):
        return {name: value[rows] for name, value in observation.items()}
    return observation[rows]
