"""Constants, headings and grasps shared by scripted policies."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Stage
from mjgym.robots.tool_poses import UP

ABOVE = 0.1 * UP  # m, from an object to the tool before it descends
CLOSING = 10  # control steps of a full finger stroke
STRAIGHT = 0.1  # rad, tolerance of a tool's orientation
QUARTER_TURN, HALF_TURN, WHOLE_TURN = np.pi / 2, np.pi, 2 * np.pi  # rad, symmetries of objects


def heading_of(quaternion: np.ndarray) -> np.ndarray:
    """Angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def heading_across(quaternion: np.ndarray) -> np.ndarray:
    """Angle about the vertical of a frame's y axis if its z is vertical, rad, from x, y, z, w."""
    return heading_of(quaternion) + QUARTER_TURN


def grasp(
    place: np.ndarray,
    turn: np.ndarray,
    steps: int = CLOSING,
    above: np.ndarray = ABOVE,
    lost: np.ndarray | None = None,
) -> tuple[Stage, ...]:
    """Stages that grasp an object: above it, down to it, close the fingers.

    Args:
        place: position of the tool at the grasp, (..., 3) m.
        turn: rotation of the tool to the grasp, see `Stage`.
        steps: least number of control steps above the object.
        above: offset from the grasp before the tool descends, (3,) m.
        lost: the condition, bool, for another attempt as the tool descends, see `Stage`.
    """
    return (
        Stage(place + above, OPEN, turn, near=0.015, straight=STRAIGHT, steps=steps),
        Stage(place, OPEN, turn, near=0.008, lost=lost),
        Stage(place, CLOSE, turn, near=np.inf, steps=CLOSING),
    )
