"""Rotations and poses under robosuite's names. Quaternions are x, y, z, w; poses (4, 4)."""

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

EPS = 1e-12


def convert_quat(q: Any, to: str = "xyzw") -> np.ndarray:
    """Convert a quaternion to the order "xyzw", from w first, or "wxyz", from w last.

    Raises:
        ValueError: `to` is neither.
    """
    if to not in ("xyzw", "wxyz"):
        raise ValueError(f'to: no {to!r}, only "xyzw" and "wxyz"')
    return np.roll(np.asarray(q), -1 if to == "xyzw" else 1)


def _wxyz(quaternion: Any) -> np.ndarray:
    return np.roll(np.asarray(quaternion, float), 1)


def quat_multiply(quaternion1: Any, quaternion0: Any) -> np.ndarray:
    """The product of quaternions: the rotation `quaternion0`, then `quaternion1`."""
    product = np.zeros(4)
    mujoco.mju_mulQuat(product, _wxyz(quaternion1), _wxyz(quaternion0))
    return np.roll(product, -1)


def quat_conjugate(quaternion: Any) -> np.ndarray:
    """The conjugate of a quaternion."""
    return np.asarray(np.asarray(quaternion) * [-1, -1, -1, 1])


def quat_inverse(quaternion: Any) -> np.ndarray:
    """The inverse of a quaternion of any norm."""
    q = np.asarray(quaternion, float)
    return np.asarray(quat_conjugate(q) / np.dot(q, q))


def quat_distance(quaternion1: Any, quaternion0: Any) -> np.ndarray:
    """The rotation from `quaternion0` to `quaternion1`."""
    return quat_multiply(quaternion1, quat_inverse(quaternion0))


def quat_slerp(quat0: Any, quat1: Any, fraction: float, shortestpath: bool = True) -> np.ndarray:
    """Spherical linear interpolation between two quaternions."""
    start, end = (np.asarray(q, float) / np.linalg.norm(q) for q in (quat0, quat1))
    cosine = float(start @ end)
    if shortestpath and cosine < 0:
        end, cosine = -end, -cosine
    angle = math.acos(np.clip(cosine, -1, 1))
    if angle < EPS:
        return np.asarray(start)
    weights = math.sin((1 - fraction) * angle), math.sin(fraction * angle)
    return np.asarray((weights[0] * start + weights[1] * end) / math.sin(angle))


def random_quat(rand: Any = None) -> np.ndarray:
    """A uniformly distributed rotation.

    Args:
        rand: three numbers from [0, 1); None draws them from NumPy's global generator.
    """
    u, v, w = np.random.rand(3) if rand is None else rand
    inner, outer = math.sqrt(1 - u), math.sqrt(u)
    a, b = 2 * math.pi * v, 2 * math.pi * w
    return np.array(
        [inner * math.sin(a), inner * math.cos(a), outer * math.sin(b), outer * math.cos(b)]
    )


def quat2mat(quaternion: Any) -> np.ndarray:
    """The rotation matrix (3, 3) of a quaternion."""
    q = _wxyz(quaternion)
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, q / max(float(np.linalg.norm(q)), EPS))
    return matrix.reshape(3, 3)


def mat2quat(rmat: Any) -> np.ndarray:
    """The quaternion of a rotation matrix (3, 3)."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.asarray(rmat, float)[:3, :3].ravel())
    return np.roll(quaternion, -1)


def axisangle2quat(vec: Any) -> np.ndarray:
    """The quaternion of a rotation vector (3,), rad."""
    vec = np.asarray(vec, float)
    angle = float(np.linalg.norm(vec))
    if angle < EPS:
        return np.array([0.0, 0.0, 0.0, 1.0])
    return np.append(vec / angle * math.sin(angle / 2), math.cos(angle / 2))


def quat2axisangle(quat: Any) -> np.ndarray:
    """The rotation vector (3,), rad, of a quaternion, with a norm from 0 to 2 pi."""
    quat = np.asarray(quat, float)
    cosine = float(np.clip(quat[3], -1, 1))
    sine = math.sqrt(1 - cosine * cosine)
    if sine < EPS:
        return np.zeros(3)
    return np.asarray(quat[:3] * (2 * math.acos(cosine) / sine))


def euler2mat(euler: Any) -> np.ndarray:
    """The rotation matrix of Euler angles (rad) about the fixed axes x, then y, then z."""
    x, y, z = (quat2mat(axisangle2quat(angle * np.eye(3)[i])) for i, angle in enumerate(euler))
    return np.asarray(z @ y @ x)


def mat2euler(rmat: Any) -> np.ndarray:
    """Euler angles (rad) about the fixed axes x, y and z of a rotation matrix (3, 3)."""
    m = np.asarray(rmat, float)[:3, :3]
    level = math.hypot(m[0, 0], m[1, 0])
    pitch = math.atan2(-m[2, 0], level)
    if level < EPS:
        return np.array([math.atan2(-m[1, 2], m[1, 1]), pitch, 0.0])
    return np.array([math.atan2(m[2, 1], m[2, 2]), pitch, math.atan2(m[1, 0], m[0, 0])])


def make_pose(translation: Any, rotation: Any) -> np.ndarray:
    """The pose of a position (3,) and a rotation matrix (3, 3)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, translation
    return pose


def pose2mat(pose: Sequence[Any]) -> np.ndarray:
    """The pose of a position (3,) and a quaternion."""
    return make_pose(pose[0], quat2mat(pose[1]))


def mat2pose(hmat: Any) -> tuple[np.ndarray, np.ndarray]:
    """The position (3,) and the quaternion of a pose."""
    hmat = np.asarray(hmat, float)
    return hmat[:3, 3].copy(), mat2quat(hmat)


def pose_inv(pose: Any) -> np.ndarray:
    """The inverse of a pose."""
    rotation, place = np.asarray(pose)[:3, :3], np.asarray(pose)[:3, 3]
    return make_pose(-rotation.T @ place, rotation.T)


def pose_in_A_to_pose_in_B(pose_A: Any, pose_A_in_B: Any) -> np.ndarray:
    """Transform a pose from frame A to frame B."""
    return np.asarray(np.asarray(pose_A_in_B) @ np.asarray(pose_A))


def rotation_matrix(angle: float, direction: Any, point: Any = None) -> np.ndarray:
    """The pose of a rotation (rad) about an axis through a point."""
    axis = unit_vector(direction)
    rotation = quat2mat(axisangle2quat(angle * axis))
    centre = np.zeros(3) if point is None else np.asarray(point, float)[:3]
    return make_pose(centre - rotation @ centre, rotation)


def unit_vector(data: Any) -> np.ndarray:
    """A vector scaled to norm 1."""
    vector = np.asarray(data, float)
    return np.asarray(vector / np.linalg.norm(vector))


def get_orientation_error(target_orn: Any, current_orn: Any) -> np.ndarray:
    """The orientation error, (3,), between quaternions: axis times sine of the angle."""
    x, y, z, w = np.asarray(current_orn, float)
    matrix = np.array([[w, -z, y, -x], [z, w, -x, -y], [-y, x, w, -z]])
    goal = np.asarray(target_orn, float)
    return np.asarray(2 * matrix @ goal) * (1 if np.dot(goal, [x, y, z, w]) >= 0 else -1)


def get_pose_error(target_pose: Any, current_pose: Any) -> np.ndarray:
    """The error between poses, (6,): position, then half the sum of the axes' cross products."""
    goal, present = np.asarray(target_pose), np.asarray(current_pose)
    turn = sum(np.cross(present[:3, i], goal[:3, i]) for i in range(3)) / 2
    return np.concatenate([goal[:3, 3] - present[:3, 3], turn])
