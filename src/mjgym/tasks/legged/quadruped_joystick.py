"""A quadruped follows a joystick, as in MuJoCo Playground.

Zakka et al., "MuJoCo Playground", 2025.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, drawn_row, namespace, total
from mjgym.mjcf import Spec, assign
from mjgym.rotations import squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register
from mjgym.tasks.legged.joystick import Joystick
from mjgym.tasks.legged.legged_task import FLOOR, FOREVER, ROOT
from mjgym.variation import Uniform, factor, offset

STIFFNESS, DAMPING, ROTOR = 35.0, 0.5, 0.005  # N m/rad, N m s/rad, kg m^2
FRICTION_LOSS = (0.3, 0.3, 1.0)  # N m, of a leg's joints
GROUND_FRICTION = (0.6, 0.005, 0.0001)
SOLE_IMPEDANCE = (0.9, 0.95, 0.023)

# Commands: each component changes with a probability, and then vanishes or is drawn anew.
LARGEST = (1.5, 0.8, 1.2)  # m/s, m/s, rad/s
KEPT_MOVING = (0.9, 0.25, 0.5)  # probability that a component is wanted at all
CHANGES = 0.5  # probability that a component changes
HOLD = 5.0  # s, mean time until commands change
COMMANDS = 32  # drawn per episode; a longer one repeats them
STEPS, DRAWN, WANTED, CHANGED = slice(1), slice(1, 4), slice(4, 7), slice(7, 10)  # of a change
COLUMNS = 10

SHIFT = 0.05  # m, largest of the trunk's centre of mass each way

LIKENESS = (1.0, 1.0, 0.1)  # weight of the deviation of each joint of a leg
SOFT_LIMIT = 0.95  # of each limit
HIGHEST_REWARD = 1e4


@register("legged/go1-joystick-v0", "A quadruped follows a joystick.")
@dataclass(frozen=True)
class QuadrupedJoystick(Joystick):
    """A quadruped follows a joystick in its own frame.

    Reward: 0.02 s times the weighted sum of the terms, which are named as in MuJoCo Playground, but
    at least 0; their weights are keyword arguments.

    Start: in its usual pose, up to 0.5 m from the origin each way, turned at random, moving at up
    to 0.5 m/s and 0.5 rad/s about each axis. The episode ends when the robot is upside down.

    Observation: `local_linvel`, velocity of the inertial measurement unit; `gyro`, its angular
    velocity; `gravity`, direction of gravity as it sees it; `joint_pos`, position of each joint
    relative to the usual pose; `joint_vel`, velocity of each joint; `last_act`, the action before
    the last one; `command`, wanted velocity forward, to the left, and about the vertical.

    With `privileged` follow acceleration, angular velocity in the world, torques, contacts of the
    step before, and velocities and times in the air of the feet.
    """

    physics_timestep: float = 0.004  # s
    tracking_lin_vel: float = 1.0  # weight, as all that follow
    tracking_ang_vel: float = 0.5
    lin_vel_z: float = -0.5
    ang_vel_xy: float = -0.05
    orientation: float = -5.0
    dof_pos_limits: float = -1.0
    pose: float = 0.5
    termination: float = -1.0
    stand_still: float = -1.0
    torques: float = -2e-4
    action_rate: float = -0.01
    energy: float = -0.001
    feet_clearance: float = -2.0
    feet_height: float = -0.2
    feet_slip: float = -0.1
    feet_air_time: float = 0.1

    solver_iterations: ClassVar[tuple[int, int]] = (1, 5)
    highest_step: ClassVar[float] = 0.1
    shortest_swing: ClassVar[float] = 0.1
    drawn: ClassVar[int] = 3 + COMMANDS * COLUMNS

    def __post_init__(self) -> None:
        robot = self.body
        if len(robot.joints) != len(LIKENESS) * len(robot.feet):
            raise ValueError(
                f"robot {type(robot).__name__} has {len(robot.joints)} joints and"
                f" {len(robot.feet)} feet; this task needs legs of three joints each"
            )

    def change_contacts(self, spec: Spec) -> None:
        for geom in spec.geoms:
            if geom.name not in (FLOOR, *self.soles):
                geom.contype = geom.conaffinity = 0
        for sole in self.soles:
            geom = spec.geom(sole)
            assign(
                geom, contype=0, conaffinity=1, condim=1, priority=0, solimp=SOLE_IMPEDANCE,
                solref=(0.02, 1), friction=(1, 0.005, 0.0001),
            )  # fmt: skip
        assign(spec.geom(FLOOR), conaffinity=0, priority=1, friction=GROUND_FRICTION)

    def add_servos(self, spec: Spec) -> None:
        for i, name in enumerate(self.body.joints):
            joint = spec.joint(name)
            actuator = self.servo(spec, name, STIFFNESS, DAMPING, FRICTION_LOSS[i % 3])
            assign(actuator, forcelimited=True, forcerange=joint.actfrcrange)
            assign(joint, armature=ROTOR, actfrclimited=False)

    @property
    def published_variations(self) -> Mapping[str, Any]:
        """Friction, rotor inertias, masses, and the trunk's centre of mass."""
        return {
            **super().published_variations,
            "dof_frictionloss": factor(Uniform(0.9, 1.1)),
            f"geom_friction[{FLOOR}, 0]": Uniform(0.4, 1.0),
            f"body_ipos[{self.body.trunk}]": offset(Uniform(-SHIFT, SHIFT)),
        }

    @property
    def vectors(self) -> tuple[tuple[str, str, str], ...]:
        imu = self.body.imu
        return (
            *super().vectors,
            ("upvector", "framezaxis", imu),
            ("global_linvel", "framelinvel", imu),
        )

    # Commands.

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        largest = np.array(LARGEST)
        v.userdata[:3] = rng.uniform(-largest, largest)
        steps = np.rint(rng.exponential(HOLD, (COMMANDS, 1)) / self.control_timestep)
        drawn = rng.uniform(-largest, largest, (COMMANDS, 3))
        wanted = rng.random((COMMANDS, 3)) < KEPT_MOVING
        changed = rng.random((COMMANDS, 3)) < CHANGES
        if self.command is not None:
            v.userdata[:3], changed = self.command, np.zeros((COMMANDS, 3))
        v.userdata[3:] = np.concatenate([steps, drawn, wanted, changed], axis=1).ravel()

    @property
    def command_ranges(self) -> tuple[tuple[float, float], ...]:
        return tuple((-largest, largest) for largest in LARGEST)

    def commanded(self, command: np.ndarray) -> dict[str, np.ndarray]:
        return {"next_command": command, "steps_left": np.array(FOREVER)}

    def first_command(self, v: View) -> Array:
        return v.userdata[..., :3]

    def memory(self, v: View) -> Arrays:
        number = v.xp.zeros(v.lead, dtype=v.xp.float64)
        change = drawn_row(v.userdata[..., 3:], COLUMNS, number)
        return {
            **super().memory(v),
            "number": number,  # of the next change
            "change": change,  # its row
            "steps_left": change[..., 0],  # control steps until it
        }

    def update(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        left = m["steps_left"] - 1
        over = left <= 0
        command, change = m["command"], m["change"]
        wanted = change[..., DRAWN] * change[..., WANTED]
        changed = command - change[..., CHANGED] * (command - wanted)
        number = xp.where(over, m["number"] + 1, m["number"])
        following = drawn_row(v.userdata[..., 3:], COLUMNS, number)
        return {
            **super().update(v),
            "number": number,
            "change": following,
            "steps_left": xp.where(over, following[..., 0], left),
            "next_command": xp.where(over[..., None], changed, command),
        }

    # Reward and end.

    def terms(self, v: View) -> Arrays:
        xp, seen = v.xp, self.readings(v)
        terms, asked = self.common_terms(v, seen), self.is_commanded(v)
        weights = v.from_numpy(np.array(LIKENESS * len(self.body.feet)))
        away = (v.qpos[..., ROOT:] - self.at_rest(v)) ** 2
        fallen = xp.astype(seen["upvector"][..., 2] < 0, xp.float64)
        terms |= {
            "lin_vel_z": seen["global_linvel"][..., 2] ** 2,
            "ang_vel_xy": squared_norm(seen["global_angvel"][..., :2]),
            "orientation": squared_norm(seen["upvector"][..., :2]),
            "pose": xp.exp(-total(away * weights)),
            "termination": fallen,
            "torques": terms["torques"] + xp.sqrt(total(v.actuator_force**2)),
            "feet_height": asked * terms["feet_height"],
            "feet_slip": asked * terms["feet_slip"],
            "feet_air_time": asked * terms["feet_air_time"],
        }
        return self.weighted(terms)

    def soft_limits(self) -> np.ndarray:
        return SOFT_LIMIT * self.body.ranges

    def reward(self, terms: Arrays) -> Array:
        reward = super().reward(terms)
        return namespace(reward).clip(reward, 0.0, HIGHEST_REWARD)

    def terminated(self, v: View) -> Array:
        return self.seen(v, ("upvector",))["upvector"][..., 2] < 0

    # Observation.

    def observation(self, v: View) -> Arrays:
        m = v.memory
        entries = {
            **{name: self.shown(v, name) for name in ("local_linvel", "gyro")},
            "gravity": -self.shown(v, "gravity"),
            **self.joints(v),
            "command": m["command"],
        }
        return entries | self.hidden(v) if self.privileged else entries

    def hidden(self, v: View) -> Arrays:
        return {**self.dynamics(v), "last_contact": v.memory["last_contact"], **self.feet(v)}
