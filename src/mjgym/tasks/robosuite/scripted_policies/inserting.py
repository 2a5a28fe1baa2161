"""Scripted policy of TwoArmPegInHole."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.rotations import cross, norm, unit
from mjgym.tasks.robosuite.scripted_policies.motions import CLOSING, STRAIGHT, frame
from mjgym.tasks.robosuite.scripted_policies.tools import rotation_between, rotation_of, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.two_arm_peg_in_hole import TwoArmPegInHole

MEETING = np.array([0.0, 0.0, 1.0])  # m, of the hole's centre
MIDDLE = 0.11  # m, of the hole along the board's x
FAR, BEFORE = 0.2, 0.05  # m, from the peg's tip to the hole: until both are turned, and before it
SLOPE = np.pi / 4  # rad, of the peg to the floor, and of the board
SPEED = 0.4  # fraction of the largest displacement at which the peg enters


def insert_peg(task: "TwoArmPegInHole") -> StagedPolicy:
    """Slope peg and board towards each other, then move the peg along the hole's axis."""
    tools = tools_of(task, 2, hands=False)
    first, second = tools.tools

    def towards(observation: Observation) -> np.ndarray:
        """Horizontal direction from the first tool to the second."""
        way = second.position(observation) - first.position(observation)
        way = way * np.array([1.0, 1.0, 0.0])
        return np.asarray(unit(way))

    def axis(observation: Observation) -> np.ndarray:
        """Direction in which the peg enters."""
        down = np.array([0.0, 0.0, -1.0])
        return np.asarray(np.sin(SLOPE) * towards(observation) + np.cos(SLOPE) * down)

    def hole(observation: Observation) -> np.ndarray:
        """Centre of the hole, (..., 3) m."""
        board_x = rotation_of(observation["hole_quat"])[..., 0::3]
        return np.asarray(observation["hole_pos"] + MIDDLE * board_x)

    def turn_board(observation: Observation) -> np.ndarray:
        """Align the board's z with the hole's axis, its y with the second hand."""
        z = axis(observation)
        up = np.array([0.0, 0.0, 1.0])
        y = -np.cos(SLOPE) * towards(observation) - np.sin(SLOPE) * up
        board = rotation_of(observation["hole_quat"])
        return rotation_between(board, frame(np.cross(y, z), z))

    def turn_peg(observation: Observation) -> np.ndarray:
        now, wanted = rotation_of(observation["peg_quat"])[..., 2::3], axis(observation)
        around = cross(now, wanted)
        sine, cosine = norm(around), (now * wanted).sum(axis=-1)
        angle = np.arctan2(sine, cosine)
        return np.asarray(around * (angle / np.maximum(sine, 1e-9))[..., None])

    def hold(observation: Observation) -> np.ndarray:
        return np.asarray(second.position(observation) + MEETING - hole(observation))

    def tip_before(distance: float) -> Stage:
        """Stage of the first arm that brings the peg's tip to the axis, before the hole."""

        def target(observation: Observation) -> np.ndarray:
            peg = observation["hole_pos"] - observation["peg_to_hole"]
            ahead = (task.peg_length + distance) * axis(observation)
            return np.asarray(first.position(observation) + hole(observation) - ahead - peg)

        entering = distance < BEFORE
        return Stage(
            target,
            CLOSE,
            turn_peg,
            near=0.02 if entering else 0.01 if distance == BEFORE else 0.05,
            straight=STRAIGHT,
            speed=SPEED if entering else 1.0,
            steps=0 if entering else CLOSING,
        )

    still = Stage(hold, CLOSE, turn_board, near=0.03, straight=STRAIGHT)
    ways = [tip_before(distance) for distance in (FAR, BEFORE, -task.peg_length)]
    return StagedPolicy(tools, [ways, [still] * len(ways)])
