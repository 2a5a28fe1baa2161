"""The engine's times in observations."""

import collections
from typing import Any

import dm_env
import mujoco
import numpy as np
from dm_env import specs

from mjgym_compat.dm_control.suite.wrappers import Delegating

_STEP = int(mujoco.mjtTimer.mjTIMER_STEP)


class Wrapper(Delegating):
    """Adds the time spent in the engine's steps (s) and their number to the observation."""

    def __init__(self, env: Any, observation_key: str = "step_timing") -> None:
        super().__init__(env)
        env.physics.enable_profiling()
        self._key = observation_key
        self._spec = collections.OrderedDict(env.observation_spec())
        self._spec[observation_key] = specs.Array((2,), np.float64, observation_key)

    def _with_times(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        timer = self._env.physics.data.timer
        times = np.array([timer.duration[_STEP], timer.number[_STEP]], dtype=np.float64)
        entries = collections.OrderedDict(timestep.observation)
        entries[self._key] = times
        return timestep._replace(observation=entries)

    def reset(self) -> dm_env.TimeStep:
        return self._with_times(self._env.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        return self._with_times(self._env.step(action))

    def observation_spec(self) -> Any:
        return self._spec
