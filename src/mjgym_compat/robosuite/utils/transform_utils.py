"""Rotations and poses under robosuite's names. Quaternions are x, y, z, w; poses (4, 4)."""

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym import rotations

EPS = 1e-12
PI = np.pi


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
    start, end = unit_vector(quat0), unit_vector(quat1)
    if fraction == 1:
        return end
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
    """The quaternion, with w from 0 to 1, of a rotation matrix (3, 3)."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.asarray(rmat, float)[:3, :3].ravel())
    return np.roll(quaternion if quaternion[0] >= 0 else -quaternion, -1)


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
    """The rotation matrix of Euler angles (rad) about the turned axes x, then y, then z.

    As in robosuite, `mat2euler` has another order: they are inverses about a single axis only.
    """
    x, y, z = (quat2mat(axisangle2quat(angle * np.eye(3)[i])) for i, angle in enumerate(euler))
    return np.asarray(x @ y @ z)


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


def unit_vector(data: Any, axis: int | None = None) -> np.ndarray:
    """A vector, or the vectors along an axis, scaled to norm 1."""
    vector = np.asarray(data, float)
    return np.asarray(vector / np.linalg.norm(vector, axis=axis, keepdims=axis is not None))


def random_axis_angle(
    angle_limit: float | None = None, random_state: Any = None
) -> tuple[np.ndarray, float]:
    """A random axis, (3,), and an angle from 0 to a limit, by default 2 pi.

    Args:
        angle_limit: rad.
        random_state: a `np.random.RandomState`; None for NumPy's global generator.
    """
    rng = np.random if random_state is None else random_state
    axis = unit_vector(rng.randn(3))
    return axis, float(rng.uniform(0.0, 2 * math.pi if angle_limit is None else angle_limit))


def vec(values: Any) -> np.ndarray:
    """A float32 vector."""
    return np.array(values, np.float32)


def mat4(array: Any) -> np.ndarray:
    """A float32 matrix (4, 4) of 16 numbers."""
    return vec(array).reshape(4, 4)


def matrix_inverse(matrix: Any) -> np.ndarray:
    """The inverse of a matrix."""
    return np.asarray(np.linalg.inv(matrix))


def rotate_2d_point(input: Any, rot: float) -> np.ndarray:
    """A vector (2,) rotated counterclockwise by an angle, rad."""
    (x, y), c, s = input, math.cos(rot), math.sin(rot)
    return np.array([c * x - s * y, s * x + c * y])


def clip_translation(dpos: Any, limit: float) -> tuple[np.ndarray, bool]:
    """A vector shortened to a length, and whether it was longer."""
    norm = float(np.linalg.norm(dpos))
    return (np.asarray(dpos) * (limit / norm), True) if norm > limit else (np.asarray(dpos), False)


def clip_rotation(quat: Any, limit: float) -> tuple[np.ndarray, bool]:
    """A rotation reduced to an angle (rad), as a quaternion, and whether it was larger."""
    quat = unit_vector(quat)
    vector, clipped = clip_translation(quat2axisangle(quat), limit)
    return (axisangle2quat(vector), True) if clipped else (quat, False)


def vel_in_A_to_vel_in_B(
    vel_A: Any, ang_vel_A: Any, pose_A_in_B: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Transform a velocity and an angular velocity, (3,) each, from frame A to frame B."""
    rotation, place = np.asarray(pose_A_in_B)[:3, :3], np.asarray(pose_A_in_B)[:3, 3]
    spin = rotation @ ang_vel_A
    return rotation @ vel_A + np.cross(place, spin), spin


def force_in_A_to_force_in_B(
    force_A: Any, torque_A: Any, pose_A_in_B: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Transform a force and a torque, (3,) each, from frame A to frame B.

    As in robosuite, the pose is that of B in A.
    """
    rotation, place = np.asarray(pose_A_in_B)[:3, :3], np.asarray(pose_A_in_B)[:3, 3]
    return rotation.T @ force_A, rotation.T @ (torque_A - np.cross(place, force_A))


def get_orientation_error(target_orn: Any, current_orn: Any) -> np.ndarray:
    """The orientation error, (3,), between quaternions: axis times twice the half angle's sine.

    As in robosuite, quaternions of different signs give the error the long way round.
    """
    x, y, z, w = np.asarray(current_orn, float)
    matrix = np.array([[w, -z, y, -x], [z, w, -x, -y], [-y, x, w, -z]])
    return np.asarray(2 * matrix @ np.asarray(target_orn, float))


def get_pose_error(target_pose: Any, current_pose: Any) -> np.ndarray:
    """The error between poses, (6,): position, then half the sum of the axes' cross products."""
    goal, present = np.asarray(target_pose), np.asarray(current_pose)
    flat = (each[:3, :3].reshape(9) for each in (present, goal))
    turn = rotations.rotation_error(*flat)
    return np.concatenate([goal[:3, 3] - present[:3, 3], turn])
