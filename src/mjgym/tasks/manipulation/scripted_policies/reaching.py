"""Scripted policies of tasks that bring the hand to a target."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import OPEN, Observation, Stage, StagedPolicy
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm

if TYPE_CHECKING:
    from mjgym.tasks.manipulation.reach import Reach


def reach(task: "Reach", target: str) -> StagedPolicy:
    """Move the hand straight to the target, at its current orientation.

    Args:
        task: the task.
        target: entry of the target's position.
    """

    def place(observation: Observation) -> np.ndarray:
        return observation[target]

    return StagedPolicy(velocity_arm(task), [[Stage(place, OPEN)]])
