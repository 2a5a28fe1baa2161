"""Base class of the joystick tasks of MuJoCo Playground.

Zakka et al., "MuJoCo Playground", 2025.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add, assign
from mjgym.rotations import norm, squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Action, Arrays, Model, Signal, vector_names
from mjgym.tasks.legged.legged_task import FLOOR, ROOT, CommandedTask, servo_actions
from mjgym.variation import Uniform, factor

SCALE = 0.5  # rad, offset of a target per unit of action
LARGEST_ACTION = 1.0  # bound of the action space; nothing is clipped to it
START_SPEED = 0.5  # m/s and rad/s, largest of the root at the start, each way
TRACKING = 0.25  # (m/s)^2 and (rad/s)^2, scale of tracking errors
LEAST_COMMAND = 0.01  # length of a command above which the robot is asked to move
EXPLICIT_DAMPING = 1 << 15  # the engine's flag mjDSBL_EULERDAMP
NOISE = {
    "local_linvel": 0.1,  # m/s, largest error, as all that follow
    "gyro": 0.2,  # rad/s
    "gravity": 0.05,
    "joint_pos": 0.03,  # rad
    "joint_vel": 1.5,  # rad/s
}
HEAVIER = 1.0  # kg, largest change of the trunk's mass
TOUCH = (1, 1, 1)  # contact sensor: whether two geoms touch


@dataclass(frozen=True)
class Joystick(CommandedTask):
    """A legged robot follows a joystick: the definition that two robots share.

    Sensors, forces and feet are as they were before the last physics step, in rewards and
    observations; positions and velocities of joints are current.
    """

    privileged: bool = False  # observes what only a simulation knows, for a critic

    largest_noise: ClassVar[Mapping[str, float]] = NOISE
    solver_iterations: ClassVar[tuple[int, int]]  # of the solver and of its line search
    highest_step: ClassVar[float]  # m, wanted height of a swinging foot
    shortest_swing: ClassVar[float]  # s, from which swings are rewarded
    drawn: ClassVar[int]  # numbers drawn per episode

    @property
    def height(self) -> float:
        """Height of the root at the start, m."""
        return self.body.height

    @property
    def soles(self) -> tuple[str, ...]:
        return self.body.soles

    def model(self) -> Spec:
        spec = super().model()
        iterations, search = self.solver_iterations
        assign(
            spec.option, integrator="Euler", cone="pyramidal", impratio=1.0,
            iterations=iterations, ls_iterations=search, disableflags=EXPLICIT_DAMPING,
        )  # fmt: skip
        self.change_contacts(spec)
        self.add_servos(spec)
        self._add_sensors(spec)
        spec.nuserdata = self.drawn
        return spec

    @property
    def published_variations(self) -> Mapping[str, Any]:
        """Rotor inertias and masses."""
        trunk = self.body.trunk
        mass = float(self.body.compiled.body(trunk).mass[0])
        return {
            "dof_armature": factor(Uniform(1.0, 1.05)),
            "body_mass": factor(Uniform(0.9, 1.1)),
            f"body_mass[{trunk}]": mass * Uniform(0.9, 1.1) + Uniform(-HEAVIER, HEAVIER),
        }

    def change_contacts(self, spec: Spec) -> None:
        """Replace the robot's contact shapes by those of the definition."""
        raise NotImplementedError

    def add_servos(self, spec: Spec) -> None:
        """Give each joint its servo, in the order of an action."""
        raise NotImplementedError

    def servo(self, spec: Spec, name: str, stiffness: float, damping: float, loss: float) -> Any:
        """Add a servo to a joint, with damping (N m s/rad) and friction loss (N m) of the joint."""
        joint = spec.joint(name)
        span = np.radians(joint.range) if spec.compiler.degree else joint.range
        joint.damping[0], joint.frictionloss = damping, loss
        return add(
            spec, "actuator", name=name, target=joint, gaintype="fixed", gainprm=stiffness,
            biastype="affine", biasprm=(0, -stiffness), ctrllimited=True, ctrlrange=span,
        )  # fmt: skip

    def _add_sensors(self, spec: Spec) -> None:
        for name, kind, site in self.vectors:
            objects = {"objtype": "site", "objname": site}
            if name == "gravity":  # the world's vertical as the sensor sees it
                objects = {"objtype": "body", "objname": "world"}
                objects |= {"reftype": "site", "refname": site}
            self.watch(spec, name, type=kind, **objects)
        for kind, suffix in (("framelinvel", "velocity"), ("framepos", "position")):
            for foot, site in zip(self.body.feet, self.body.ankles, strict=True):
                self.watch(spec, f"{foot}_{suffix}", type=kind, objtype="site", objname=site)
        add(
            spec, "sensor", name="accelerometer", type="accelerometer", objtype="site",
            objname=self.body.imu,
        )  # fmt: skip
        for foot, sole in zip(self.body.feet, self.soles, strict=True):
            self.watch_touch(spec, f"{foot}_floor", sole, FLOOR)

    def watch_touch(self, spec: Spec, name: str, one: str, other: str) -> None:
        """Add the sensor of whether two geoms touch."""
        add(
            spec, "sensor", name=name, type="contact", objtype="geom", objname=one, reftype="geom",
            refname=other, intprm=TOUCH,
        )  # fmt: skip

    @property
    def vectors(self) -> tuple[tuple[str, str, str], ...]:
        """Names, types and sites of the vector sensors, except those of the feet."""
        imu = self.body.imu
        return (
            ("local_linvel", "velocimeter", imu),
            ("gyro", "gyro", imu),
            ("gravity", "framezaxis", imu),
            ("global_angvel", "frameangvel", imu),
        )

    @functools.cached_property
    def _watched(self) -> tuple[str, ...]:
        of_feet = (f"{foot}_{x}" for x in ("velocity", "position") for foot in self.body.feet)
        return (*(name for name, _, _ in self.vectors), *of_feet)

    @functools.cached_property
    def _floor(self) -> tuple[str, ...]:
        return tuple(f"{foot}_floor" for foot in self.body.feet)

    # Actions.

    def actions(self, model: Model) -> Sequence[Action]:
        return servo_actions(self.body, self.scales, LARGEST_ACTION)

    @property
    def scales(self) -> np.ndarray:
        return np.full(len(self.rest), SCALE)

    def control(self, v: View, action: Array) -> Array:
        return self.at_rest(v) + SCALE * action

    # Start and memory.

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        v.qpos[2] = self.height
        v.qvel[: ROOT - 1] = rng.uniform(-START_SPEED, START_SPEED, ROOT - 1)

    # An observation shows the command and the last action that its step was rewarded for: what
    # follows from the step waits in the memory until the next one begins.

    def memory(self, v: View) -> Arrays:
        xp, lead = v.xp, v.lead
        of_feet = xp.zeros((*lead, len(self.body.feet)), dtype=xp.float64)
        still = xp.zeros((*lead, len(self.rest)), dtype=xp.float64)
        readings = v.take("sensordata", self._watched)
        return {
            "action": still,
            "last_act": still,
            "air_time": of_feet,  # s, of the present swing of each foot, its last step included
            "swing_peak": of_feet,  # m, greatest height of each foot in its present swing
            "contact": of_feet,  # 1 where a foot is on the ground
            "last_contact": of_feet,  # in the step before
            "seen": xp.reshape(readings, (*lead, len(self._watched), 3)),
            "command": self.first_command(v),
            "next_command": self.first_command(v),
        }

    def first_command(self, v: View) -> Array:
        raise NotImplementedError

    def before_step(self, v: View, action: Array) -> Arrays:
        m, xp = v.memory, v.xp
        landed = m["contact"] > 0
        return {
            "action": action,
            "last_act": m["action"],
            "air_time": xp.where(landed, 0.0, m["air_time"]),
            "swing_peak": xp.where(landed, 0.0, m["swing_peak"]),
            "last_contact": m["contact"],
            "command": m["next_command"],
        }

    def update(self, v: View) -> Arrays:
        return {
            "air_time": v.memory["air_time"] + self.control_timestep,
            "swing_peak": self.peaks(v, self.readings(v)),
            "contact": self.touching(v),
            "seen": v.past(self._watched)[..., -1, :],
        }

    # Reward.

    def readings(self, v: View) -> Arrays:
        """Vectors before the last physics step, by sensor, (..., 3) each."""
        return self.seen(v, self._watched)

    def touching(self, v: View) -> Array:
        """1 where a foot is on the ground."""
        return v.xp.astype(v.take("sensordata", self._floor) > 0, v.xp.float64)

    def heights(self, v: View, seen: Arrays) -> Array:
        """Height of each foot, m."""
        return v.xp.stack([seen[f"{foot}_position"][..., 2] for foot in self.body.feet], axis=-1)

    def peaks(self, v: View, seen: Arrays) -> Array:
        """Greatest height of each foot in its present swing, m."""
        return v.xp.maximum(v.memory["swing_peak"], self.heights(v, seen))

    def common_terms(self, v: View, seen: Arrays) -> Arrays:
        """The terms that both robots share."""
        m, xp = v.memory, v.xp
        command, position = m["command"], v.qpos[..., ROOT:]
        lower, upper = (v.from_numpy(limit) for limit in self.soft_limits())
        beyond = xp.maximum(lower - position, 0.0) + xp.maximum(position - upper, 0.0)
        drift = squared_norm(command[..., :2] - seen["local_linvel"][..., :2])
        turn = (command[..., 2] - seen["gyro"][..., 2]) ** 2
        asked = self.is_commanded(v)
        away = total(abs(position - self.at_rest(v)))
        feet = [seen[f"{foot}_velocity"][..., :2] for foot in self.body.feet]
        slip = xp.stack([squared_norm(foot) for foot in feet], axis=-1)
        low = abs(self.heights(v, seen) - self.highest_step)
        high = (self.peaks(v, seen) / self.highest_step - 1) ** 2
        effort = abs(v.actuator_force)
        return {
            "tracking_lin_vel": xp.exp(-drift / TRACKING),
            "tracking_ang_vel": xp.exp(-turn / TRACKING),
            "dof_pos_limits": total(beyond),
            "stand_still": away * (1.0 - asked),
            "torques": total(effort),
            "action_rate": total((m["action"] - m["last_act"]) ** 2),
            "energy": total(abs(v.qvel[..., ROOT - 1 :]) * effort),
            "feet_clearance": total(low * xp.sqrt(xp.sqrt(slip))),
            "feet_height": total(high * self.first_contact(v)),
            "feet_slip": total(slip * self.touching(v)),
            "feet_air_time": total(self.swings(v) * self.first_contact(v)),
        }

    def soft_limits(self) -> np.ndarray:
        """Positions beyond which joints are penalised, (2, joints) rad."""
        raise NotImplementedError

    def is_commanded(self, v: View) -> Array:
        """1 where the robot is asked to move."""
        return v.xp.astype(v.xp.asarray(norm(v.memory["command"]) > LEAST_COMMAND), v.xp.float64)

    def swings(self, v: View) -> Array:
        """Time of each foot's swing beyond the shortest wanted, s."""
        return v.memory["air_time"] + self.control_timestep - self.shortest_swing

    def first_contact(self, v: View) -> Array:
        """1 where a foot has come down after a swing."""
        m = v.memory
        down = (self.touching(v) > 0) | (m["last_contact"] > 0)
        return v.xp.astype((m["air_time"] > 0) & down, v.xp.float64)

    # Observation.

    def shown(self, v: View, name: str) -> Array:
        """A vector as the observation shows it, (..., 3)."""
        return v.memory["seen"][..., self._watched.index(name), :]

    def joints(self, v: View) -> Arrays:
        """Positions relative to the usual pose, velocities, and the action before the last one."""
        return {
            "joint_pos": v.take("qpos", self.body.joints) - self.at_rest(v),
            "joint_vel": v.take("qvel", self.body.joints),
            "last_act": v.memory["last_act"],
        }

    def dynamics(self, v: View) -> Arrays:
        """Accelerations, angular velocity and torques."""
        return {
            "accelerometer": v.sensor("accelerometer").data,
            "global_angvel": self.shown(v, "global_angvel"),
            "actuator_force": v.actuator_force,
        }

    def feet(self, v: View) -> Arrays:
        """Velocities of the feet, and how long they have been in the air."""
        feet = [self.shown(v, f"{foot}_velocity") for foot in self.body.feet]
        return {"feet_vel": v.xp.concat(feet, axis=-1), "feet_air_time": v.memory["air_time"]}

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        seen = {
            name: {"quantity": "sensor", "of": name, "scale": scale, "physics_steps_ago": 1}
            for name, scale in (("local_linvel", 1.0), ("gyro", 1.0), ("gravity", -1.0))
        }
        last = {"quantity": "action", "actions_before": 1}
        return {**super().measurements, **seen, "last_act": last}

    def known_labels(self) -> dict[str, Signal]:
        imu, feet, joints = self.body.imu, self.body.feet, self.body.joints
        velocities, seen = vector_names(*feet), "memory seen"
        rates = vector_names("rate")
        return {
            **super().known_labels(),
            "local_linvel": Signal("", vector_names("velocity"), "m/s", imu, seen),
            "gyro": Signal("", rates, "rad/s", imu, seen),
            "gravity": Signal("", vector_names("gravity"), "1", imu, seen),
            "accelerometer": Signal("acceleration, gravity included"),
            "global_angvel": Signal("angular velocity", rates, "rad/s", "world", seen),
            "actuator_force": Signal("torque of each joint", joints, "N m"),
            "contact": Signal("1 where a foot is on the ground", feet, "1"),
            "last_contact": Signal("1 where a foot was on it in the step before", feet, "1"),
            "feet_vel": Signal("velocity of each foot", velocities, "m/s", "world", seen),
            "feet_air_time": Signal("time since each foot left the ground", feet, "s"),
        }
