"""Stages and angles that several scripted policies share."""

from collections.abc import Callable

import numpy as np

from mjgym.tasks.robosuite.scripted_policies.staged_policy import CLOSE, OPEN, Observation, Stage

ABOVE = np.array([0.0, 0.0, 0.1])  # m, from an object to the tool before it descends
CLOSING = 10  # control steps that the fingers take for their whole stroke
QUARTER_TURN, HALF_TURN = np.pi / 2, np.pi  # rad, symmetries of grasped objects


def heading_of(quaternion: np.ndarray) -> np.ndarray:
    """The angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def smallest_angle(angle: np.ndarray, symmetry: float) -> np.ndarray:
    """The equivalent angle of least size under a rotational symmetry, rad."""
    return np.asarray((angle + symmetry / 2) % symmetry - symmetry / 2)


def facing(quaternion: str, symmetry: float) -> Callable[[Observation], np.ndarray]:
    """The turn that aligns the fingers, which close along the tool's x, with an object's y axis.

    Args:
        quaternion: the entry of the object's orientation, x, y, z, w.
        symmetry: the angle after which the object looks the same, rad.
    """

    def turn(observation: Observation) -> np.ndarray:
        tool = heading_of(observation["robot0_eef_quat_site"])
        return smallest_angle(heading_of(observation[quaternion]) + QUARTER_TURN - tool, symmetry)

    return turn


def over(place: np.ndarray, height: float) -> np.ndarray:
    """A place at another height, (..., 3) m."""
    return np.concatenate([place[..., 0:2], np.full_like(place[..., 0:1], height)], axis=-1)


def grasp(
    place: Callable[[Observation], np.ndarray],
    quaternion: str,
    symmetry: float = QUARTER_TURN,
    steps: int = CLOSING,
) -> tuple[Stage, ...]:
    """Stages that grasp an object: above it, down to it, close the fingers.

    Args:
        place: the tool's position at the grasp, (..., 3) m.
        quaternion: the entry of the object's orientation, x, y, z, w.
        symmetry: the angle after which the object looks the same, rad.
        steps: the least number of control steps above the object.
    """
    return (
        Stage(
            lambda observation: place(observation) + ABOVE,
            OPEN,
            near=0.015,
            steps=steps,
            turn=facing(quaternion, symmetry),
        ),
        Stage(place, OPEN, near=0.008),
        Stage(place, CLOSE, near=0.03, steps=CLOSING),
    )
