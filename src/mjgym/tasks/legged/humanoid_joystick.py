"""A humanoid follows a joystick, as in MuJoCo Playground.

Zakka et al., "MuJoCo Playground", 2025.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, columns, drawn_row, total
from mjgym.mjcf import Spec, add, remove
from mjgym.robots.legged_robots import LeggedRobot
from mjgym.rotations import norm, smallest_angle, squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register
from mjgym.tasks.legged.joystick import Joystick
from mjgym.tasks.legged.legged_task import FLOOR, FOREVER, ROOT, uniform_columns
from mjgym.variation import Uniform, factor, shared

# Servos: stiffness (N m/rad) and damping (N m s/rad) of all joints but those with these names.
STIFFNESS, DAMPING, FRICTION_LOSS = 75.0, 2.0, 0.1
SOFTER = {"ankle_pitch": (20.0, 1.0), "ankle_roll": (2.0, 0.2), "wrist": (2.0, 0.2)}
LEAN = ("waist_pitch_joint", 0.073)  # rad, in the usual pose
HEIGHT = 0.755  # m, of the root at the start
# In the published model the right hip rolls within the left one's range.
MIRRORED = ("left_hip_roll_joint", "right_hip_roll_joint")

# Contact shapes, which touch in explicit pairs only.
SOLE = {"type": "box", "size": (0.09, 0.03, 0.008), "pos": (0.04, 0, -0.029)}
THIGH = {"type": "capsule", "fromto": (0.02, 0, 0, 0.02, 0, -0.2), "size": 0.06}
HAND = {"type": "capsule", "fromto": (0.1, 0, 0, 0.05, 0, 0), "size": 0.05}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "foot": ("ankle_roll_link", SOLE),
    "thigh": ("hip_roll_link", THIGH),
    "hand": ("wrist_yaw_link", HAND),
}
SOLE_FRICTION = (0.6, 0.6, 0.005, 0.0001, 0.0001)

BENT = (0.5, 1.5)  # factors of the joints' positions at the start
FORWARD, SIDEWAYS, TURNING = (-1.0, 1.0), (-0.5, 0.5), (-1.0, 1.0)  # m/s, m/s, rad/s
STANDING = 0.1  # share of commands to stand still
HOLD = 500  # control steps after which the command is drawn anew
COMMANDS = 8  # drawn per episode; a longer one repeats them
GAIT = (1.25, 1.5)  # Hz, frequency of steps
FIRST_PHASES = (0.0, pi)  # rad, of the left and the right leg

UPRIGHT = (0.073, 0.0, 1.0)  # wanted vertical of the torso
ROOT_HEIGHT = 0.5  # m
SOFT_LIMIT = 0.95  # of the range of a joint
MOVING = 0.1  # m/s and rad/s, speed of the pelvis above which feet follow the phase
HEIGHTS = 0.01  # m^2, scale of squared errors of the feet's heights
LONGEST_SWING = 0.3  # s, beyond the shortest, that is rewarded
HARDEST = 500.0  # N, force on a foot without penalty
SIDESTEP = 0.1  # m/s, command to the left above which hips may deviate more
HIPS = ("left_hip_roll_joint", "left_hip_yaw_joint", "right_hip_roll_joint", "right_hip_yaw_joint")
KNEES = ("left_knee_joint", "right_knee_joint")
SIDES = ("left", "right")


@register("legged/g1-joystick-v0", "A humanoid follows a joystick.")
@dataclass(frozen=True)
class HumanoidJoystick(Joystick):
    """The humanoid G1 follows a joystick in its own frame.

    Reward: 0.02 s times the weighted sum of the terms, which are named as in MuJoCo Playground;
    their weights are keyword arguments.

    Start: knees bent, each joint at 0.5 to 1.5 times its usual position, up to 0.5 m from the
    origin each way, turned at random, moving at up to 0.5 m/s and 0.5 rad/s about each axis. The
    episode ends when the torso is upside down or the feet touch each other.

    Observation: `local_linvel`, velocity of the inertial measurement unit in the pelvis; `gyro`,
    its angular velocity; `gravity`, direction of gravity as it sees it; `command`, wanted velocity
    forward, to the left, and about the vertical; `joint_pos`, position of each joint relative to
    the usual pose; `joint_vel`, velocity of each joint; `last_act`, the action before the last one;
    `phase`, cosine and sine of each leg's place in the gait.

    With `privileged` follow acceleration, angular velocity in the world, height of the pelvis,
    torques, contacts, and velocities and times in the air of the feet.
    """

    robot: str | LeggedRobot = "g1"  # with the joints and links of G1
    physics_timestep: float = 0.002  # s
    tracking_lin_vel: float = 1.0  # weight, as all that follow
    tracking_ang_vel: float = 0.75
    lin_vel_z: float = 0.0
    ang_vel_xy: float = -0.15
    orientation: float = -2.0
    base_height: float = 0.0
    torques: float = 0.0
    action_rate: float = 0.0
    energy: float = 0.0
    dof_acc: float = 0.0
    feet_clearance: float = 0.0
    feet_air_time: float = 2.0
    feet_slip: float = -0.25
    feet_height: float = 0.0
    feet_phase: float = 1.0
    alive: float = 0.0
    stand_still: float = -1.0
    termination: float = -100.0
    collision: float = -0.1
    contact_force: float = -0.01
    joint_deviation_knee: float = -0.1
    joint_deviation_hip: float = -0.25
    dof_pos_limits: float = -1.0
    pose: float = -0.1

    solver_iterations: ClassVar[tuple[int, int]] = (3, 5)
    highest_step: ClassVar[float] = 0.15
    shortest_swing: ClassVar[float] = 0.2
    drawn: ClassVar[int] = 1 + 3 * COMMANDS

    def __post_init__(self) -> None:
        needed = (*MIRRORED, LEAN[0], *HIPS, *KNEES)
        if missing := [joint for joint in needed if joint not in self.body.joints]:
            raise ValueError(
                f"robot {type(self.body).__name__} has no {missing[0]!r};"
                " this task needs the joints of G1"
            )

    @property
    def rest(self) -> tuple[float, ...]:
        name, lean = LEAN
        pose = list(self.body.pose)
        pose[self.body.joints.index(name)] = lean
        return tuple(pose)

    @property
    def height(self) -> float:
        return HEIGHT

    @property
    def soles(self) -> tuple[str, ...]:
        return self.body.feet

    def change_contacts(self, spec: Spec) -> None:
        touching = (geom.name for geom in spec.geoms if geom.contype or geom.conaffinity)
        remove(spec, "geom", *(name for name in touching if name != FLOOR))
        for side in SIDES:
            for name, (body, shape) in SHAPES.items():
                add(
                    spec.body(f"{side}_{body}"), "geom", name=f"{side}_{name}", contype=0,
                    conaffinity=0, condim=1, mass=0, group=3, **shape,
                )  # fmt: skip
            add(
                spec, "pair", name=f"{side}_foot_floor", geomname1=FLOOR,
                geomname2=f"{side}_foot", condim=3, friction=SOLE_FRICTION,
            )  # fmt: skip
            add(spec, "pair", geomname1=f"{side}_thigh", geomname2=f"{side}_hand", condim=1)
            self.watch_touch(spec, f"{side}_hand_thigh", f"{side}_hand", f"{side}_thigh")
            add(
                spec, "sensor", name=f"{side}_foot_force", type="force", objtype="site",
                objname=f"{side}_ankle",
            )  # fmt: skip
        add(spec, "pair", geomname1="left_foot", geomname2="right_foot", condim=1)
        self.watch_touch(spec, "feet", "right_foot", "left_foot")

    def add_servos(self, spec: Spec) -> None:
        left, right = (spec.joint(name) for name in MIRRORED)
        right.range = left.range
        for name in self.body.joints:
            gains = next((g for part, g in SOFTER.items() if part in name), (STIFFNESS, DAMPING))
            self.servo(spec, name, *gains, FRICTION_LOSS)

    @property
    def published_variations(self) -> Mapping[str, Any]:
        """Friction, rotor inertias and masses."""
        return {
            **super().published_variations,
            "dof_frictionloss": factor(Uniform(0.5, 2.0)),
            "pair_friction[*_foot_floor, :2]": shared(Uniform(0.4, 1.0)),
        }

    @property
    def vectors(self) -> tuple[tuple[str, str, str], ...]:
        torso, pelvis = "imu_in_torso", self.body.imu
        return (
            *super().vectors,
            ("global_linvel", "framelinvel", pelvis),
            ("upvector", "framezaxis", torso),
            ("torso_linvel", "framelinvel", torso),
            ("torso_angvel", "frameangvel", torso),
        )

    # Commands and gait.

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        v.qpos[ROOT:] *= rng.uniform(*BENT, len(self.rest))
        commands = uniform_columns(rng, (FORWARD, SIDEWAYS, TURNING), COMMANDS)
        commands = np.where(rng.random((COMMANDS, 1)) < STANDING, 0.0, commands)
        if self.command is not None:
            commands = np.tile(self.command, (COMMANDS, 1))
        v.userdata[0], v.userdata[1:] = rng.uniform(*GAIT), commands.ravel()

    def _commanded(self, v: View, number: Array) -> Array:
        return drawn_row(v.userdata[..., 1:], 3, number)

    @property
    def command_ranges(self) -> tuple[tuple[float, float], ...]:
        return FORWARD, SIDEWAYS, TURNING

    def commanded(self, command: np.ndarray) -> dict[str, np.ndarray]:
        return {"next_command": command, "held": np.array(-FOREVER)}

    def first_command(self, v: View) -> Array:
        return self._commanded(v, v.xp.zeros(v.lead, dtype=v.xp.float64))

    def memory(self, v: View) -> Arrays:
        xp = v.xp
        nothing = xp.zeros(v.lead, dtype=xp.float64)
        phase = xp.stack([nothing + first for first in FIRST_PHASES], axis=-1)
        return {
            **super().memory(v),
            "number": nothing,  # of the command
            "held": nothing,  # control steps with this command
            "phase": phase,  # rad, place of the left and the right leg in the gait
            "next_phase": phase,
        }

    def before_step(self, v: View, action: Array) -> Arrays:
        return {**super().before_step(v, action), "phase": v.memory["next_phase"]}

    def update(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        held = m["held"] + 1
        over = held > HOLD
        number = xp.where(over, m["number"] + 1, m["number"])
        turned = m["phase"] + 2 * pi * self.control_timestep * v.userdata[..., :1]
        return {
            **super().update(v),
            "number": number,
            "held": xp.where(over, 0.0, held),
            "next_command": xp.where(over[..., None], self._commanded(v, number), m["command"]),
            "next_phase": smallest_angle(turned, 2 * pi),
        }

    # Reward and end.

    def swings(self, v: View) -> Array:
        return v.xp.minimum(super().swings(v), LONGEST_SWING)

    def terms(self, v: View) -> Arrays:
        xp, m, seen = v.xp, v.memory, self.readings(v)
        away = v.qpos[..., ROOT:] - self.at_rest(v)
        pelvis, command = seen["global_linvel"], m["command"]
        speed = norm(pelvis[..., :2])
        turning = abs(seen["global_angvel"][..., 2])
        moving = (speed > MOVING) | (turning > MOVING) | (self.is_commanded(v) > 0)
        stepping = xp.astype(xp.asarray(moving), xp.float64)
        errors = total((self.heights(v, seen) - self._wanted_heights(v)) ** 2)
        upright = xp.asarray(UPRIGHT, dtype=xp.float64)
        hands = v.take("sensordata", tuple(f"{side}_hand_thigh" for side in SIDES))
        forces = xp.stack([v.sensor(f"{side}_foot_force").data[..., 2] for side in SIDES], axis=-1)
        # What the published code computes: a sum over an extra axis counts hips several times.
        times = 4.0 - 2.0 * xp.astype(xp.asarray(command[..., 1] > SIDESTEP), xp.float64)
        terms = self.common_terms(v, seen)
        terms |= {
            "lin_vel_z": seen["torso_linvel"][..., 2] ** 2 + pelvis[..., 2] ** 2,
            "ang_vel_xy": squared_norm(seen["torso_angvel"][..., :2]),
            "orientation": squared_norm(seen["upvector"] - upright),
            "base_height": (v.qpos[..., 2] - ROOT_HEIGHT) ** 2,
            "dof_acc": total(v.qacc[..., ROOT - 1 :] ** 2),
            "feet_slip": speed * total(self.touching(v)),
            "feet_phase": xp.exp(-errors / HEIGHTS) * stepping,
            "alive": xp.ones(v.lead, dtype=xp.float64),
            "termination": xp.astype(xp.asarray(self.terminated(v)), xp.float64),
            "collision": xp.astype(xp.asarray(total(hands) > 0), xp.float64),
            "contact_force": total(xp.maximum(abs(forces) - HARDEST, 0.0)),
            "joint_deviation_knee": total(abs(columns(away, self._numbers(KNEES)))),
            "joint_deviation_hip": total(abs(columns(away, self._numbers(HIPS)))) * times,
            "pose": total(away**2),
        }
        return self.weighted(terms)

    def _numbers(self, joints: tuple[str, ...]) -> list[int]:
        return [self.body.joints.index(joint) for joint in joints]

    def _wanted_heights(self, v: View) -> Array:
        """Heights that the gait asks of the feet, m: along cubics up and down again."""
        share = (v.memory["phase"] + pi) / (2 * pi)
        up, down = _eased(2 * share), 1 - _eased(2 * share - 1)
        return self.highest_step * v.xp.where(share <= 0.5, up, down)

    def soft_limits(self) -> np.ndarray:
        ranges = self.body.ranges.copy()
        left, right = (self.body.joints.index(name) for name in MIRRORED)
        ranges[:, right] = ranges[:, left]
        centre, half = ranges.mean(axis=0), (ranges[1] - ranges[0]) / 2
        return np.stack([centre - SOFT_LIMIT * half, centre + SOFT_LIMIT * half])

    def terminated(self, v: View) -> Array:
        upside_down = self.seen(v, ("upvector",))["upvector"][..., 2] < 0
        return upside_down | (v.sensor("feet").data[..., 0] > 0)

    # Observation.

    def observation(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        entries = {
            **{name: self.shown(v, name) for name in ("local_linvel", "gyro")},
            "gravity": -self.shown(v, "gravity"),
            "command": m["command"],
            **self.joints(v),
            "phase": xp.concat([xp.cos(m["phase"]), xp.sin(m["phase"])], axis=-1),
        }
        return entries | self.hidden(v) if self.privileged else entries

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        phase = {
            "quantity": "gait_phase",  # cosines, then sines
            "start": FIRST_PHASES,  # rad, kept for the first step
            "frequency": sum(GAIT) / 2,  # Hz
            "frequency_range": GAIT,
        }
        return {**super().measurements, "phase": phase}

    def hidden(self, v: View) -> Arrays:
        """Entries for a critic, which only a simulation knows."""
        dynamics = self.dynamics(v)
        torques = dynamics.pop("actuator_force")
        return {
            **dynamics,
            "root_height": v.qpos[..., 2],
            "actuator_force": torques,
            "contact": v.memory["contact"],
            **self.feet(v),
        }

    def known_labels(self) -> dict[str, Signal]:
        names = tuple(f"{part} {side}" for part in ("cosine", "sine") for side in SIDES)
        phase = Signal(names=names, unit="1", source="memory phase")
        height = Signal("height of the pelvis")
        return {**super().known_labels(), "phase": phase, "root_height": height}


def _eased(s: Array) -> Array:
    """A cubic from 0 at 0 to 1 at 1, level at both ends."""
    return s**3 + 3 * s**2 * (1 - s)
