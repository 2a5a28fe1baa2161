"""Scripted policy of TwoArmPegInHole."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import DOWN, UP, frame, rotation_between
from mjgym.rotations import cross, norm, unit
from mjgym.tasks.robosuite.scripted_policies.motions import CLOSING, STRAIGHT
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, rotation_of, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop

MEETING = np.array([0.0, 0.0, 1.0])  # m, of the hole's centre
MIDDLE = 0.11  # m, of the hole along the board's x
FAR, BEFORE = 0.2, 0.05  # m, from the peg's tip to the hole: until both are turned, and before it
SLOPE = np.pi / 4  # rad, of the peg to the floor, and of the board
SPEED = 0.4  # fraction of the largest displacement at which the peg enters


def insert_peg(task: Tabletop, peg_length: float) -> StagedPolicy:
    """Slope peg and board towards each other, then move the peg along the hole's axis.

    Args:
        peg_length: half the peg's length, m.
    """

    def stages(observation: Observation, first: Tool, second: Tool) -> list[tuple[Stage, Stage]]:
        towards = unit((second.position - first.position) * np.array([1.0, 1.0, 0.0]))
        axis = np.sin(SLOPE) * towards + np.cos(SLOPE) * DOWN  # in which the peg enters
        board = rotation_of(observation["hole_quat"])
        hole = observation["hole_pos"] + MIDDLE * board[..., 0::3]
        # The board's z along the axis, its y along the second hand.
        y = -np.cos(SLOPE) * towards - np.sin(SLOPE) * UP
        turn_board = rotation_between(board, frame(np.cross(y, axis), axis))
        peg = observation["hole_pos"] - observation["peg_to_hole"]
        peg_z = rotation_of(observation["peg_quat"])[..., 2::3]
        around = cross(peg_z, axis)
        sine = norm(around)
        angle = np.arctan2(sine, (peg_z * axis).sum(axis=-1))
        turn_peg = around * (angle / np.maximum(sine, 1e-9))[..., None]

        def tip_before(distance: float) -> np.ndarray:
            ahead = (peg_length + distance) * axis
            return np.asarray(first.position + hole - ahead - peg)

        def approach(distance: float, near: float) -> Stage:
            target = tip_before(distance)
            return Stage(target, CLOSE, turn_peg, near=near, straight=STRAIGHT, steps=CLOSING)

        enter = Stage(
            tip_before(-peg_length), CLOSE, turn_peg, near=0.02, straight=STRAIGHT, speed=SPEED
        )
        hold = second.position + MEETING - hole
        still = Stage(hold, CLOSE, turn_board, near=0.03, straight=STRAIGHT)
        return [(approach(FAR, 0.05), still), (approach(BEFORE, 0.01), still), (enter, still)]

    return StagedPolicy(tools_of(task, 2, hands=False), stages)
