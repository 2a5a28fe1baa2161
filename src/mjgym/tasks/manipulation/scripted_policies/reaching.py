"""Scripted policies of tasks that bring the hand to a target."""

from mjgym.robots.staged_policy import OPEN, Stage, StagedPolicy
from mjgym.tasks.manipulation.arm_scene import Scene
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm


def reach(task: Scene, target: str) -> StagedPolicy:
    """Move the hand straight to the target, at its current orientation.

    Args:
        target: entry of the target's position.
    """
    return StagedPolicy(
        velocity_arm(task), lambda observation, hand: [Stage(observation[target], OPEN)]
    )
