"""The present observations of episodes, and functions on observations.

An observation is an array or a dict of them, of one simulation or of many.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from mjgym.arrays import Array, all_finite, copied, known_empty, namespace, where_rows
from mjgym.envs.camera import Cameras
from mjgym.envs.layouts import goals_of, layout_of, sensing_of
from mjgym.envs.options import Options
from mjgym.envs.spaces import Layout
from mjgym.loop.episode import Episodes
from mjgym.loop.states import FRAMES
from mjgym.observables import Image
from mjgym.task import Arrays


class Observations:
    """The present observation of episodes, and the one before it.

    Of a stack of frames, an episode's first one stands for those before it.

    Args:
        episodes: that are observed.
        options: say what an observation shows.
        cameras: draw its pictures.

    Attributes:
        layout: what an observation is made of.
    """

    def __init__(self, episodes: Episodes, options: Options, cameras: Cameras) -> None:
        goals = goals_of(options, episodes)
        if goals is not None:
            episodes.pursue(goals)
        sensing = sensing_of(options, episodes)
        if sensing is not None:
            episodes.read_through(sensing, cameras.draw)
        self.layout = layout_of(options, episodes, sensing)
        self._episodes = episodes
        self._cameras = cameras
        # They take turns: arrays of their own in every step take as long as to fill them.
        self._now, self._before = self._buffer(), self._buffer()
        self._lead = episodes.view.lead
        first = self.present
        self._is_vector = isinstance(first, np.ndarray) and first.dtype.kind == "f"
        episodes.show_through(self.show)

    def _buffer(self) -> "Buffer":
        return Buffer(self.layout, self._episodes.view.lead, self._episodes.view.xp)

    @property
    def present(self) -> Any:
        """The last result of `observe`; the next but one overwrites it, a user gets a copy."""
        return self._now.observation

    def observe(self) -> Any:
        """Observe the present states."""
        self._now, self._before = self._before, self._now
        if self._now.older:
            self._now.continue_from(self._before)
        observation = self._now.write(self._entries(), self._cameras.show)
        if self._now.older:
            self._now.repeat(self._episodes.steps == 0)
        return observation

    def resume(self, state: Mapping[str, np.ndarray], rows: Any = ...) -> Any:
        """Observe states that have just been written.

        Args:
            state: what was written. Where it has no older frames, the present one stands for them.
            rows: of the simulations that it was written to; `...` for the only one.

        Returns:
            The observations of all simulations.
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
        """Copies of the frames before the present one, as entries of a state.

        Args:
            rows: of simulations; `...` for the only one.
        """
        to_numpy = self._episodes.view.to_numpy
        return {name: to_numpy(x)[rows].copy() for name, x in self._now.older.items()}

    def show(self, mask: Any = None) -> Any:
        """Observe the present states of all simulations, or of a mask; what others show stays.

        Returns:
            Those whose observation is not finite, bool of shape lead; None where it is known that
            there are none. Of a mask they go on to show what they did.
        """
        if mask is None or mask.ndim == 0:
            shown = self.observe()
            if self._is_vector and all_finite(shown):  # as in most steps, without more calls
                return None
            return not_finite(shown, self._lead)
        some = self._observe_some(mask)
        bad = not_finite(some, self._lead)
        if bad is not None:
            bad, mask = bad & mask, ~bad & mask
        replace(self.present, mask, some)
        return bad

    def _observe_some(self, mask: Any) -> Any:
        """The observation of those of a mask; what it holds of the others has no meaning."""
        some = self._some.write(self._entries(), lambda image: self._cameras.show(image, mask))
        self._some.repeat()
        return some

    @functools.cached_property
    def _some(self) -> "Buffer":
        """Observations of episodes that begin in the step that ends the one before."""
        return self._buffer()

    def take_back(self, mask: Any = ...) -> None:
        """Show again, for the simulations of a mask or for all, what was before `observe`.

        Of a stack of frames, that is the last one from before, a second time.
        """
        if self._now.older:
            self._now.continue_from(self._before, mask)
            replace(self._now.last, mask, self._before.last)
        else:
            replace(self.present, mask, self._before.observation)

    def restore(self, observation: Any) -> None:
        """Show what was `present` elsewhere."""
        replace(self.present, ..., observation)

    def _entries(self) -> Arrays:
        return self._episodes.observe() if self.layout.needs_entries else {}


class Buffer:
    """An observation of one simulation or of many that is written again and again.

    Args:
        layout: of the observation.
        lead: shape of the view whose entries are written.
        xp: namespace of their library.

    Attributes:
        observation: an array, or a dict of them.
        older: of a stack, the frames before the last one, by their names in a state.
        last: of a stack, the last frame by the same names, with the axis of frames.
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
        self.older: dict[str, Array] = {}
        self.last: dict[str, Array] = {}
        self._newer: dict[str, Array] = {}  # the frames behind the first one
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
        self._parts = [*layout.parts(frame).items()]
        self._pictures = layout.shown_pictures(frame)

    def continue_from(self, before: "Buffer", mask: Any = ...) -> None:
        """Take over the older frames from the observations before, of a mask or of all."""
        replace(self.older, mask, before._newer)

    def repeat(self, mask: Any = ...) -> None:
        """Let the last frame stand for the older ones, of a mask or of all."""
        replace(self.older, mask, self.last)

    def write(self, entries: Arrays, draw: Callable[[Image], Array]) -> Any:
        """The observation, with the entries and pictures of all simulations as its last frame.

        Args:
            entries: by name.
            draw: gives the pictures that are not among them.
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


def not_finite(observation: Any, lead: tuple[int, ...]) -> Any:
    """A mask of the observations that hold a number that is not finite, of shape lead.

    None where it is known that none does; what a device holds is not waited for.
    """
    bad = None
    for part in observation.values() if isinstance(observation, dict) else (observation,):
        if isinstance(part, np.ndarray) and is_finite(part):
            continue
        xp = namespace(part)
        if not xp.isdtype(part.dtype, "real floating"):  # a picture's
            continue
        rows = ~xp.all(xp.isfinite(xp.reshape(part, (*lead, -1))), axis=-1)
        bad = rows if bad is None else bad | rows
    return None if bad is None or known_empty(bad) else bad


def copy_observation(observation: Any) -> Any:
    """A copy of an observation in either mode."""
    if isinstance(observation, dict):
        return {name: copied(value) for name, value in observation.items()}
    # The common case without a call in between.
    return observation.copy() if isinstance(observation, np.ndarray) else copied(observation)


def replace(observation: Any, rows: Any, source: Any) -> None:
    """Overwrite the rows of a mask, `...` for all, with those of another batch of observations."""
    if isinstance(observation, dict):
        for name, values in observation.items():
            replace(values, rows, source[name])
    elif rows is ... or isinstance(observation, np.ndarray):
        observation[rows] = source[rows]
    else:  # a device would have to be waited for to know the rows
        observation[...] = where_rows(rows, source, observation)


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
    """Copies of the observations of the sub-environments in `rows`."""
    if isinstance(observation, dict):
        return {name: value[rows] for name, value in observation.items()}
    return observation[rows]
