"""Scripted policy of TwoArmLift."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import (
    HALF_TURN,
    across,
    away_from,
    grasp,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.two_arm_lift import TwoArmLift

LIFT = np.array([0.0, 0.0, 0.2])  # m, rise of the handles
UP_SPEED = 0.3  # fraction of the largest displacement at which both arms rise alike


def lift_pot(task: "TwoArmLift") -> StagedPolicy:
    """Grasp both handles from above, then carry them up."""
    tools = tools_of(task, 2)
    handles = ("handle0_xpos", "handle1_xpos")
    return StagedPolicy(
        tools, [_lift_by(tool, handle) for tool, handle in zip(tools.tools, handles, strict=True)]
    )


def _lift_by(tool: Tool, handle: str) -> tuple[Stage, ...]:
    """Stages of one arm."""

    def bar(observation: Observation) -> np.ndarray:
        return observation[handle]

    turn = across(tool, "pot_quat", HALF_TURN)
    raise_ = Stage(
        lambda observation: bar(observation) + LIFT,
        CLOSE,
        turn,
        lost=away_from(tool, bar),
        speed=UP_SPEED,
    )
    return (*grasp(tool, bar, turn), raise_)
