"""Conversion of recorded angles to positions and trajectories of the CMU humanoids."""

import math
from typing import Literal

import numpy as np

from mjgym.mocap.amc import CHANNELS, Clip
from mjgym.mocap.trajectory import Trajectory, resample, velocities
from mjgym.rotations import about, product

METRES_PER_UNIT = 0.056444
"""Length of the recordings' unit in m: an inch divided by 0.45, rounded as in the published
suite."""

SCALE_V2020 = 1.2
"""Size of the V2020 humanoid relative to the recordings' skeleton, on which it is built; the
suite's humanoid and the locomotion humanoid of 2019 have the skeleton's own size."""

# Bones in the order of the humanoids' bodies, depth first.
_BODIES = (
    *("lfemur", "ltibia", "lfoot", "ltoes", "rfemur", "rtibia", "rfoot", "rtoes"),
    *("lowerback", "upperback", "thorax", "lowerneck", "upperneck", "head"),
    *("lclavicle", "lhumerus", "lradius", "lwrist", "lhand", "lfingers", "lthumb"),
    *("rclavicle", "rhumerus", "rradius", "rwrist", "rhand", "rfingers", "rthumb"),
)

# A recording rotates a bone about its x axis first and about z last; in a chain of joints, the
# first one moves all that follow.
JOINTS = tuple(bone + channel for bone in _BODIES for channel in reversed(CHANNELS[bone]))
"""The 56 hinges in the order of qpos, after the root: the same in the suite's
humanoid_CMU and in the locomotion humanoids of 2019 and 2020."""


def to_qpos(clip: Clip, scale: float = 1.0) -> np.ndarray:
    """Positions of a CMU humanoid at the frames of a clip.

    The formulae are the published suite's: the recording's axes (y up) map to the world's (z up),
    the root rotates about x, then y, then z, and each hinge takes the angle of its name. Hinges of
    a bone missing from the clip are at 0.

    Args:
        clip: F frames.
        scale: size of the humanoid relative to the recordings' skeleton, applied to the root
            position so that its feet touch the ground: 1, or `SCALE_V2020`.

    Returns:
        (F, 63): position (m), quaternion, hinges (rad) in the order of `JOINTS`.

    Raises:
        ValueError: the scale is not positive.
    """
    if not 0 < scale < math.inf:
        raise ValueError(f"scale: must be positive, got {scale}")
    root = clip.bones["root"]
    qpos = np.zeros((len(root), 7 + len(JOINTS)))
    qpos[:, :3] = (scale * METRES_PER_UNIT) * root[:, (0, 2, 1)] * (1, -1, 1)
    axes = np.eye(3)
    about_x, about_y, about_z = map(about, axes, np.deg2rad(root[:, 3:].T))
    upright = about(axes[0], np.deg2rad([90.0]))
    qpos[:, 3:7] = product(upright, product(about_z, product(about_y, about_x)))
    column = {joint: 7 + i for i, joint in enumerate(JOINTS)}
    for bone, values in clip.bones.items():
        if bone != "root":
            columns = [column[bone + channel] for channel in CHANNELS[bone]]
            qpos[:, columns] = np.deg2rad(values)
    return qpos


def to_trajectory(
    clip: Clip,
    timestep: float,
    scale: float = 1.0,
    interpolation: Literal["cubic", "linear"] = "cubic",
) -> Trajectory:
    """Convert a clip to states of a CMU humanoid, one per timestep.

    Follows the published suite by default: a cubic spline through each number, see `resample`, with
    normalised quaternions. It differs where the file's angles jump: a hinge that jumps by more than
    half a turn between two frames has wrapped at the end of the file's range and is unwrapped, as
    is a root quaternion that flips its sign.

    Args:
        timestep: s between states, usually the task's control timestep.
        scale: see `to_qpos`.
        interpolation: between frames, see `resample`.

    Raises:
        ValueError: the clip is shorter than one timestep, the timestep or the scale is not
            positive, the timestep makes too many states, or there is no such interpolation.
    """
    qpos = to_qpos(clip, scale)
    duration = clip.times[-1]
    if duration < timestep * (1 - 1e-9):
        raise ValueError(f"clip: lasts {duration:.6g} s, less than one timestep of {timestep} s")
    qpos[:, 7:] = np.unwrap(qpos[:, 7:], axis=0)
    sampled = resample(clip.times, qpos, timestep, interpolation)
    return Trajectory(sampled, velocities(sampled, timestep), timestep)
