"""Scripted policy of Door."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import CLOSING
from mjgym.tasks.robosuite.scripted_policies.tools import tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.door import Door

HANDLE_LENGTH, HANDLE_ASIDE, HANDLE_OUT = 0.125, -0.175, 0.1  # m, of the door's handle
OUTER_HALF = 0.03  # m, from the centre of the handle to the fingers that press on it
FREE = 1.25  # rad, rotation of the handle: the latch releases at 1.16


def open_door(task: "Door") -> StagedPolicy:
    """Push the handle's end down its arc with closed fingers, then draw it away by friction.

    The hand is wider than there is room behind the handle: the fingers press on its outer half.
    """

    def axes(observation: Observation) -> tuple[np.ndarray, np.ndarray]:
        """Directions in which the handle's end moves, and out of the door."""
        shape = observation["handle_pos"].shape[:-1]
        angle = observation["handle_qpos"].reshape(shape)
        known = np.arctan2(-HANDLE_OUT, HANDLE_ASIDE + HANDLE_LENGTH * np.cos(angle))
        offset = observation["handle_pos"] - observation["door_pos"]
        yaw = np.arctan2(offset[..., 1], offset[..., 0]) - known
        flat = np.zeros(shape)
        along = np.stack([np.cos(yaw), np.sin(yaw), flat], axis=-1)
        out = np.stack([np.sin(yaw), -np.cos(yaw), flat], axis=-1)
        down = np.array([0.0, 0.0, -1.0])
        sine, cosine = np.sin(angle)[..., None], np.cos(angle)[..., None]
        return cosine * down - sine * along, out

    def press(observation: Observation, ahead: float, away: float) -> np.ndarray:
        moves, out = axes(observation)
        return observation["handle_pos"] + ahead * moves + (OUTER_HALF + away) * out

    def turned(observation: Observation) -> np.ndarray:
        return observation["handle_qpos"].reshape(observation["handle_pos"].shape[:-1]) > FREE

    stages = (
        Stage(lambda observation: press(observation, -0.08, 0.05), CLOSE, near=0.02, steps=CLOSING),
        Stage(lambda observation: press(observation, -0.06, 0.0), CLOSE, near=0.01),
        Stage(lambda observation: press(observation, 0.05, 0.0), CLOSE, near=1.0, until=turned),
        Stage(lambda observation: press(observation, 0.08, 0.2), CLOSE),
    )
    return StagedPolicy(tools_of(task, 1), [stages])
