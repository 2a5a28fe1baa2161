"""Scripted policy of Door."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import DOWN, level
from mjgym.tasks.robosuite.scripted_policies.motions import CLOSING
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop

HANDLE_LENGTH, HANDLE_ASIDE, HANDLE_OUT = 0.125, -0.175, 0.1  # m, of the door's handle
OUTER_HALF = 0.03  # m, from the centre of the handle to the fingers that press on it
FREE = 1.25  # rad, rotation of the handle: the latch releases at 1.16


def open_door(task: Tabletop) -> StagedPolicy:
    """Push the handle's end down its arc with closed fingers, then draw it away by friction.

    The hand is wider than there is room behind the handle: the fingers press on its outer half.
    """

    def stages(observation: Observation, tool: Tool) -> list[Stage]:
        handle = observation["handle_pos"]
        angle = observation["handle_qpos"].reshape(handle.shape[:-1])
        to_handle = np.arctan2(-HANDLE_OUT, HANDLE_ASIDE + HANDLE_LENGTH * np.cos(angle))
        offset = handle - observation["door_pos"]
        yaw = np.arctan2(offset[..., 1], offset[..., 0]) - to_handle
        along = level(yaw)
        out = np.stack([np.sin(yaw), -np.cos(yaw), np.zeros_like(yaw)], axis=-1)
        # Direction in which the handle's end moves.
        ahead = np.cos(angle)[..., None] * DOWN - np.sin(angle)[..., None] * along
        turned = angle > FREE

        def press(forward: float, away: float) -> np.ndarray:
            return np.asarray(handle + forward * ahead + (OUTER_HALF + away) * out)

        return [
            Stage(press(-0.08, 0.05), CLOSE, near=0.02, steps=CLOSING),
            Stage(press(-0.06, 0.0), CLOSE, near=0.01),
            Stage(press(0.05, 0.0), CLOSE, near=1.0, until=turned),
            Stage(press(0.08, 0.2), CLOSE),
        ]

    return StagedPolicy(tools_of(task, 1), stages)
