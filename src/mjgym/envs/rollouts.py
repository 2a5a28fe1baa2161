"""Rollouts: rewards of action sequences from given states; an environment's episodes stay.

    rollouts = env.unwrapped.rollout(env.unwrapped.get_state(), actions)  # (n, steps, actions)
    best = actions[rollouts.rewards.sum(axis=1).argmax()]

Candidates run in a batch of their own, through the same loop as episodes: each is equal, bit for
bit, to `set_state` and `step`.
"""

import dataclasses
import functools
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, any_true, copied, namespace, shape, zero_unless
from mjgym.envs.observations import Observations
from mjgym.envs.options import Options
from mjgym.envs.spaces import refuse_closed
from mjgym.loop.episode import Episodes, Step
from mjgym.loop.states import FRAMES, ID, READINGS, check_state
from mjgym.sim.batched import require_room
from mjgym.task import Task

RNG = "rng"  # entry of a state
SEEN = (FRAMES, READINGS)  # beginnings of entries that candidates lack whom nobody observes
KEPT = 4  # batches of candidates, of different sizes, that an environment keeps


@dataclass(frozen=True)
class Rollouts:
    """Outcome of n action sequences of T steps; arrays (n, T), of players (n, T, players).

    After the end of a candidate's episode rewards and terms are 0, flags False, and observations
    and states those of the end.
    """

    rewards: Array
    terms: dict[str, Array]  # the reward's factors by name
    terminated: Array  # whether the task has ended the episode in this step
    truncated: Array  # whether the task, the step limit or a divergence has cut it off in this step
    diverged: Array  # whether the candidate is no longer finite, in the step that truncates it
    success: Array | None  # whether the goal is reached; None for a task without one
    # The environment's observations, (n, T, ...) each; None unless asked for
    observations: Any = None
    # Entries of `get_state`, (n, T, ...) each; None unless asked for
    states: dict[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Candidates:
    """A batch of simulations for rollouts."""

    envs: Any
    episodes: Episodes
    observer: Observations
    # The entries of one state, (1, ...) each, for names and shapes
    template: Mapping[str, np.ndarray]
    random: bool  # whether steps draw random numbers

    def run(self, states: Any, actions: Any, *, observations: bool, snapshots: bool) -> Rollouts:
        """Set the states and step; see `RolloutMethods.rollout`."""
        n, steps, _ = shape(actions)
        rows = np.arange(n)
        checked = self._checked(states, rows)
        with self.envs.enter():
            ordered = self.envs.checked_actions(actions, shape(actions))
            if not (self.random or snapshots):
                checked.pop(RNG)  # to restore the generators can take longer than a step
            self.episodes.set_state(checked, rows)
            if self.episodes.runs_whole and not (observations or snapshots):
                step = self.episodes.run(ordered)
                ended = np.logical_or.accumulate(step.terminated | step.truncated, axis=1)
                going = np.concatenate([np.ones((n, 1), dtype=bool), ~ended[:, :-1]], axis=1)
                return _masked(step, going, self.envs.to_output)
            self.observer.resume(checked, rows)
            tables, alive = _Tables(self.episodes, steps), None
            for t in range(steps):
                step = self.episodes.step(ordered[:, t], alive)
                step = self.episodes.conclude(step, self.observer.show(), alive)
                if step.diverged is not None:
                    self.observer.take_back(step.diverged)
                alive = tables.put_step(t, step, alive)
                if observations:
                    tables.put("observations", t, self.observer.present)
                if snapshots:
                    older = self.observer.older_frames(rows)
                    tables.put("states", t, {**self.episodes.get_state(rows), **older})
            return tables.result(self.envs.to_output)

    def _checked(self, states: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
        n = len(rows)
        current = {
            name: value if name == ID else np.broadcast_to(value, (n, *value.shape[1:]))
            for name, value in self.template.items()
        }
        if isinstance(states, dict):
            states = {k: x for k, x in states.items() if k in current or not k.startswith(SEEN)}
        checked = check_state(states, current, rows)
        if missing := sorted(current.keys() - checked.keys() - {ID}):
            raise ValueError(
                f"state: no entry {missing[0]!r}; a rollout begins in a whole state, as"
                " get_state() returns it"
            )
        return checked


class _Tables:
    """Results of rollouts by control step."""

    def __init__(self, episodes: Episodes, steps: int) -> None:
        self._xp, self._n, self._steps = episodes.view.xp, episodes.simulation.n, steps
        xp, lead = self._xp, (self._n, steps)
        self.reward = xp.zeros((*lead, *episodes.rewards.shape[1:]))
        self.terms: dict[str, Array] = {}
        self.terminated, self.truncated, self.diverged, self.success = (
            xp.zeros(lead, dtype=xp.bool) for _ in range(4)
        )
        self.alive = xp.ones(lead, dtype=xp.bool)
        self.has_goal = episodes.has_goal
        self.asked: dict[str, Any] = {"observations": None, "states": None}

    def put_step(self, t: int, step: Step, alive: Array | None) -> Array | None:
        """Store a step of the masked candidates; returns the mask of those running. None is all."""
        for name, term in step.terms.items():
            if name not in self.terms:
                trailing = self._xp.asarray(term).shape[1:]
                self.terms[name] = self._xp.zeros((self._n, self._steps, *trailing))
            self.terms[name][:, t] = term
        for name in ("reward", "terminated", "truncated", "success", "diverged"):
            if (value := getattr(step, name)) is not None:
                getattr(self, name)[:, t] = value
        if alive is not None:
            self.alive[:, t] = alive
        ended = self.terminated[:, t] | self.truncated[:, t]
        if not any_true(ended):
            return alive
        return ~ended if alive is None else alive & ~ended

    def put(self, name: str, t: int, value: Any) -> None:
        """Store observations or states after a step: an array, or a dict of them."""
        several = isinstance(value, dict)
        parts = value if several else {"": value}
        if self.asked[name] is None:
            tables = {key: self._like(part) for key, part in parts.items()}
            self.asked[name] = tables if several else tables[""]
        tables = self.asked[name] if several else {"": self.asked[name]}
        for key, part in parts.items():
            tables[key][:, t] = part

    def _like(self, part: Any) -> Any:
        xp = np if isinstance(part, np.ndarray) else self._xp
        return xp.zeros((self._n, self._steps, *part.shape[1:]), dtype=part.dtype)

    def result(self, output: Callable[[Any], Any]) -> Rollouts:
        """All results, in the user's array library; states are NumPy's."""
        observations, states = self.asked["observations"], self.asked["states"]
        success = self.success if self.has_goal else None
        step = Step(
            self.terms, self.reward, self.terminated, self.truncated, success, self.diverged
        )
        found = _masked(step, self.alive, output)
        return dataclasses.replace(found, observations=output(observations), states=states)


def _masked(step: Step, alive: Array, output: Callable[[Any], Any]) -> Rollouts:
    """The results of control steps (n, T, ...), 0 for candidates whose episodes have ended."""
    diverged, valued = step.diverged, alive
    if diverged is not None:
        diverged, valued = alive & diverged, alive & ~diverged
    tables = {
        "rewards": zero_unless(valued, step.reward),
        "terms": {name: zero_unless(valued, term) for name, term in step.terms.items()},
        "terminated": alive & step.terminated,
        "truncated": alive & step.truncated,
        "diverged": namespace(alive).zeros_like(alive) if diverged is None else diverged,
        "success": None if step.success is None else valued & step.success,
    }
    return Rollouts(**{name: output(table) for name, table in tables.items()})


class RolloutMethods:
    """The method `rollout` of single and vector environments, and what else both have."""

    _pickled: ClassVar[tuple[str, ...]]  # attributes, besides arguments and state
    task: Task
    model: Any
    get_state: Callable[..., dict[str, np.ndarray]]
    set_state: Callable[..., Any]
    _options: Options
    _episodes: Episodes
    _observations: Observations
    _candidates: dict[tuple[int, bool], Candidates] | None = None
    _candidates_of_process = 0

    @property
    def uncompiled(self) -> str:
        """The reason why hooks run on arrays; empty with a compiled step."""
        return self._episodes.uncompiled

    @property
    def in_numpy(self) -> dict[str, str]:
        """Why a compiled step leaves some hooks to NumPy, by hook."""
        return self._episodes.in_numpy

    def run_in_numpy(self, reason: str) -> None:
        """Run all hooks in NumPy from now on, e.g. to collect warnings."""
        self._episodes.run_in_numpy(reason)

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the model's fields that episodes write to, and of those that follow."""
        return self._episodes.simulation.varied

    @property
    def entry_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the observation's entries as the task returns them; () is [1] in a dict."""
        return dict(self._observations.layout.shapes)

    @abstractmethod
    def _make_candidates(self, n: int, options: Mapping[str, Any]) -> Candidates:
        """A batch of n simulations with other options than the environment's."""

    @abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """Arguments of the constructor that make it again."""

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: constructor arguments and state."""
        return {
            "arguments": self._arguments(),
            "state": self.get_state(),
            "started": copied(self._episodes.started),
            "last": self._observations.present,
            "attributes": {name: getattr(self, name) for name in self._pickled},
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(**pickled["arguments"])  # type: ignore[misc]
        self.set_state(pickled["state"])
        self._episodes.started = pickled["started"]
        self._observations.restore(pickled["last"])
        self.__dict__.update(pickled["attributes"])

    @functools.cached_property
    def _action_size(self) -> int:
        return len(self.task.actions(self.model))

    _check_open = refuse_closed

    def rollout(
        self,
        states: dict[str, Any],
        actions: Any,
        *,
        observations: bool = False,
        snapshots: bool = False,
    ) -> Rollouts:
        """Rewards of n action sequences, bit for bit those of `set_state` and `step`.

        The environment's episodes, random generators and observations are not touched.

        Args:
            states: a whole state as `get_state` returns it, for all candidates, or n of them, with
                a leading axis.
            actions: (n, T, number of actions), neither rounded nor clipped.
            observations: whether to return the observation after each step. Without it, cameras
                draw nothing.
            snapshots: whether to return the state after each step.

        Raises:
            gymnasium.error.ClosedEnvironmentError: the environment has been closed.
            ValueError: actions have a wrong shape or are not finite, a state lacks an entry, or one
                is unknown, of a wrong shape or not finite.
        """
        self._check_open()
        size, given = self._action_size, shape(actions)
        if len(given) != 3 or given[2] != size or 0 in given[:2]:
            raise ValueError(f"actions: expected shape (n, steps, {size}), got {given}")
        candidates = self._candidates_of(given[0], observations)
        return candidates.run(states, actions, observations=observations, snapshots=snapshots)

    def _candidates_of(self, n: int, observed: bool) -> Candidates:
        if self._candidates_of_process != os.getpid():  # a fork leaves their threads behind
            self._candidates, self._candidates_of_process = None, os.getpid()
        kept = self._candidates = self._candidates or {}
        candidates = kept.pop((n, observed), None)
        if candidates is None:
            require_room("actions", self.model, n)
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept))).envs.close()
            candidates = self._make_candidates(n, self._options_of_candidates(observed))
        kept[n, observed] = candidates
        return candidates

    def _options_of_candidates(self, observed: bool) -> dict[str, Any]:
        options = {**vars(self._options), "render_mode": None, "on_divergence": "truncate"}
        # Readings may be of images, and share a random generator.
        if not observed and self._options.observables is None:
            kind = options["observation"].replace("+pixels", "").replace("pixels", "flat")
            options |= {"observation": kind, "pixels": None, "frame_stack": None}
        return options

    def _close_candidates(self) -> None:
        if self._candidates_of_process == os.getpid():
            for candidates in (self._candidates or {}).values():
                candidates.envs.close()
        self._candidates = None
