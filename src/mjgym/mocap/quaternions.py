"""Unit quaternions (..., 4), scalar first, and rotation vectors, for sequences of rotations."""

import numpy as np


def to_rotation_vector(a: np.ndarray) -> np.ndarray:
    """Axis times angle of each unit quaternion, (..., 3) in rad, the angle in [0, pi]."""
    a = np.where(a[..., :1] < 0, -a, a)  # the same rotation, the short way round
    sine = np.linalg.norm(a[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, a[..., :1])
    # Where there is no rotation the vector is 0, whatever it is multiplied by.
    length = np.divide(angle, sine, out=np.zeros_like(sine), where=sine > 0)
    return np.asarray(a[..., 1:] * length)


def from_rotation_vector(vector: np.ndarray) -> np.ndarray:
    """The unit quaternion of each axis times angle, (..., 3) in rad to (..., 4)."""
    half = np.linalg.norm(vector, axis=-1, keepdims=True) / 2
    # np.sinc(x) is sin(pi x) / (pi x), which has no trouble at 0.
    return np.concatenate([np.cos(half), vector / 2 * np.sinc(half / np.pi)], axis=-1)
