"""What the tasks with the planar arm share: its joints, its observation and where it starts."""

from typing import Any

import numpy as np

from mjgym.sim import View
from mjgym.sim.single import SingleView
from mjgym.task import Array, Arrays, Signal

# The arm's joints in the order of observations: root, shoulder, elbow, wrist, then finger,
# fingertip, thumb, thumbtip. The model has the thumb before the finger. The arm comes first in
# `qpos` and `qvel`, and each of its joints is a hinge.
ARM_JOINTS = [0, 1, 2, 3, 6, 7, 4, 5]
OBJECTS = 8  # the first entry of `qpos` and `qvel` that belongs to an object


def arm_observation(v: View) -> Arrays:
    """What the arm feels of itself.

    `arm_pos`, sine and cosine of each joint's angle, (..., 8, 2); `arm_vel`, the joints' velocities
    (rad/s), (..., 8); `touch`, ln(1 + force (N)) on palm, finger, thumb, fingertip and thumbtip.
    """
    angles = v.qpos[..., ARM_JOINTS]
    return {
        "arm_pos": np.stack([np.sin(angles), np.cos(angles)], axis=-1),
        "arm_vel": v.qvel[..., ARM_JOINTS],
        "touch": np.log1p(v.sensordata),
    }


def arm_signals(v: View) -> dict[str, Signal]:
    """What `arm_observation` holds."""
    names = v.names("joint")
    joints = tuple(names[i] for i in ARM_JOINTS)
    touch = v.names("sensor")
    return {
        "arm_pos": Signal(
            meaning="sine and cosine of each joint's angle",
            names=tuple(f"{part} of {joint}" for joint in joints for part in ("sine", "cosine")),
            unit="1",
            source="qpos",
        ),
        "arm_vel": Signal(
            meaning="velocity of each joint", names=joints, unit="rad/s", source="qvel"
        ),
        "touch": Signal(
            meaning="force with which something presses on palm, fingers, thumb and their tips",
            names=touch,
            unit="ln(1 + N)",
            source=tuple(f"sensor {name}" for name in touch),
        ),
    }


def planar_pose(v: View, body: str) -> Array:
    """A body's place and turn in the plane, (..., 4): x and z (m), then cosine and sine of half
    the angle about y (entries w and y of the quaternion)."""
    frame = v.body(body)
    return np.concatenate([frame.xpos[..., ::2], frame.xquat[..., ::2]], axis=-1)


def pose_signal(*bodies: str) -> Signal:
    """What `planar_pose` holds, for each body in turn."""
    parts = ("x", "z", "quaternion w", "quaternion y")
    return Signal(
        meaning="place in the plane, then cosine and sine of half the angle about y",
        names=tuple(f"{body} {part}" for body in bodies for part in parts),
        unit=("m", "m", "1", "1") * len(bodies),
        frame="world",
        source=("body xpos", "body xpos", "body xquat", "body xquat") * len(bodies),
    )


def draw_arm(v: SingleView, rng: Any) -> None:
    """Draw the arm's joints: uniform in their ranges, the root in (-pi, pi).

    The finger then takes the thumb's angle, as the coupling between them wants it.
    """
    limits = np.where(v.jnt_limited[:, None], v.jnt_range, (-np.pi, np.pi))[ARM_JOINTS]
    v.qpos[ARM_JOINTS] = rng.uniform(limits[:, 0], limits[:, 1])
    v.joint("finger").qpos = v.joint("thumb").qpos
