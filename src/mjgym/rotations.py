"""Vectors, rotation matrices and quaternions on arrays of any leading shape.

Vectors are (..., 3), matrices (..., 9) row by row as the engine stores them, quaternions (..., 4)
with the scalar first. Everything is elementwise arithmetic, short sums, and matrix products that
call BLAS once per matrix, so one simulation and a batch give the same bits.
"""

import math

import numpy as np

from mjgym.arrays import METHODS, Array, columns, namespace, reshaped

# Entries of a rotation matrix (..., 9): the first letter is the world's axis, the second the
# body's. xmat[..., ZX] is the world-z part of the body's x axis, xmat[..., Z_ROW] the world's
# vertical as seen from the body.
XX, XY, XZ, YX, YY, YZ, ZX, ZY, ZZ = range(9)
Z_ROW = slice(6, 9)
_YZX = np.array([1, 2, 0])
_AHEAD, _BACK = np.array([ZY, XZ, YX]), np.array([YZ, ZX, XY])  # antisymmetric part of a rotation


def norm(x: Array) -> Array:
    """Euclidean norm along the last axis: (..., n) to (...), for short vectors.

    Squares are summed from first to last, so that a batch and a single vector, for which plain
    arithmetic is ten times faster, give the same bits.
    """
    squared = squared_norm(x)
    return math.sqrt(squared) if isinstance(squared, float) else namespace(x).sqrt(squared)


def unit(x: Array) -> Array:
    """Vectors scaled to length 1 along the last axis, (..., n)."""
    return x / namespace(x).asarray(norm(x))[..., None]


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
    """A world vector (..., 3) in the axes of a frame with rotation (..., 9)."""
    return (
        xmat[..., 0:3] * vector[..., 0:1]
        + xmat[..., 3:6] * vector[..., 1:2]
        + xmat[..., 6:9] * vector[..., 2:3]
    )


def rows_to_local(xmat: Array, vectors: Array) -> Array:
    """World vectors (..., n, 3) in the axes of a frame (..., 9); faster than many `to_local`."""
    return _times(vectors, _square(xmat))


def to_world(xmat: Array, vector: Array) -> Array:
    """A vector (..., 3) of a frame with rotation (..., 9) in world axes."""
    return (
        xmat[..., 0::3] * vector[..., 0:1]
        + xmat[..., 1::3] * vector[..., 1:2]
        + xmat[..., 2::3] * vector[..., 2:3]
    )


def compose(a: Array, b: Array) -> Array:
    """The matrix of the rotation b followed by a, both about fixed axes, (..., 9) each."""
    reshape = METHODS[isinstance(a, np.ndarray)].reshape
    product = _times(reshape(a, (*a.shape[:-1], 3, 3)), reshape(b, (*b.shape[:-1], 3, 3)))
    return reshape(product, (*product.shape[:-2], 9))


def _times(a: Array, b: Array) -> Array:
    if a.dtype != b.dtype:  # PyTorch refuses mixed products
        xp = namespace(a, b)
        dtype = xp.result_type(a, b)
        a, b = xp.astype(a, dtype), xp.astype(b, dtype)
    return a @ b


def _square(xmat: Array) -> Array:
    return reshaped(xmat, (*xmat.shape[:-1], 3, 3))


def transposed(xmat: Array) -> Array:
    """The matrix of the inverse rotation, (..., 9)."""
    return reshaped(_square(xmat).mT, xmat.shape)


def cross(a: Array, b: Array) -> Array:
    """The cross product, (..., 3) each."""
    turned = a * _yzx(b) - _yzx(a) * b  # z, x and y
    return _yzx(turned)


def _yzx(vector: Array) -> Array:
    return columns(vector, _YZX)


def from_rotation_vector(vector: Array) -> Array:
    """The matrix (..., 9) of a rotation about a vector (..., 3) by its length in rad.

    Rodrigues' formula in half angles, which is accurate for small rotations too.
    """
    xp = namespace(vector)
    x, y, z = (vector[..., i : i + 1] for i in range(3))
    squared = x * x + y * y + z * z
    turns = squared > 0
    half = xp.sqrt(squared) / 2
    # sin(h) / (2 h), and its limit at h = 0.
    share = xp.where(turns, xp.sin(half) / xp.where(turns, 2 * half, 1.0), 0.5)
    w, x, y, z = xp.cos(half), share * x, share * y, share * z
    return xp.concat(_entries(w, x, y, z), axis=-1)


def to_rotation_vector(xmat: Array) -> Array:
    """Axis times angle in [0, pi] rad of a rotation, (..., 9) to (..., 3), by its quaternion.

    Accurate near 0 and near pi, too.
    """
    xp = namespace(xmat)
    w, v = _scaled_quaternion(xmat)
    sine = xp.sqrt(
        v[..., 0:1] * v[..., 0:1] + v[..., 1:2] * v[..., 1:2] + v[..., 2:3] * v[..., 2:3]
    )
    angle = 2 * xp.atan2(sine, xp.abs(w))
    return v * xp.where(sine > 0, angle / xp.where(sine > 0, sine, 1.0), 0.0)


def to_quaternion(xmat: Array) -> Array:
    """The quaternion w, x, y, z of a rotation, (..., 9) to (..., 4), with w >= 0."""
    xp = namespace(xmat)
    w, v = _scaled_quaternion(xmat)
    scaled = xp.concat([xp.abs(w), v], axis=-1)
    squared = scaled * scaled
    length = xp.sqrt(squared[..., 0:1] + squared[..., 1:2] + squared[..., 2:3] + squared[..., 3:4])
    return scaled / length


def from_quaternion(a: Array) -> Array:
    """The matrix (..., 9) of each unit quaternion, (..., 4)."""
    return namespace(a).concat(_entries(*(a[..., i : i + 1] for i in range(4))), axis=-1)


def _entries(w: Array, x: Array, y: Array, z: Array) -> list[Array]:
    """Entries of the matrix of a unit quaternion, row by row."""
    return [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]


def _scaled_quaternion(xmat: Array) -> tuple[Array, Array]:
    """An unnormalised quaternion: w (..., 1), and x, y, z (..., 3) with the sign that makes w >= 0.

    Of the four conversions, the one that divides by the largest component is taken.
    """
    xp = namespace(xmat)
    m = [xmat[..., i : i + 1] for i in range(9)]
    a, b, c = m[ZY] - m[YZ], m[XZ] - m[ZX], m[YX] - m[XY]
    d, e, f = m[XY] + m[YX], m[XZ] + m[ZX], m[YZ] + m[ZY]
    squares = [
        1 + m[XX] + m[YY] + m[ZZ],
        1 + m[XX] - m[YY] - m[ZZ],
        1 - m[XX] + m[YY] - m[ZZ],
        1 - m[XX] - m[YY] + m[ZZ],
    ]  # four times the square of w, x, y, z
    ways = [
        [squares[0], a, b, c],
        [a, squares[1], d, e],
        [b, d, squares[2], f],
        [c, e, f, squares[3]],
    ]
    best, largest = xp.concat(ways[0], axis=-1), squares[0]
    for way, square in zip(ways[1:], squares[1:], strict=True):
        better = square > largest
        best = xp.where(better, xp.concat(way, axis=-1), best)
        largest = xp.where(better, square, largest)
    w, v = best[..., 0:1], best[..., 1:4]
    return w, xp.where(w < 0, -v, v)


def rotation_error(xmat: Array, wanted: Array) -> Array:
    """Axis times sine of the angle from one rotation to another, (..., 9) each, to (..., 3) in rad.

    Half the sum of the cross products of the axes x, y, z of the two frames: Luh, Walker and Paul,
    "Resolved-acceleration control of mechanical manipulators" (1980).
    """
    take, reshape = METHODS[isinstance(xmat, np.ndarray)]
    square, lead = (3, 3), xmat.shape[:-1]
    between = reshape(wanted, (*wanted.shape[:-1], *square)) @ reshape(xmat, (*lead, *square)).mT
    flat = reshape(between, (*between.shape[:-2], 9))
    return (take(flat, _AHEAD, -1) - take(flat, _BACK, -1)) / 2


def about_z(angle: Array) -> Array:
    """The quaternion of a rotation about the world's z axis, (...) in rad to (..., 4)."""
    xp = namespace(angle)
    half = xp.asarray(angle) / 2
    zero = xp.zeros_like(half)
    return xp.stack([xp.cos(half), zero, zero, xp.sin(half)], axis=-1)


def product(a: Array, b: Array) -> Array:
    """The rotation b followed by a, both about fixed axes: Hamilton's product, (..., 4)."""
    xp = namespace(a, b)
    scalar = a[..., :1] * b[..., :1] - xp.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + cross(a[..., 1:], b[..., 1:])
    return xp.concat([scalar, vector], axis=-1)


def conjugate(a: Array) -> Array:
    """The inverse rotation of each unit quaternion, (..., 4)."""
    return namespace(a).concat([a[..., :1], -a[..., 1:]], axis=-1)


def turn_between(a: Array, b: Array) -> Array:
    """The rotation from one orientation to another, in the axes of the first: quaternions (..., 4)
    with a non-negative scalar part.
    """
    turn = product(conjugate(a), b)
    return namespace(turn).where(turn[..., :1] < 0, -turn, turn)


def angle_between(a: Array, b: Array) -> Array:
    """The angle in [0, pi] rad from one orientation to another, (..., 4) each, to (...)."""
    turn = product(conjugate(a), b)
    xp = namespace(turn)
    return 2 * xp.atan2(xp.asarray(norm(turn[..., 1:])), xp.abs(turn[..., 0]))


def yaw(a: Array) -> Array:
    """The turn about z in [-pi, pi] rad of each unit quaternion, (..., 4) to (...).

    Roll about x and pitch about y come before it, about fixed axes.
    """
    w, x, y, z = (a[..., i] for i in range(4))
    return namespace(a).atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def about(axis: Array, angle: Array) -> Array:
    """The quaternion (..., 4) of a rotation about a unit vector (..., 3) by angles (...) in rad."""
    xp = namespace(axis, angle)
    half = (angle / 2)[..., None]
    return xp.concat([xp.cos(half), xp.sin(half) * axis], axis=-1)


def quaternion_from_rotation_vector(vector: Array) -> Array:
    """The quaternion (..., 4) of a rotation about a vector (..., 3) by its length in rad."""
    xp = namespace(vector)
    half = xp.linalg.vector_norm(vector, axis=-1, keepdims=True) / 2
    share = half / math.pi
    y = math.pi * xp.where(share == 0, 1e-20, share)  # NumPy's sinc, to the bit
    return xp.concat([xp.cos(half), vector / 2 * (xp.sin(y) / y)], axis=-1)


def quaternion_to_rotation_vector(a: Array) -> Array:
    """Axis times angle in [0, pi] rad of each unit quaternion, (..., 4) to (..., 3)."""
    xp = namespace(a)
    a = xp.where(a[..., :1] < 0, -a, a)  # the shorter way round
    sine = xp.linalg.vector_norm(a[..., 1:], axis=-1, keepdims=True)
    turns = sine > 0
    angle = 2 * xp.atan2(sine, a[..., :1])
    return a[..., 1:] * xp.where(turns, angle / xp.where(turns, sine, 1.0), 0.0)


def smallest_angle(angle: Array, symmetry: float) -> Array:
    """The equivalent angle of least magnitude under a rotational symmetry, both in rad."""
    return (angle + symmetry / 2) % symmetry - symmetry / 2
