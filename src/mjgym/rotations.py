"""Vectors, rotation matrices and quaternions on arrays of any leading shape.

Vectors are (..., 3), matrices (..., 9) row by row as the engine stores them, quaternions (..., 4)
with the scalar first. Everything is elementwise arithmetic and short sums, so one simulation and a
batch of them give the same bits.
"""

import math

import numpy as np

from mjgym.arrays import Array, namespace

# Entries of a rotation matrix (..., 9): the first letter is the world's axis, the second the
# body's. xmat[..., ZX] is the world-z part of the body's x axis, xmat[..., Z_ROW] the world's
# vertical as seen from the body.
XX, XY, XZ, YX, YY, YZ, ZX, ZY, ZZ = range(9)
Z_ROW = slice(6, 9)


def norm(x: Array) -> Array:
    """Euclidean length along the last axis: (..., n) to (...), for vectors of a few numbers.

    The squares are added from first to last, so that one vector, whose plain numbers take a tenth
    of the time of arrays, and many give the same bits.
    """
    squared = squared_norm(x)
    return math.sqrt(squared) if isinstance(squared, float) else namespace(x).sqrt(squared)


def squared_norm(x: Array) -> Array:
    """The square of `norm`: (..., n) to (...)."""
    if isinstance(x, np.ndarray) and x.ndim == 1:
        parts = x.tolist()
    else:
        parts = [x[..., i] for i in range(x.shape[-1])]
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = total + part * part
    return total


def to_local(xmat: Array, vector: Array) -> Array:
    """A world vector in the axes of a frame: the transpose of the frame's matrix times the vector.

    Args:
        xmat: the frame's rotation, (..., 9).
        vector: in world axes, (..., 3).

    Returns:
        The vector in the frame's axes, (..., 3).
    """
    return (
        xmat[..., 0:3] * vector[..., 0:1]
        + xmat[..., 3:6] * vector[..., 1:2]
        + xmat[..., 6:9] * vector[..., 2:3]
    )


def about_z(angle: Array) -> Array:
    """The quaternion of a turn about the world's vertical, (...) in rad to (..., 4)."""
    half = np.asarray(angle) / 2
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation b followed by a, both about fixed axes: Hamilton's product, (..., 4)."""
    scalar = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def conjugate(a: np.ndarray) -> np.ndarray:
    """The inverse rotation of each unit quaternion, (..., 4)."""
    return np.asarray(a * (1.0, -1.0, -1.0, -1.0))
