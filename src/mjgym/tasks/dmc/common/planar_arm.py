"""The planar arm of manipulator and stacker: joints, observation and start."""

from typing import Any

import numpy as np

from mjgym.arrays import columns
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint

# Arm joints in the order of observations: root, shoulder, elbow, wrist, then finger, fingertip,
# thumb, thumbtip (the model has the thumb before the finger). The arm comes first in `qpos` and
# `qvel`, and all its joints are hinges.
ARM_JOINTS = [0, 1, 2, 3, 6, 7, 4, 5]
VIEWPOINT = Viewpoint(azimuth=90, elevation=-6, distance=1.25, lookat=(0.0, 0.0, 0.38))
OBJECTS = 8  # first entry of `qpos` and `qvel` of an object


def arm_observation(v: View) -> Arrays:
    """Proprioception of the arm.

    `arm_pos`, sine and cosine of each joint's angle, (..., 8, 2); `arm_vel`, joint velocities
    (rad/s), (..., 8); `touch`, ln(1 + force (N)) on palm, finger, thumb, fingertip and thumbtip.
    """
    angles = columns(v.qpos, ARM_JOINTS)
    return {
        "arm_pos": v.xp.stack([v.xp.sin(angles), v.xp.cos(angles)], axis=-1),
        "arm_vel": columns(v.qvel, ARM_JOINTS),
        "touch": v.xp.log1p(v.sensordata),
    }


def planar_pose(v: View, body: str) -> Array:
    """Pose of a body in the plane, (..., 4): x, z (m), cosine and sine of half the y rotation."""
    frame = v.body(body)
    return v.xp.concat([frame.xpos[..., ::2], frame.xquat[..., ::2]], axis=-1)


def draw_arm(v: SingleView, rng: Any) -> None:
    """Draw the arm's joints: uniform in their ranges, the root in (-pi, pi).

    The finger then copies the thumb's angle, to which it is coupled.
    """
    limits = np.where(v.jnt_limited[:, None], v.jnt_range, (-np.pi, np.pi))[ARM_JOINTS]
    v.qpos[ARM_JOINTS] = rng.uniform(limits[:, 0], limits[:, 1])
    v.joint("finger").qpos = v.joint("thumb").qpos
