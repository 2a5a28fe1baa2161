"""Scripted policy of Place: a brick is laid on a pedestal."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import (
    HALF_OPEN,
    HELD,
    Brick,
    grasp,
    lost,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm

if TYPE_CHECKING:
    from mjgym.tasks.manipulation.place import Place

LAID = {
    "brick": 0.038,
    "cradle": 0.032,
}  # m, over the target, where it is let go
CARRY = 0.08  # m, over the target, at which the brick is carried there
CLEAR = 0.06  # m, over the target, at which the hand may pass it
UP = 0.26  # m, over the target, that the hand draws back to
LETTING_GO = 8  # control steps


def place(task: "Place", brick_name: str) -> StagedPolicy:
    """Grasp the brick by its long sides, carry it over the pedestal and let it go there."""
    arm = velocity_arm(task, HELD)
    brick = Brick.named(arm, brick_name)
    dropped = lost(brick)

    def over(observation: Observation, height: float) -> np.ndarray:
        """The hand's position with the brick over the target."""
        held = arm.position(observation) - brick.position(observation)
        up = np.array([0.0, 0.0, height])
        return np.asarray(observation["pedestal/position"] + up + held)

    def lift(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        height = over(observation, CARRY)[..., 2:3]
        return np.concatenate([tool[..., 0:2], height], axis=-1)

    def away(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        height = observation["pedestal/position"][..., 2:3] + UP
        return np.concatenate([tool[..., 0:2], height], axis=-1)

    def rise(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        height = observation["pedestal/position"][..., 2:3] + CLEAR
        return np.concatenate([tool[..., 0:2], np.maximum(tool[..., 2:3], height)], axis=-1)

    def high(observation: Observation) -> np.ndarray:
        return np.concatenate([brick.grip(observation)[..., 0:2], rise(observation)[..., 2:3]], -1)

    stages = (
        Stage(rise, HALF_OPEN, near=0.02),
        Stage(high, HALF_OPEN, brick.turn, near=0.03, straight=0.3),
        *grasp(brick),
        Stage(lift, CLOSE, brick.straight, near=0.02, lost=dropped),
        Stage(lambda seen: over(seen, CARRY), CLOSE, brick.straight, near=0.02, lost=dropped),
        Stage(lambda seen: over(seen, LAID[task.top]), CLOSE, brick.straight, lost=dropped),
        Stage(arm.position, HALF_OPEN, steps=LETTING_GO),
        Stage(away, HALF_OPEN),
    )
    return StagedPolicy(arm, [stages])
