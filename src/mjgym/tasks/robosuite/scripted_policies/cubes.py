"""Scripted policies of Lift and Stack."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import at_height
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    QUARTER_TURN,
    grasp,
    heading_across,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop

CARRY_HEIGHT = 1.0  # m, above the floor, of the tool
GAP = 0.003  # m, between the cubes when the upper one is released


def lift(task: Tabletop) -> StagedPolicy:
    """Grasp the cube and carry it up."""

    def stages(observation: Observation, tool: Tool) -> list[Stage]:
        cube = observation["cube_pos"]
        turn = tool.facing(heading_across(observation["cube_quat"]), QUARTER_TURN)
        lost = tool.away_from(cube)
        return [*grasp(cube, turn), Stage(at_height(cube, CARRY_HEIGHT), CLOSE, turn, lost=lost)]

    return StagedPolicy(tools_of(task, 1), stages)


def stack(task: Tabletop, sides: float) -> StagedPolicy:
    """Grasp cube A and release it on cube B.

    Args:
        sides: half the sum of the cubes' sides, m.
    """
    above = np.array([0, 0, sides + GAP])

    def stages(observation: Observation, tool: Tool) -> list[Stage]:
        upper, lower = observation["cubeA_pos"], observation["cubeB_pos"]
        onto = lower + above + (tool.position - upper)
        turn = tool.facing(heading_across(observation["cubeA_quat"]), QUARTER_TURN)
        square = tool.facing(heading_across(observation["cubeB_quat"]), QUARTER_TURN)
        lost = tool.away_from(upper)
        return [
            *grasp(upper, turn),
            Stage(at_height(upper, CARRY_HEIGHT), CLOSE, turn, near=0.03),
            Stage(at_height(onto, CARRY_HEIGHT), CLOSE, square, near=0.005, lost=lost),
            Stage(onto, CLOSE, square, near=0.004, lost=lost),
            Stage(tool.position, OPEN, steps=CLOSING),
            Stage(at_height(tool.position, CARRY_HEIGHT), OPEN),
        ]

    return StagedPolicy(tools_of(task, 1), stages)
