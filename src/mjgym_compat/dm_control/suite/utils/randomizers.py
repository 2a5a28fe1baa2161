"""Random joint positions."""

from typing import Any

import mujoco
import numpy as np


def random_limited_quaternion(random: np.random.RandomState, limit: float) -> np.ndarray:
    """A quaternion of a rotation about a random axis by at most `limit`, (4,)."""
    axis = random.randn(3)
    axis /= np.linalg.norm(axis)
    quaternion = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, axis, random.rand() * limit)
    return quaternion


def randomize_limited_and_rotational_joints(
    physics: Any, random: np.random.RandomState | None = None
) -> None:
    """Draw positions of all joints with limits, and of all rotations.

    Unlimited slides and the places of free joints stay.
    """
    random = random or np.random.RandomState()
    model, qpos = physics.model, physics.data.qpos
    kinds = mujoco.mjtJoint
    for joint in range(model.njnt):
        kind, start = kinds(model.jnt_type[joint]), model.jnt_qposadr[joint]
        limited, (low, high) = model.jnt_limited[joint], model.jnt_range[joint]
        if kind in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE) and limited:
            qpos[start] = random.uniform(low, high)
        elif kind == kinds.mjJNT_HINGE:
            qpos[start] = random.uniform(-np.pi, np.pi)
        elif kind == kinds.mjJNT_BALL and limited:
            qpos[start : start + 4] = random_limited_quaternion(random, high)
        elif kind in (kinds.mjJNT_BALL, kinds.mjJNT_FREE):
            start += 3 if kind == kinds.mjJNT_FREE else 0
            quaternion = random.randn(4)
            qpos[start : start + 4] = quaternion / np.linalg.norm(quaternion)
