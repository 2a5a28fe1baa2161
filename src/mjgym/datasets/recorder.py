"""Recording the episodes of an environment while they are played."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets.formats import Writer
from mjgym.datasets.recording import Recording, State

SUCCESS = "success"  # in infos


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes selected episodes of an environment, each as soon as `keep` is called.

    Raises:
        TypeError: it is another environment.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], writer: Writer) -> None:
        if not hasattr(env.unwrapped, "get_state"):
            raise TypeError(f"env: {env} is no environment of mjgym, whose states are recorded")
        super().__init__(env)
        self._writer = writer
        self._recording: Recording | None = None
        self._before: State | None = None  # the state before the current step

    @property
    def name(self) -> str:
        return self._writer.name

    @property
    def place(self) -> Path:
        """The dataset's file or folder."""
        return self._writer.place

    @property
    def kept(self) -> int:
        return self._writer.kept

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and discard the recording of one that was not kept."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._recording, self._before = Recording(observation, seed), None
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make a step and record it."""
        if self._recording is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        space = self.env.action_space
        action = np.array(action, dtype=space.dtype)  # as it is written
        self._before = self._state()
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._recording.add(
            self._before,
            action,
            observation,
            float(reward),
            terminated,
            truncated,
            bool(info.get(SUCCESS, False)),
        )
        self._before = None
        return observation, float(reward), terminated, truncated, info

    def _state(self) -> State:
        plain: Any = self.env.unwrapped
        state: State = plain.get_state()
        return state

    def keep(self) -> None:
        """Write the episode so far, if it has any complete steps."""
        recording, self._recording = self._recording, None
        if recording is None or not len(recording):
            return
        last = self._before if self._before is not None else self._state()
        self._writer.add(recording.episode(last))

    def close(self) -> None:
        """Close the dataset and the environment."""
        self._writer.close()
        super().close()
