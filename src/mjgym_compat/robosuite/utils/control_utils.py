"""Matrices, errors and goals of controllers under robosuite's names."""

from typing import Any

import numpy as np

from mjgym import rotations
from mjgym_compat.robosuite.utils import transform_utils as turns

TURN = 2 * np.pi


def nullspace_torques(
    mass_matrix: Any,
    nullspace_matrix: Any,
    initial_joint: Any,
    joint_pos: Any,
    joint_vel: Any,
    joint_kp: float = 10,
) -> np.ndarray:
    """Torques (n,) that pull the joints to a posture without moving the tool.

    Args:
        mass_matrix: (n, n).
        nullspace_matrix: (n, n), of `opspace_matrices`.
        initial_joint: the posture, (n,) rad.
        joint_pos: (n,) rad.
        joint_vel: (n,) rad/s.
        joint_kp: stiffness, 1/s^2; the damping is critical.
    """
    error = np.asarray(initial_joint) - joint_pos
    wanted = joint_kp * error - 2 * np.sqrt(joint_kp) * np.asarray(joint_vel)
    return np.asarray(np.transpose(nullspace_matrix) @ np.asarray(mass_matrix) @ wanted)


def opspace_matrices(
    mass_matrix: Any, J_full: Any, J_pos: Any, J_ori: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inertias at the tool, (6, 6), (3, 3) and (3, 3), and the projection onto the null space.

    Khatib, "A unified approach for motion and force control of robot manipulators: the operational
    space formulation" (1987).

    Args:
        mass_matrix: (n, n).
        J_full: the tool's Jacobian, (6, n).
        J_pos: its part of the position, (3, n).
        J_ori: its part of the rotation, (3, n).
    """
    inverse = np.linalg.inv(mass_matrix)
    whole, place, turn = (np.linalg.pinv(J @ inverse @ J.T) for J in (J_full, J_pos, J_ori))
    return whole, place, turn, np.eye(J_full.shape[-1]) - inverse @ J_full.T @ whole @ J_full


def orientation_error(desired: Any, current: Any) -> np.ndarray:
    """The axis times the sine of the angle, (3,), from one rotation matrix to another."""
    flat = (np.asarray(each, float)[:3, :3].reshape(9) for each in (current, desired))
    error: np.ndarray = rotations.rotation_error(*flat)
    return error


def _bounds(name: str, limit: Any, count: int) -> np.ndarray:
    bounds = np.array(limit, float)
    if bounds.shape != (2, count):
        raise ValueError(f"{name}: expected shape (2, {count}), got {bounds.shape}")
    return bounds


def set_goal_position(
    delta: Any, current_position: Any, position_limit: Any = None, set_pos: Any = None
) -> np.ndarray:
    """A goal within limits: a change of a position, or `set_pos`.

    Args:
        delta: (n,).
        current_position: (n,).
        position_limit: (2, n), or None for no limit.
        set_pos: (n,), in place of the change.

    Raises:
        ValueError: the limits have another shape.
    """
    goal = np.asarray(current_position) + delta if set_pos is None else np.asarray(set_pos)
    if position_limit is None:
        return np.asarray(goal)
    return np.asarray(np.clip(goal, *_bounds("position_limit", position_limit, len(goal))))


def set_goal_orientation(
    delta: Any, current_orientation: Any, orientation_limit: Any = None, set_ori: Any = None
) -> np.ndarray:
    """A goal within limits: a rotation of an orientation, or `set_ori`.

    An Euler angle outside of its limits becomes the nearer one; robosuite takes the upper one.

    Args:
        delta: rotation vector (3,), rad.
        current_orientation: rotation matrix (3, 3).
        orientation_limit: of the Euler angles, (2, 3) rad, or None; where the lower limit is above
            the upper one, angles between them are forbidden.
        set_ori: rotation matrix (3, 3), in place of the rotation.

    Raises:
        ValueError: the limits have another shape.
    """
    goal = np.asarray(set_ori, float) if set_ori is not None else None
    if goal is None:
        goal = turns.quat2mat(turns.axisangle2quat(delta)) @ np.asarray(current_orientation)
    if orientation_limit is None or not np.any(orientation_limit):
        return goal
    low, high = _bounds("orientation_limit", orientation_limit, 3)
    angles = turns.mat2euler(goal)
    above, below = low < angles, angles < high
    outside = ~np.where(low < high, above & below, above | below)
    if not outside.any():
        return goal
    to_low, to_high = (np.abs((angles - end + np.pi) % TURN - np.pi) for end in (low, high))
    nearest = np.where(to_low < to_high, low, high)
    return turns.euler2mat(np.where(outside, nearest, angles))
