"""Environments of a `Task` on `Physics`, both of which users may write."""

import abc
import collections
from collections.abc import Mapping
from typing import Any

import dm_env
import numpy as np
from dm_env import specs

from mjgym_compat.dm_control.rl.simulation import Physics, PhysicsError

__all__ = [
    "FLAT_OBSERVATION_KEY",
    "Environment",
    "Physics",
    "PhysicsError",
    "Task",
    "compute_n_steps",
    "flatten_observation",
]

FLAT_OBSERVATION_KEY = "observations"
TOLERANCE = 1e-8  # of the ratio of control and physics timestep


class Task(abc.ABC):
    """A task on `Physics`: initial states, observation, reward and end of an episode."""

    @abc.abstractmethod
    def initialize_episode(self, physics: Any) -> None:
        """Set the state at the start of an episode."""

    @abc.abstractmethod
    def before_step(self, action: Any, physics: Any) -> None:
        """Apply an action, before the physics is stepped."""

    def after_step(self, physics: Any) -> None:  # noqa: B027  (optional)
        """Update after the physics was stepped."""

    @abc.abstractmethod
    def action_spec(self, physics: Any) -> specs.BoundedArray:
        """The spec of actions."""

    def step_spec(self, physics: Any) -> Any:
        raise NotImplementedError

    @abc.abstractmethod
    def get_observation(self, physics: Any) -> Mapping[str, Any]:
        """The observation by entry."""

    @abc.abstractmethod
    def get_reward(self, physics: Any) -> Any:
        """The reward."""

    def get_termination(self, physics: Any) -> float | None:
        return None

    def observation_spec(self, physics: Any) -> Any:
        raise NotImplementedError


class Environment(dm_env.Environment):  # type: ignore[misc]
    """A `dm_env.Environment` of a task on its physics."""

    physics: Any = None  # attributes of the class too, for mocks of it
    task: Any = None

    def __init__(
        self,
        physics: Any,
        task: Any,
        time_limit: float = float("inf"),
        control_timestep: float | None = None,
        n_sub_steps: int | None = None,
        flat_observation: bool = False,
        legacy_step: bool = True,
    ) -> None:
        if n_sub_steps is not None and control_timestep is not None:
            raise ValueError("n_sub_steps and control_timestep say the same thing; give one")
        self.physics, self.task = physics, task
        self.physics.legacy_step = legacy_step
        self._flat_observation = flat_observation
        if control_timestep is not None:
            n_sub_steps = compute_n_steps(control_timestep, physics.timestep())
        self._n_sub_steps = n_sub_steps or 1
        self._step_limit = (
            float("inf")
            if time_limit == float("inf")
            else time_limit / (physics.timestep() * self._n_sub_steps)
        )
        self._step_count = 0
        self._reset_next_step = True

    def reset(self) -> dm_env.TimeStep:
        self._reset_next_step, self._step_count = False, 0
        with self.physics.reset_context():
            self.task.initialize_episode(self.physics)
        return dm_env.restart(self._observe())

    def step(self, action: Any) -> dm_env.TimeStep:
        if self._reset_next_step:
            return self.reset()
        self.task.before_step(action, self.physics)
        self.physics.step(self._n_sub_steps)
        self.task.after_step(self.physics)
        reward = self.task.get_reward(self.physics)
        observation = self._observe()
        self._step_count += 1
        discount = 1.0 if self._step_count >= self._step_limit else None
        if discount is None:
            discount = self.task.get_termination(self.physics)
        self._reset_next_step = discount is not None
        if discount is None:
            return dm_env.transition(reward, observation)
        return dm_env.TimeStep(dm_env.StepType.LAST, reward, discount, observation)

    def _observe(self) -> Mapping[str, Any]:
        observation: Mapping[str, Any] = self.task.get_observation(self.physics)
        return flatten_observation(observation) if self._flat_observation else observation

    def action_spec(self) -> specs.BoundedArray:
        return self.task.action_spec(self.physics)

    def step_spec(self) -> Any:
        return self.task.step_spec(self.physics)

    def observation_spec(self) -> Any:
        try:
            return self.task.observation_spec(self.physics)
        except NotImplementedError:
            return {
                name: specs.Array(np.shape(value), np.asarray(value).dtype, name=name)
                for name, value in self._observe().items()
            }

    def control_timestep(self) -> float:
        return float(self.physics.timestep() * self._n_sub_steps)


def compute_n_steps(
    control_timestep: float, physics_timestep: float, tolerance: float = TOLERANCE
) -> int:
    """Number of physics steps in a control step."""
    if control_timestep < physics_timestep:
        raise ValueError(
            f"control_timestep: {control_timestep} s is shorter than a physics step,"
            f" {physics_timestep} s"
        )
    steps = round(control_timestep / physics_timestep)
    if abs(control_timestep - steps * physics_timestep) > tolerance:
        raise ValueError(
            f"control_timestep: {control_timestep} s is no multiple of a physics step,"
            f" {physics_timestep} s"
        )
    return steps


def flatten_observation(
    observation: Mapping[str, Any], output_key: str = FLAT_OBSERVATION_KEY
) -> "collections.OrderedDict[str, np.ndarray]":
    """One vector of all entries, in their order, or by name if they have none."""
    if not isinstance(observation, Mapping):
        raise ValueError(f"can only flatten a mapping, got {observation!r}")
    ordered = isinstance(observation, collections.OrderedDict)
    names = list(observation) if ordered else sorted(observation)
    parts = [np.ravel(np.asarray(observation[name])) for name in names]
    return collections.OrderedDict([(output_key, np.concatenate(parts))])
