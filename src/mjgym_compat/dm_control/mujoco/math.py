"""Quaternions, in the engine's order w, x, y, z."""

from typing import Any

import mujoco
import numpy as np


def _vector(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


def mj_quatprod(q: Any, r: Any) -> np.ndarray:
    """The product of two quaternions, (4,)."""
    product = np.zeros(4)
    mujoco.mju_mulQuat(product, _vector(q), _vector(r))
    return product


def mj_quatneg(q: Any) -> np.ndarray:
    """The conjugate of a quaternion, (4,)."""
    conjugate = np.zeros(4)
    mujoco.mju_negQuat(conjugate, _vector(q))
    return conjugate


def mj_quat2vel(q: Any, dt: float) -> np.ndarray:
    """The angular velocity of a rotation in dt seconds, (3,)."""
    velocity = np.zeros(3)
    mujoco.mju_quat2Vel(velocity, _vector(q), dt)
    return velocity


def mj_quatdiff(source: Any, target: Any) -> np.ndarray:
    """The rotation from one orientation to another, in the frame of the first, (4,)."""
    return mj_quatprod(mj_quatneg(source), target)


def euler2quat(ax: float, ay: float, az: float) -> np.ndarray:
    """The quaternion of rotations about the fixed axes x, y, z, one after another; degrees."""
    quaternion = np.zeros(4)
    mujoco.mju_euler2Quat(quaternion, np.deg2rad(_vector((ax, ay, az))), "XYZ")
    return quaternion
