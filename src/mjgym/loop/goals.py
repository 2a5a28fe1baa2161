"""Goals in observations, and the reward and success computed from them."""

from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, namespace
from mjgym.sim import View
from mjgym.task import Arrays, GoalTask
from mjgym.util.goal_entries import ACHIEVED, DESIRED


@dataclass(frozen=True)
class Goals:
    """The goals of a task, its reward and its success, in Gymnasium-Robotics' form.

    Reward and success are computed from the observation's numbers, in its precision, so they equal
    `compute_reward` of stored observations to the bit.
    """

    task: GoalTask
    dtype: str  # dtype of the observation, "float32" or "float64"

    def entries(self, view: View) -> Arrays:
        """Achieved and desired goals at present, (..., k) each."""
        return {ACHIEVED: self.task.achieved(view), DESIRED: self.task.desired(view)}

    def reward(self, view: View) -> Array:
        achieved, desired = self._shown(view)
        return compute_reward(self.task, achieved, desired, {})

    def success(self, view: View) -> Array:
        """Tell whether the goal is reached, bool of shape lead."""
        achieved, desired = self._shown(view)
        return self.task.reached(_exact(achieved), _exact(desired))

    def _shown(self, view: View) -> list[Array]:
        xp = view.xp
        return [xp.astype(goal, getattr(xp, self.dtype)) for goal in self.entries(view).values()]


def compute_reward(task: GoalTask, achieved: Array, desired: Array, info: Any) -> Array:
    """`GoalTask.compute_reward` of goals in any precision, (..., k) each."""
    return task.compute_reward(_exact(achieved), _exact(desired), info)


def _exact(goal: Array) -> Array:
    xp = namespace(goal)
    return xp.astype(goal, xp.float64)
