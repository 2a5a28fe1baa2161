"""Motions that legged robots follow: states, and the poses and velocities of bodies."""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mjgym.mocap import Trajectory
from mjgym.robots.legged_robots import LeggedRobot
from mjgym.rotations import cross, from_quaternion, to_local
from mjgym.sim import Single
from mjgym.util import npz
from mjgym.util.packaged import assets
from mjgym.util.suggestions import or_else

# Arrays of mjlab's files: frames per second, joints, and bodies in world axes, the root first.
MJLAB = (
    "fps", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w",
    "body_ang_vel_w",
)  # fmt: skip
MOST_BYTES = 2**30  # of a file's arrays


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a robot, one row per control step; F rows, b bodies."""

    qpos: np.ndarray  # (F, nq)
    qvel: np.ndarray  # (F, nv)
    bodies: tuple[str, ...]  # names of all bodies, the root first
    position: np.ndarray  # origins of the bodies in the world, (F, b, 3) m
    quaternion: np.ndarray  # orientations of the bodies in the world, (F, b, 4)
    velocity: np.ndarray  # of the origins in world axes, (F, b, 3) m/s
    rate: np.ndarray  # angular velocities in world axes, (F, b, 3) rad/s

    def __len__(self) -> int:
        return len(self.qpos)


def load_motion(motion: str, robot: LeggedRobot, timestep: float) -> Motion:
    """Load a motion, resampled to a timestep (s); cached while its file stays unchanged.

    It is the name of a bundled one, or a file: of `mjgym.mocap.Trajectory`, or of mjlab.
    """
    path = find_motion(motion)
    status = path.stat()
    return _load(path, status.st_mtime_ns, status.st_size, robot, timestep)


def find_motion(motion: str) -> Path:
    """The file of a motion: its path, or that of a bundled one by its name."""
    path = Path(motion).expanduser()
    if path.is_file():
        return path
    bundled = {file.stem: file for file in (assets() / "legged" / "motions").glob("*.npz")}
    if motion not in bundled:
        hint = or_else(motion, sorted(bundled))
        raise ValueError(f"motion: no file {motion!r}, nor a bundled motion of that name{hint}")
    return bundled[motion]


@functools.lru_cache(maxsize=8)  # batches, renderers and copies share it
def _load(path: Path, time: int, size: int, robot: LeggedRobot, timestep: float) -> Motion:
    trajectory = _read(path)
    joints, count = robot.joints, trajectory.qpos.shape[1] - 7
    if count != len(joints):
        raise ValueError(f"{path}: moves {count} joints, the robot has {len(joints)}")
    for i, (ours, theirs) in enumerate(zip(joints, trajectory.joints, strict=False)):
        if ours != theirs:
            raise ValueError(f"{path}: joint {i} is {theirs!r}, that of the robot is {ours!r}")
    try:
        trajectory = trajectory.resampled(timestep, "linear")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return _with_bodies(trajectory, robot)


def _read(path: Path) -> Trajectory:
    try:
        arrays = npz.read(path, MJLAB.__contains__, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if "joint_pos" not in arrays:
        return Trajectory.load(path)
    try:
        return _of_mjlab(arrays)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _of_mjlab(arrays: dict[str, np.ndarray]) -> Trajectory:
    if missing := [name for name in MJLAB if name not in arrays]:
        raise ValueError(f"no array {missing[0]!r}")
    rate = np.ravel(arrays["fps"]).astype(float)
    if rate.size != 1 or not rate[0] > 0:
        raise ValueError(f"fps: must be one positive number, got {rate}")
    if arrays["joint_pos"].ndim != 2:
        raise ValueError(f"joint_pos: must be (frames, joints), got {arrays['joint_pos'].shape}")
    joints = arrays["joint_pos"].shape
    frames = joints[0]
    shapes = {"joint_pos": joints, "joint_vel": joints, "body_quat_w": (frames, 4)}
    parts = {}
    for name in MJLAB[1:]:
        array, wanted = arrays[name], shapes.get(name, (frames, 3))
        of_bodies = name.startswith("body_")
        parts[name] = array[:, 0] if of_bodies and array.ndim == 3 and array.shape[1] else array
        if parts[name].shape != wanted:
            each = (frames, "bodies", wanted[1]) if of_bodies else wanted
            raise ValueError(f"{name}: must be {each}, got {array.shape}".replace("'", ""))
    spin = to_local(from_quaternion(parts["body_quat_w"]), parts["body_ang_vel_w"])
    qpos = (parts["body_pos_w"], parts["body_quat_w"], parts["joint_pos"])
    qvel = (parts["body_lin_vel_w"], spin, parts["joint_vel"])
    return Trajectory(np.hstack(qpos), np.hstack(qvel), 1 / rate[0])


def _with_bodies(trajectory: Trajectory, robot: LeggedRobot) -> Motion:
    v = Single(robot.model().compile()).view
    root = v.rows("xpos", (robot.root,))
    bodies = v.names("body")[1:]  # without the world
    rows = []
    for qpos, qvel in zip(trajectory.qpos, trajectory.qvel, strict=True):
        v.qpos, v.qvel = qpos, qvel
        v.forward()
        turn, drift = v.cvel[1:, :3], v.cvel[1:, 3:]  # at the centre of mass of the whole
        velocity = drift + cross(turn, v.xpos[1:] - v.subtree_com[root])
        rows.append((v.xpos[1:].copy(), v.xquat[1:].copy(), velocity, turn.copy()))
    arrays = (np.stack(part) for part in zip(*rows, strict=True))
    return Motion(trajectory.qpos.copy(), trajectory.qvel.copy(), bodies, *arrays)
