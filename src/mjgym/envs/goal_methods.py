"""Gymnasium-Robotics' `GoalEnv` methods, for single and vector environments."""

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np

from mjgym.loop.goals import compute_reward
from mjgym.task import GoalTask, Task
from mjgym.util.goal_entries import DESIRED


class GoalMethods:
    """Reward and end of episodes computed from goals, by pure functions of any leading shape.

    Only environments with `observation="goal"` have these methods: clients take an environment with
    `compute_reward` for a goal environment.
    """

    GOAL_METHODS: ClassVar = ("compute_reward", "compute_terminated", "compute_truncated")

    task: Task

    @property
    def compute_reward(self) -> Callable[[Any, Any, Any], Any]:
        """Function that computes the reward of achieved and desired goals, and their steps' info.

        Called with `achieved_goal` (..., k), `desired_goal` (..., k) and `info`, it returns a float
        for two vectors, else (...), equal to a step's reward to the bit.

        Raises:
            AttributeError: the environment was not made with `observation="goal"`.
            ValueError: the shapes are not those of goals.
        """
        task = self._goal_task("compute_reward")

        def compute(achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
            achieved, desired = _as_array(achieved_goal), _as_array(desired_goal)
            if not achieved.shape or achieved.shape != desired.shape:
                raise ValueError(
                    "compute_reward: goals have the same shape (..., k), got"
                    f" {tuple(achieved.shape)} and {tuple(desired.shape)}"
                )
            reward = compute_reward(task, achieved, desired, info)
            return reward if achieved.ndim > 1 else float(reward)

        return compute

    @property
    def compute_terminated(self) -> Callable[[Any, Any, Any], Any]:
        """Function that returns False: goals never end an episode."""
        self._goal_task("compute_terminated")
        return _nowhere

    @property
    def compute_truncated(self) -> Callable[[Any, Any, Any], Any]:
        """Function that returns False: goals never truncate an episode."""
        self._goal_task("compute_truncated")
        return _nowhere

    def _goal_task(self, method: str) -> GoalTask:
        each: Any = self
        batched = isinstance(self, gymnasium.vector.VectorEnv)
        space = each.single_observation_space if batched else each.observation_space
        if not (isinstance(space, gymnasium.spaces.Dict) and DESIRED in space.spaces):
            raise AttributeError(
                f'{method}: the environment has no goals; make it with observation="goal"'
            )
        assert isinstance(self.task, GoalTask)
        return self.task


def _nowhere(achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
    lead = _as_array(achieved_goal).shape[:-1]
    return np.zeros(lead, dtype=bool) if lead else False


def _as_array(goal: Any) -> Any:
    return goal if hasattr(goal, "shape") else np.asarray(goal, dtype=np.float64)
