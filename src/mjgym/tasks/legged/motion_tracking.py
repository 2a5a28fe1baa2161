"""Follow a motion with a legged robot, as in mjlab.

Zakka, Liao, Yi, Le Lay, Sreenath and Abbeel, "mjlab: A Lightweight Framework for GPU-Accelerated
Robot Learning", 2026, arXiv:2601.22074. The terms are those of Liao et al., "BeyondMimic: From
Motion Tracking to Versatile Humanoid Control via Guided Diffusion", 2025, arXiv:2508.08241.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mjgym.arrays import Array, columns, reshaped, total
from mjgym.mjcf import Spec
from mjgym.mjcf.ghosts import add_ghost
from mjgym.rotations import (
    XX,
    XY,
    YX,
    YY,
    ZX,
    ZY,
    about,
    about_z,
    angle_between,
    compose,
    conjugate,
    from_quaternion,
    product,
    squared_norm,
    to_local,
    transposed,
    yaw,
)
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register, vector_names
from mjgym.tasks.legged.legged_task import ROOT
from mjgym.tasks.legged.motions import Motion, load_motion
from mjgym.tasks.legged.servos import ITSELF, ServoTask, hard_steps, servos_of
from mjgym.variation import Distribution, Uniform

# Start: largest deviations from the motion.
OFFSET = (0.05, 0.05, 0.01)  # m, of the root along x, y, z
TURN = (0.1, 0.1, 0.2)  # rad, of the root: roll, pitch, yaw
SPEEDS = (0.5, 0.5, 0.2, 0.52, 0.52, 0.78)  # m/s and rad/s, of the root, and of its pushes
JOINTS = 0.1  # rad, of each joint

# Ends: errors beyond which an episode ends.
TOO_FAR = 0.25  # m, of the heights of the trunk and of the limbs' ends
TOO_TILTED = 0.8  # of the vertical part of the direction of gravity in the trunk's frame

# Scales of errors.
ROOT_POSITION, BODY_POSITION = 0.3, 0.3  # m
ROOT_ORIENTATION, BODY_ORIENTATION = 0.4, 0.4  # rad
BODY_VELOCITY, BODY_RATE = 1.0, 3.14  # m/s, rad/s

# Events, all off by default.
SHIFT = (0.025, 0.05, 0.05)  # m, largest of the trunk's centre of mass along x, y, z
FRICTION = Uniform(0.3, 1.2)  # of the feet
NOISE = {
    "motion_anchor_pos_b": 0.25,  # m, largest error, as all that follow
    "motion_anchor_ori_b": 0.05,
    "base_lin_vel": 0.5,  # m/s
    "base_ang_vel": 0.2,  # rad/s
    "joint_pos": 0.01,  # rad
    "joint_vel": 0.5,  # rad/s
}

# Sensors of each tracked body, which rewards read as they were before the last physics step.
READ = {
    "position": "framepos", "quaternion": "framequat", "velocity": "framelinvel",
    "rate": "frameangvel",
}  # fmt: skip
FIRST_COLUMNS = (XX, XY, YX, YY, ZX, ZY)  # of a rotation matrix: its first two columns


class Bodies(NamedTuple):
    """Poses and velocities of the tracked bodies in world axes."""

    position: Array  # (..., b, 3) m
    quaternion: Array  # (..., b, 4)
    velocity: Array  # (..., b, 3) m/s
    rate: Array  # (..., b, 3) rad/s


@register("legged/g1-tracking-v0", "A humanoid follows a motion.", robot="g1")
@register("legged/go1-tracking-v0", "A Go1 follows a motion.")
@dataclass(frozen=True)
class MotionTracking(ServoTask):
    """A legged robot follows a motion.

    Reward: 0.02 s times the weighted sum of the terms, which are named as in mjlab; their weights
    are keyword arguments. Terms that begin with "motion" are exp(-e^2 / s^2), with the distance or
    angle e to the motion: of the trunk in the world, and of bodies relative to the trunk, that is
    with the motion moved and turned about the vertical so that the trunks agree, but for their
    heights. Velocities are compared in the world. Errors of bodies are root mean squares.

    Start: near a frame of the motion, each as likely as any other. The episode ends when the
    trunk's height or tilt, or the height of the end of a limb, is far from the motion's. It is
    truncated, with success, at the motion's end.

    Observation: `command`, position and velocity of each joint of the motion;
    `motion_anchor_pos_b`, way from the trunk to that of the motion; `motion_anchor_ori_b`, first
    two columns of the rotation matrix of the motion's trunk in the trunk's frame; `base_lin_vel`,
    velocity of the inertial measurement unit; `base_ang_vel`, its angular velocity; `joint_pos`,
    position of each joint relative to the usual pose, as the encoders show it; `joint_vel`,
    velocity of each joint; `actions`, the last action.

    With `privileged` follow poses of the tracked bodies in the trunk's frame.
    """

    motion: str = ""  # a file, or the name of a bundled motion; empty for that of the robot
    from_start: bool = False  # episodes begin in the motion's first state
    ghost: bool = False  # the motion is drawn as well, translucent
    time_limit: float = 10.0  # s
    motion_global_root_pos: float = 0.5  # weight, as all that follow
    motion_global_root_ori: float = 0.5
    motion_body_pos: float = 1.0
    motion_body_ori: float = 1.0
    motion_body_lin_vel: float = 1.0
    motion_body_ang_vel: float = 1.0
    action_rate_l2: float = -0.1
    joint_limit: float = -10.0
    self_collisions: float = -10.0

    largest_noise: ClassVar[Mapping[str, float]] = NOISE
    largest_push: ClassVar[tuple[float, ...]] = SPEEDS
    largest_shift: ClassVar[tuple[float, ...]] = SHIFT

    def model(self) -> Spec:
        spec = super().model()
        for body in self.tracked:
            for name, kind in READ.items():
                self.watch(spec, f"{body}_{name}", type=kind, objtype="xbody", objname=body)
        if self.self_collisions:
            self.watch_itself(spec)
        if self.ghost:
            add_ghost(spec, self.reference.bodies)
        return spec

    # The motion.

    @functools.cached_property
    def reference(self) -> Motion:
        robot = self.robot if isinstance(self.robot, str) else type(self.robot).__name__.lower()
        return load_motion(self.motion or robot, self.body, self.control_timestep)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @functools.cached_property
    def tracked(self) -> tuple[str, ...]:
        return self.body.tracked or self.reference.bodies

    @functools.cached_property
    def _anchor(self) -> int:
        return self.tracked.index(self.body.trunk)

    @functools.cached_property
    def _tips(self) -> tuple[int, ...]:
        return tuple(self.tracked.index(name) for name in self.body.tips)

    @functools.cached_property
    def _table(self) -> np.ndarray:
        """Joint positions and velocities, then `Bodies`, one row per frame."""
        motion = self.reference
        rows = [motion.bodies.index(name) for name in self.tracked]
        of_bodies = (getattr(motion, name)[:, rows] for name in READ)
        joints = motion.qpos[:, ROOT:], motion.qvel[:, ROOT - 1 :]
        flat = (part.reshape(len(motion), -1) for part in of_bodies)
        return np.concatenate([*joints, *flat], axis=1)

    def _row(self, v: View, table: np.ndarray, frame: Array) -> Array:
        """The row of a frame in a table, (..., columns)."""
        place = reshaped(v.xp.astype(frame, v.xp.int64), (-1,))
        rows = columns(v.from_numpy(table), place, axis=0)
        return reshaped(rows, (*v.lead, *table.shape[1:]))

    def _at(self, v: View, frame: Array) -> tuple[Array, Bodies]:
        """Positions and velocities of the joints, (..., 2 n), and the bodies in a frame."""
        row, first = self._row(v, self._table, frame), 2 * len(self.body.pose)
        parts, count = [], len(self.tracked)
        for size in (3, 4, 3, 3):
            part = row[..., first : first + size * count]
            parts.append(reshaped(part, (*v.lead, count, size)))
            first += size * count
        return row[..., : 2 * len(self.body.pose)], Bodies(*parts)

    def _aligned(self, v: View, motion: Bodies) -> Arrays:
        """The robot's trunk in the plane, and its turn about the vertical from the motion's."""
        trunk = v.body(self.body.trunk)
        turn = product(trunk.xquat, conjugate(motion.quaternion[..., self._anchor, :]))
        return {"place": trunk.xpos[..., :2], "turn": yaw(turn)}

    # Start, memory.

    @property
    def drawn_sizes(self) -> Mapping[str, int]:
        return {"start": 1, **super().drawn_sizes}

    @property
    def foot_friction(self) -> tuple[Distribution, ...]:
        return (FRICTION,)

    def initialize(self, v: SingleView, rng: Any) -> None:
        motion = self.reference
        frame = 0 if self.from_start else int(rng.integers(len(motion) - 1))
        self.drawn_numbers(v, "start")[:] = frame
        qpos, qvel = motion.qpos[frame].copy(), motion.qvel[frame].copy()
        if not self.from_start:
            qpos[:3] += rng.uniform(np.negative(OFFSET), OFFSET)
            turn = qpos[3:ROOT]
            spin = qvel[3:6] @ from_quaternion(turn).reshape(3, 3).T
            for axis, angle in zip(np.eye(3), rng.uniform(np.negative(TURN), TURN), strict=True):
                turn = product(about(axis, angle), turn)
            qpos[3:ROOT] = turn
            speeds = rng.uniform(np.negative(SPEEDS), SPEEDS)
            qvel[:3] += speeds[:3]
            qvel[3:6] = to_local(from_quaternion(turn), spin + speeds[3:])
            servos = servos_of(self.body)
            joints = qpos[ROOT:] + rng.uniform(-JOINTS, JOINTS, len(self.body.pose))
            qpos[ROOT:] = np.clip(joints, servos.lower, servos.upper)
        v.qpos, v.qvel = qpos, qvel
        self.draw_events(v, rng)
        if self.ghost:
            for name, value in self._ghost(v, np.array(frame)).items():
                setattr(v, name, value)

    def memory(self, v: View) -> Arrays:
        frame = self.drawn_numbers(v, "start")[..., 0] + 1.0
        return {
            **super().memory(v),
            "frame": frame,  # of the motion, in which the robot should be after the next step
            **self._aligned(v, self._at(v, frame)[1]),
        }

    def before_step(self, v: View, action: Array) -> Arrays:
        ghost = self._ghost(v, v.memory["frame"]) if self.ghost else {}
        return {**super().before_step(v, action), **ghost}

    def _ghost(self, v: View, frame: Array) -> Arrays:
        motion = self.reference
        return {
            "mocap_pos": self._row(v, motion.position, frame),
            "mocap_quat": self._row(v, motion.quaternion, frame),
        }

    def update(self, v: View) -> Arrays:
        frame = v.xp.minimum(v.memory["frame"] + 1, v.xp.asarray(len(self.reference) - 1.0))
        return {"frame": frame, **self._aligned(v, self._at(v, frame)[1])}

    # Reward and ends.

    def _before(self, v: View, name: str, bodies: tuple[str, ...]) -> Array:
        """A sensor of some bodies, (..., b, k), before the last physics step."""
        return v.past(tuple(f"{body}_{name}" for body in bodies))[..., -1, :]

    def terms(self, v: View) -> Arrays:
        xp, m, anchor = v.xp, v.memory, self._anchor
        _, motion = self._at(v, m["frame"])
        robot = Bodies(*(self._before(v, name, self.tracked) for name in READ))
        # Move the motion so that its trunk is at the robot's.
        turn = about_z(m["turn"])[..., None, :]
        ahead, aside = xp.cos(m["turn"])[..., None], xp.sin(m["turn"])[..., None]
        way = motion.position - motion.position[..., anchor, None, :]
        x = m["place"][..., :1] + ahead * way[..., 0] - aside * way[..., 1]
        y = m["place"][..., 1:] + aside * way[..., 0] + ahead * way[..., 1]
        moved = xp.stack([x, y, motion.position[..., 2]], axis=-1)
        away = motion.position[..., anchor, :] - robot.position[..., anchor, :]
        tilt = angle_between(motion.quaternion[..., anchor, :], robot.quaternion[..., anchor, :])
        turned = angle_between(product(turn, motion.quaternion), robot.quaternion)
        squares = {
            "motion_body_pos": squared_norm(moved - robot.position) / BODY_POSITION**2,
            "motion_body_ori": turned**2 / BODY_ORIENTATION**2,
            "motion_body_lin_vel": squared_norm(motion.velocity - robot.velocity)
            / BODY_VELOCITY**2,
            "motion_body_ang_vel": squared_norm(motion.rate - robot.rate) / BODY_RATE**2,
        }
        terms = {
            "motion_global_root_pos": xp.exp(-squared_norm(away) / ROOT_POSITION**2),
            "motion_global_root_ori": xp.exp(-(tilt**2) / ROOT_ORIENTATION**2),
            **{name: xp.exp(-total(x) / x.shape[-1]) for name, x in squares.items()},
            "action_rate_l2": total((m["action"] - m["last_action"]) ** 2),
            "joint_limit": self.beyond_limits(v),
        }
        if self.self_collisions:
            terms["self_collisions"] = hard_steps(v, (ITSELF,))
        return self.weighted(terms)

    def terminated(self, v: View) -> Array:
        xp = v.xp
        _, motion = self._at(v, v.memory["frame"])
        bodies = (self.body.trunk, *self.body.tips)
        wanted = columns(motion.position[..., 2], (self._anchor, *self._tips))
        away = abs(wanted - self._before(v, "position", bodies)[..., 2])
        turns = (
            motion.quaternion[..., self._anchor, :],
            self._before(v, "quaternion", (self.body.trunk,))[..., 0, :],
        )
        upright = [1 - 2 * squared_norm(turn[..., 1:3]) for turn in turns]
        return xp.any(away > TOO_FAR, axis=-1) | (abs(upright[0] - upright[1]) > TOO_TILTED)

    def truncated(self, v: View) -> Array:
        return v.memory["frame"] >= len(self.reference) - 1

    def success(self, v: View) -> Array:
        return self.truncated(v) & ~self.terminated(v)

    # Observation.

    def observation(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        command, motion = self._at(v, m["frame"])
        trunk = v.body(self.body.trunk)
        theirs = from_quaternion(motion.quaternion[..., self._anchor, :])
        inverse = transposed(trunk.xmat)
        entries = {
            "command": command,
            "motion_anchor_pos_b": to_local(
                trunk.xmat, motion.position[..., self._anchor, :] - trunk.xpos
            ),
            "motion_anchor_ori_b": columns(compose(inverse, theirs), FIRST_COLUMNS),
            "base_lin_vel": v.sensor("imu_lin_vel").data,
            "base_ang_vel": v.sensor("imu_ang_vel").data,
            "joint_pos": self.encoders(v),
            "joint_vel": v.take("qvel", self.body.joints),
            "actions": m["action"],
        }
        if self.privileged:
            way = v.take("xpos", self.tracked) - trunk.xpos[..., None, :]
            turns = compose(inverse[..., None, :], v.take("xmat", self.tracked))
            flat = (*v.lead, -1)
            entries |= {
                "body_pos": xp.reshape(to_local(trunk.xmat[..., None, :], way), flat),
                "body_ori": xp.reshape(columns(turns, FIRST_COLUMNS), flat),
            }
        return entries

    def scripted_policy(self) -> Callable[[Any], Any]:
        """Targets at the motion's joint positions, without balance: a humanoid falls."""
        rest, scales, count = np.array(self.rest), self.scales, len(self.rest)
        return lambda seen: (seen["command"][..., :count] - rest) / scales

    def known_labels(self) -> dict[str, Signal]:
        joints, trunk, bodies = self.body.joints, self.body.trunk, self.tracked
        states = tuple(f"{joint} {what}" for what in ("position", "velocity") for joint in joints)
        units = ("rad",) * len(joints) + ("rad/s",) * len(joints)
        columns_of = ("x of x", "x of y", "y of x", "y of y", "z of x", "z of y")
        axes = tuple(f"{body} {part}" for body in bodies for part in columns_of)
        return {
            **super().known_labels(),
            "command": Signal("", states, units, source="motion"),
            "motion_anchor_pos_b": Signal("", vector_names(trunk), "m", trunk, "motion"),
            "motion_anchor_ori_b": Signal("", columns_of, "1", trunk, "motion"),
            "body_pos": Signal("position of each tracked body", vector_names(*bodies), "m", trunk),
            "body_ori": Signal(
                "first two columns of the rotation matrix of each tracked body", axes, "1", trunk
            ),
        }
