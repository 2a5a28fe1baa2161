"""Sessions that record teleoperation and replay recorded episodes."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets import Demonstrations, Recorder
from mjgym.datasets.recording import place
from mjgym.viewing.session import Progress, Session


class Driven(Session):
    """A session whose episodes are recorded: kept at their end, or dropped by a reset."""

    def __init__(
        self, recorder: Recorder, act: Callable[[Any], np.ndarray], seed: int, keys: Any
    ) -> None:
        self.recorder = recorder
        super().__init__(recorder, act, seed, keys)

    def next(self, ended: str = "") -> None:
        self.recorder.keep()
        super().next(ended)


class Replay(Session):
    """A session that plays driven episodes again, one after the other, and then is over."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], demonstrations: Demonstrations, first: int = 0
    ) -> None:
        self._demonstrations = demonstrations
        self._number = first
        self._shown = demonstrations.episode(first)
        self._shown.require_actions_of(env)
        super().__init__(env, self._recorded, self._shown.seed or 0)

    def _recorded(self, observation: Any) -> np.ndarray:
        t = self.progress.steps
        self.place(self._shown.state(t))  # with what somebody did by hand
        return np.asarray(self._shown.actions[t])

    def place(self, state: Mapping[str, np.ndarray]) -> None:
        self._observation = place(self.env, state)

    def reset(self, seed: int, ended: str = "") -> None:
        super().reset(self._shown.seed or 0, ended)
        self.place(self._shown.state(0))

    def next(self, ended: str = "") -> None:
        """Begin the next episode; after the last one it is over."""
        if self._number + 1 == self._demonstrations.count:
            self.over = True
            return
        self._number += 1
        self._shown = self._demonstrations.episode(self._number)
        self._shown.require_actions_of(self.env)
        self.reset(self._shown.seed or 0, ended)

    def step(self) -> None:
        """Make one recorded step; the next episode begins after the last one."""
        if self.progress.steps < len(self._shown):
            super().step()
        if not self.over and self.progress.steps >= len(self._shown):
            last: Progress = self.progress
            self.next(f"episode {self._number}: {last.steps} steps, return {last.total:.2f}")
