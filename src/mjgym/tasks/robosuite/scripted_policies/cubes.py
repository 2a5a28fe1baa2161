"""Scripted policies of Lift and Stack."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    QUARTER_TURN,
    across,
    away_from,
    grasp,
    over,
)
from mjgym.tasks.robosuite.scripted_policies.tools import tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.lift import Lift
    from mjgym.tasks.robosuite.stack import Stack

CARRY_HEIGHT = 1.0  # m, above the floor, of the tool
GAP = 0.003  # m, between the cubes when the upper one is released


def lift(task: "Lift") -> StagedPolicy:
    """Grasp the cube and carry it up."""
    tools = tools_of(task, 1)
    (tool,) = tools.tools

    def cube(observation: Observation) -> np.ndarray:
        return observation["cube_pos"]

    turn = across(tool, "cube_quat", QUARTER_TURN)
    carry = Stage(
        lambda observation: over(cube(observation), CARRY_HEIGHT),
        CLOSE,
        turn,
        lost=away_from(tool, cube),
    )
    return StagedPolicy(tools, [(*grasp(tool, cube, turn), carry)])


def stack(task: "Stack", sides: float) -> StagedPolicy:
    """Grasp cube A and release it on cube B.

    Args:
        task: the task.
        sides: half the sum of the cubes' sides, m.
    """
    tools = tools_of(task, 1)
    (tool,) = tools.tools

    def upper(observation: Observation) -> np.ndarray:
        return observation["cubeA_pos"]

    def held(observation: Observation) -> np.ndarray:
        """Position of the tool relative to cube A."""
        return np.asarray(tool.position(observation) - upper(observation))

    def onto(observation: Observation) -> np.ndarray:
        above = np.array([0, 0, sides + GAP])
        return np.asarray(observation["cubeB_pos"] + above + held(observation))

    turn = across(tool, "cubeA_quat", QUARTER_TURN)
    square = across(tool, "cubeB_quat", QUARTER_TURN)
    lost = away_from(tool, upper)
    stages = (
        *grasp(tool, upper, turn),
        Stage(lambda observation: over(upper(observation), CARRY_HEIGHT), CLOSE, turn, near=0.03),
        Stage(
            lambda observation: over(onto(observation), CARRY_HEIGHT),
            CLOSE,
            square,
            near=0.005,
            lost=lost,
        ),
        Stage(onto, CLOSE, square, near=0.004, lost=lost),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(lambda observation: over(tool.position(observation), CARRY_HEIGHT), OPEN),
    )
    return StagedPolicy(tools, [stages])
