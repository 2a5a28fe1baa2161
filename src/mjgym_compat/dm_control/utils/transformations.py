"""Rotations under the published names: quaternions (w, x, y, z), matrices and Euler angles."""

import itertools
import logging

import numpy as np

from mjgym import rotations
from mjgym.arrays import Array

_TOL = 1e-10
_POLE_LIMIT = 1 - 1e-6  # sine of the middle angle at which the outer ones cannot be told apart
_AXES = "XYZ"
_eulermap = dict.fromkeys([*map("".join, itertools.permutations(_AXES)), "XYX"])


def quat_conj(quat: Array) -> Array:
    """The conjugate, (..., 4)."""
    return rotations.conjugate(np.asarray(quat, np.float64))


def quat_inv(quat: Array) -> Array:
    """The inverse of quaternions of any length, (..., 4)."""
    return quat_conj(quat) / np.sum(np.square(quat), axis=-1, keepdims=True)


def quat_mul(quat1: Array, quat2: Array) -> Array:
    """Hamilton's product, (..., 4)."""
    return rotations.product(np.asarray(quat1), np.asarray(quat2))


def quat_diff(source: Array, target: Array) -> Array:
    """The rotation from source to target, (..., 4)."""
    return quat_mul(quat_conj(source), target)


def quat_log(quat: Array, tol: float = _TOL) -> Array:
    """The logarithm: that of the length, and axis times half angle, (..., 4)."""
    quat = np.asarray(quat, np.float64)
    length = np.linalg.norm(quat, axis=-1, keepdims=True)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, quat[..., :1])
    return np.concatenate(
        [np.log(np.maximum(length, tol)), quat[..., 1:] * half / np.maximum(sine, tol)], axis=-1
    )


def quat_dist(source: Array, target: Array) -> Array:
    """Half the angle between unit quaternions, (..., 1) rad."""
    between = quat_mul(source, quat_inv(target))
    return np.linalg.norm(quat_log(rotations.unit(between)), axis=-1, keepdims=True)


def quat_rotate(quat: Array, vec: Array) -> Array:
    """A vector (3,) turned by a quaternion (4,)."""
    return quat_mul(quat_mul(quat, np.append(0.0, vec)), quat_conj(quat))[1:]


def quat_to_axisangle(quat: Array) -> Array:
    """Axis times angle, (3,) rad."""
    return rotations.quaternion_to_rotation_vector(np.asarray(quat, np.float64))


def axisangle_to_quat(axisangle: Array, tol: float = 0.0) -> Array:
    """The quaternion (..., 4) of axis times angle; the identity for angles up to `tol`."""
    vector = np.asarray(axisangle, np.float64)
    turns = np.linalg.norm(vector, axis=-1, keepdims=True) > tol
    return rotations.quaternion_from_rotation_vector(np.where(turns, vector, 0.0))


def quat_to_mat(quat: Array) -> Array:
    """The homogeneous matrix, (4, 4); the identity for a quaternion of length 0."""
    quat, mat = np.asarray(quat, np.float64), np.eye(4)
    squared = quat @ quat
    if squared >= _TOL:
        basis = np.eye(3)
        turned = [quat_rotate(quat, axis) / squared for axis in basis]
        mat[:3, :3] = np.stack(turned, axis=1)
    return mat


def mat_to_quat(mat: Array) -> Array:
    """The quaternion (4,) of a matrix (3, 3) or (4, 4)."""
    return rotations.to_quaternion(np.asarray(mat, np.float64)[:3, :3].reshape(9))


def _about(axis: int, theta: Array, full: bool) -> Array:
    vectors = np.zeros((*np.shape(theta), 3))
    vectors[..., axis] = theta
    square = rotations.from_rotation_vector(vectors).reshape(*np.shape(theta), 3, 3)
    if not full:
        return square
    mat = np.zeros((*np.shape(theta), 4, 4))
    mat[..., :3, :3], mat[..., 3, 3] = square, 1.0
    return mat


def rotation_x_axis(theta: Array, full: bool = False) -> Array:
    """Matrices (..., 3, 3), or homogeneous ones, of rotations about x by angles (...) rad."""
    return _about(0, theta, full)


def rotation_y_axis(theta: Array, full: bool = False) -> Array:
    """Matrices (..., 3, 3), or homogeneous ones, of rotations about y by angles (...) rad."""
    return _about(1, theta, full)


def rotation_z_axis(theta: Array, full: bool = False) -> Array:
    """Matrices (..., 3, 3), or homogeneous ones, of rotations about z by angles (...) rad."""
    return _about(2, theta, full)


def rotation_matrix_2d(theta: float) -> Array:
    """The matrix (2, 2) of a rotation in the plane, rad."""
    return rotation_z_axis(theta)[:2, :2]


def euler_to_rmat(euler_vec: Array, ordering: str = "ZXZ", full: bool = False) -> Array:
    """The product of rotations about the axes of `ordering`, by angles (..., 3) rad."""
    angles = np.asarray(euler_vec, np.float64)
    a, b, c = (_about(_AXES.index(x), angles[..., i], full) for i, x in enumerate(ordering))
    return a @ b @ c


def euler_to_quat(euler_vec: Array, ordering: str = "XYZ") -> Array:
    """The quaternion (4,) of Euler angles (3,) rad."""
    return mat_to_quat(euler_to_rmat(euler_vec, ordering))


def quat_to_euler(quat: Array, ordering: str = "XYZ") -> Array:
    """Euler angles (3,) rad of a quaternion (4,)."""
    return rmat_to_euler(quat_to_mat(quat)[:3, :3], ordering)


def rmat_to_euler(rmat: Array, ordering: str = "ZXZ") -> Array:
    """Euler angles (3,) rad of a matrix (3, 3); at a pole the first, or with XYX the last, is 0."""
    if ordering not in _eulermap:
        raise KeyError(f"ordering {ordering!r}: expected one of {', '.join(_eulermap)}")
    m = np.asarray(rmat, np.float64)
    i, j = (_AXES.index(axis) for axis in ordering[:2])
    k = 3 - i - j
    sign = 1 if (j - i) % 3 == 1 else -1
    if ordering == "XYX":
        middle = np.arccos(np.clip(m[i, i], -1, 1))
        if abs(m[i, i]) >= 1:
            return np.array([np.arctan2(m[k, j], m[j, j]), middle, 0.0])
        return np.array([np.arctan2(m[j, i], -m[k, i]), middle, np.arctan2(m[i, j], m[i, k])])
    sine = sign * m[i, k]
    if abs(sine) > _POLE_LIMIT:
        logging.warning("rmat_to_euler: the middle angle is at a pole")
        return np.array([0.0, np.copysign(np.pi / 2, sine), np.arctan2(sign * m[j, i], m[j, j])])
    outer = [np.arctan2(-sign * m[j, k], m[k, k]), np.arctan2(-sign * m[i, j], m[i, i])]
    return np.array([outer[0], np.arcsin(sine), outer[1]])
