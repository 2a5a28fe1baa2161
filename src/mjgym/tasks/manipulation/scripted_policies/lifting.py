"""Scripted policy of LiftBrick."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import HELD, Brick, grasp, lost
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm

if TYPE_CHECKING:
    from mjgym.tasks.manipulation.lift_prop import LiftBrick

HIGH = 0.36  # m, over the work top, final height of the brick


def lift_brick(task: "LiftBrick") -> StagedPolicy:
    """Grasp the brick by its long sides and carry it up."""
    arm = velocity_arm(task, HELD)
    brick = Brick.named(arm, task.thing)

    def up(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        return np.concatenate([tool[..., 0:2], np.full_like(tool[..., 0:1], HIGH)], axis=-1)

    carry = Stage(up, CLOSE, brick.turn, lost=lost(brick))
    return StagedPolicy(arm, [(*grasp(brick), carry)])
