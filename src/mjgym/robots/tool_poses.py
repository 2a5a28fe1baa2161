"""Poses of tools, for scripted policies."""

import numpy as np

from mjgym.rotations import compose, to_rotation_vector, transposed

UP, DOWN = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])


def at_height(place: np.ndarray, height: float | np.ndarray) -> np.ndarray:
    """Positions (..., 3) moved vertically to a height (...), m."""
    moved = np.array(place)
    moved[..., 2] = height
    return moved


def frame(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Rotation matrix (..., 9) from its x and z axes, orthogonal unit vectors (..., 3)."""
    return np.stack([x, np.cross(z, x), z], axis=-1).reshape(*x.shape[:-1], 9)


def level(heading: np.ndarray) -> np.ndarray:
    """Horizontal unit vector at an angle about the vertical, (...) rad to (..., 3)."""
    return np.stack([np.cos(heading), np.sin(heading), np.zeros_like(heading)], axis=-1)


def heading_of_x(rotation: np.ndarray) -> np.ndarray:
    """Angle about the vertical of the x axis of a rotation (..., 9), (...) rad."""
    return np.asarray(np.arctan2(rotation[..., 3], rotation[..., 0]))


def pointing_down(heading: np.ndarray) -> np.ndarray:
    """Rotation of a tool that points down and closes along a heading, (...) rad to (..., 9)."""
    x = level(heading)
    return frame(x, np.broadcast_to(DOWN, x.shape))


def rotation_between(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rotation vector in world axes from one rotation to another, (..., 9) to (..., 3) rad."""
    return np.asarray(to_rotation_vector(compose(end, transposed(start))))
