"""Scripted policies of Lift and Stack."""

import numpy as np

from mjgym.tasks.robosuite.lift import Lift
from mjgym.tasks.robosuite.scripted_policies.motions import CLOSING, grasp, over
from mjgym.tasks.robosuite.scripted_policies.staged_policy import (
    CLOSE,
    OPEN,
    Observation,
    ScriptedPolicy,
    Stage,
)
from mjgym.tasks.robosuite.stack import HALF_A, HALF_B, Stack

CARRY_HEIGHT = 1.0  # m, above the floor, of the tool
GAP = 0.003  # m, between the cubes when the upper one is released


def lift(_: Lift) -> ScriptedPolicy:
    """Grasp the cube and carry it up."""
    carry = Stage(lambda observation: over(observation["cube_pos"], CARRY_HEIGHT), CLOSE)
    return ScriptedPolicy((*grasp(lambda observation: observation["cube_pos"], "cube_quat"), carry))


def stack(_: Stack) -> ScriptedPolicy:
    """Grasp cube A and release it on cube B."""

    def held(observation: Observation) -> np.ndarray:
        """The tool's position relative to cube A."""
        return observation["robot0_eef_pos"] - observation["cubeA_pos"]

    def onto(observation: Observation) -> np.ndarray:
        over = np.array([0, 0, HALF_A + HALF_B + GAP])
        return np.asarray(observation["cubeB_pos"] + over + held(observation))

    stages = (
        *grasp(lambda observation: observation["cubeA_pos"], "cubeA_quat"),
        Stage(lambda observation: over(observation["cubeA_pos"], CARRY_HEIGHT), CLOSE, near=0.03),
        Stage(
            lambda observation: over(observation["cubeB_pos"] + held(observation), CARRY_HEIGHT),
            CLOSE,
            near=0.005,
        ),
        Stage(onto, CLOSE, near=0.004),
        Stage(lambda observation: observation["robot0_eef_pos"], OPEN, steps=CLOSING),
        Stage(lambda observation: over(observation["robot0_eef_pos"], CARRY_HEIGHT), OPEN),
    )
    return ScriptedPolicy(stages)
