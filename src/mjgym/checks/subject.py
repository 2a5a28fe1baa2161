"""The task under check, and results that several checks need."""

import functools
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from mjgym.actions import UNLIMITED, bounds
from mjgym.checks.benchmark import random_actions
from mjgym.checks.runs import Episode, play
from mjgym.describe.labels import signals
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.loop.hooks import run_hooks
from mjgym.sim import Single, View
from mjgym.task import Signal, Task
from mjgym.task.models import compile_model

STEPS = 60  # control steps of a comparison
LONGEST_EPISODE = 2000  # control steps of an episode with random actions, at most
NO_LIMIT = 1000  # control steps of such an episode without a time limit
STARTS = 5  # episodes to start
EXTREME = 300  # control steps with every control at an end of its range, at most


class Subject:
    """A task under check, with results that several checks need."""

    def __init__(self, id: str, kwargs: dict[str, Any]) -> None:
        self.id = id
        self.kwargs = kwargs
        env: Any = self.make()
        limits = (env.spec.max_episode_steps, env.unwrapped.max_episode_steps)
        self.limit = min((limit for limit in limits if limit is not None), default=None)
        self.task: Task = env.unwrapped.task
        self.model = compile_model(self.task)  # never simulated: as before any episode
        self.simulation = Single(
            compile_model(self.task), self.task.varies, lagging=self.task.lagging
        )
        self._rng = np.random.default_rng(0)
        self.episodes = Episodes(BoundTask(self.task, self.simulation), lambda i: self._rng)
        self.episodes.run_in_numpy("its hooks are looked at")
        self.actions = self.task.actions(self.model)
        self.low, self.high = bounds(self.actions)

    def make(self, **more: Any) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.id, **{**self.kwargs, **more})

    def begin(self, seed: int) -> View:
        """Start an episode in the subject's simulation, as a single environment does."""
        self._rng = np.random.default_rng(seed)
        self.episodes.reset()
        return self.simulation.view

    @functools.cached_property
    def outputs(self) -> dict[str, Any]:
        return run_hooks(self.task, self.begin(0), np.zeros(len(self.actions)))

    @functools.cached_property
    def entries(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in self.outputs["observation"].items()}

    @functools.cached_property
    def signals(self) -> dict[str, Signal]:
        shapes = {entry: value.shape for entry, value in self.entries.items()}
        return signals(self.task, self.begin(0), shapes)

    @functools.cached_property
    def index_names(self) -> list[str]:
        return [f"{entry}, {name}" for entry, s in self.signals.items() for name in s.names]

    def random_actions(self, lead: tuple[int, ...] = (), seed: int = 0) -> Iterator[np.ndarray]:
        return random_actions(self.low, self.high, lead, np.float32, STEPS, seed)

    @functools.cached_property
    def random_episode(self) -> "Episode":
        actions = random_actions(self.low, self.high, (), np.float32, 500, 0)
        return play(self.make(), actions, min(self.limit or NO_LIMIT, LONGEST_EPISODE))

    @functools.cached_property
    def extreme_episode(self) -> "Episode":
        """An episode, or its beginning, with each control at one end of its range."""
        rng = np.random.default_rng(0)
        ends = np.where(self.high < UNLIMITED, [self.low, self.high], [[-1.0], [1.0]])
        choices = rng.integers(0, 2, (EXTREME, self.low.size))
        actions = iter(np.where(choices, ends[1], ends[0]).astype(np.float32))
        return play(self.make(), actions, min(self.limit or EXTREME, EXTREME))
