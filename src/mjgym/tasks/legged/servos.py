"""Base class of mjlab's tasks: servos that follow joint targets, and the events of training.

Zakka, Liao, Yi, Le Lay, Sreenath and Abbeel, "mjlab: A Lightweight Framework for GPU-Accelerated
Robot Learning", 2026, arXiv:2601.22074.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, drawn_row, total
from mjgym.mjcf import Spec, add, assign
from mjgym.robots.legged_robots import LeggedRobot
from mjgym.rotations import norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Action, Arrays, Model
from mjgym.tasks.legged.legged_task import ROOT, LeggedTask, servo_actions
from mjgym.variation import Distribution, Uniform, offset, shared

# Servos: critically damped twice over, at this frequency, for the rotor alone.
FREQUENCY = 20 * pi  # rad/s
DAMPING_RATIO = 2.0
SHARE = 0.25  # of the torque limit that an action of 1 asks for in the usual pose
LARGEST_ACTION = 2.0  # bound of the action space; nothing is clipped to it
SOFT_LIMIT = 0.9  # of the range of a joint

PUSHES = 20  # drawn per episode; a longer one repeats them
PUSH_HOLD = (1.0, 3.0)  # s, from one to the next

HARD = 10.0  # N, force of a contact that counts as a collision
ITSELF = "self_contact"


class Servos(NamedTuple):
    """Servos of a robot's joints, one number each."""

    stiffness: np.ndarray  # N m/rad
    damping: np.ndarray  # N m s/rad
    limit: np.ndarray  # N m
    scale: np.ndarray  # offset of the target per unit of action, rad
    lower: np.ndarray  # soft limit, rad
    upper: np.ndarray  # soft limit, rad


@functools.cache  # hooks ask at each step
def servos_of(robot: LeggedRobot) -> Servos:
    """A robot's servos: its own, or those that follow from its rotor inertias."""
    model = robot.compiled
    joints = [model.joint(name) for name in robot.joints]
    inertia = np.array([model.dof_armature[joint.dofadr[0]] for joint in joints])
    limit = np.array([model.jnt_actfrcrange[joint.id, 1] for joint in joints])
    stiffness, damping = inertia * FREQUENCY**2, 2 * DAMPING_RATIO * inertia * FREQUENCY
    if robot.stiffness:
        stiffness = np.full_like(inertia, robot.stiffness)
        damping = np.full_like(inertia, robot.damping)
    lower, upper = robot.ranges
    centre, half = (lower + upper) / 2, (upper - lower) / 2
    return Servos(
        stiffness, damping, limit, SHARE * limit / stiffness,
        centre - SOFT_LIMIT * half, centre + SOFT_LIMIT * half,
    )  # fmt: skip


@dataclass(frozen=True)
class ServoTask(LeggedTask):
    """A legged robot whose actions are targets of servos."""

    privileged: bool = False  # observes what only a simulation knows, for a critic
    encoder_bias: float = 0.0  # rad, largest error of the joints' encoders
    pushes: bool = False  # changes of the root's velocity, every 1 to 3 s

    largest_push: ClassVar[tuple[float, ...]]  # m/s along x, y, z, and rad/s about them
    largest_shift: ClassVar[tuple[float, ...]]  # m, of the trunk's centre of mass along x, y, z

    def __post_init__(self) -> None:
        if self.encoder_bias < 0:
            raise ValueError(f"encoder_bias: at least 0, got {self.encoder_bias}")

    def model(self) -> Spec:
        spec, robot = super().model(), self.body
        assign(spec.option, integrator="implicitfast", iterations=10, ls_iterations=20)
        servos = servos_of(robot)
        for i, name in enumerate(robot.joints):
            spec.joint(name).actfrclimited = False  # the servo has the limit
            kp, kd = servos.stiffness[i], servos.damping[i]
            limit = servos.limit[i]
            add(
                spec, "actuator", name=name, target=spec.joint(name), gaintype="fixed",
                gainprm=kp, biastype="affine", biasprm=(0, -kp, -kd), forcelimited=True,
                forcerange=(-limit, limit),
            )  # fmt: skip
        for name, kind in (("imu_lin_vel", "velocimeter"), ("imu_ang_vel", "gyro")):
            add(spec, "sensor", name=name, type=kind, objtype="site", objname=robot.imu)
        spec.nuserdata = sum(self.drawn_sizes.values())
        return spec

    def watch_itself(self, spec: Spec) -> None:
        """Add the sensor of contacts of the robot with itself."""
        root = self.body.root
        self.watch(
            spec, ITSELF, type="contact", objtype="xbody", objname=root, reftype="xbody",
            refname=root, intprm=(2, 0, 1),
        )  # fmt: skip

    # Numbers that an episode draws.

    @property
    def drawn_sizes(self) -> Mapping[str, int]:
        """Numbers that an episode draws of each kind, in their order."""
        return {
            "pushes": PUSHES * (1 + len(self.largest_push)) if self.pushes else 0,
            "biases": len(self.body.pose) if self.encoder_bias else 0,
        }

    def drawn_numbers(self, v: View, kind: str) -> Array:
        """The episode's numbers of a kind, (..., k), which `initialize` fills."""
        sizes = self.drawn_sizes
        kinds = tuple(sizes)
        first = sum(sizes[name] for name in kinds[: kinds.index(kind)])
        return v.userdata[..., first : first + sizes[kind]]

    def draw_events(self, v: SingleView, rng: Any) -> None:
        """Draw pushes and errors of encoders."""
        if self.pushes:
            waits, largest = rng.uniform(*PUSH_HOLD, (PUSHES, 1)), np.array(self.largest_push)
            shoves = rng.uniform(-largest, largest, (PUSHES, largest.size))
            self.drawn_numbers(v, "pushes")[:] = np.concatenate([waits, shoves], axis=1).ravel()
        if bias := self.encoder_bias:
            self.drawn_numbers(v, "biases")[:] = rng.uniform(-bias, bias, len(self.body.pose))

    @property
    def published_variations(self) -> Mapping[str, Any]:
        """The trunk's centre of mass and the friction of the feet, the same for all feet."""
        robot = self.body
        shifts = {
            f"body_ipos[{robot.trunk}, {axis}]": offset(Uniform(-largest, largest))
            for axis, largest in enumerate(self.largest_shift)
        }
        friction = {
            f"geom_friction[{robot.sole_geoms}, {column}]": shared(drawn)
            for column, drawn in enumerate(self.foot_friction)
        }
        return {**shifts, **friction}

    @property
    def foot_friction(self) -> tuple[Distribution, ...]:
        """Published friction of the feet: sliding, torsional and rolling (m), as many as vary."""
        raise NotImplementedError

    # Actions.

    def actions(self, model: Model) -> Sequence[Action]:
        return servo_actions(self.body, self.scales, LARGEST_ACTION)

    @property
    def scales(self) -> np.ndarray:
        return servos_of(self.body).scale

    def control(self, v: View, action: Array) -> Array:
        scale = alongside(servos_of(self.body).scale, action)
        return self.at_rest(v) + scale * action - self._bias(v)

    def memory(self, v: View) -> Arrays:
        xp = v.xp
        still = xp.zeros((*v.lead, len(self.body.pose)), dtype=xp.float64)
        entries = {"action": still, "last_action": still}
        if not self.pushes:
            return entries
        number = xp.zeros(v.lead, dtype=xp.float64)
        wait = self._drawn_push(v, number)[..., 0]
        return {"push_number": number, "push_left": wait, **entries}  # s, until the next one

    def before_step(self, v: View, action: Array) -> Arrays:
        acted = {"action": action, "last_action": v.memory["action"]}
        return {**acted, **self._push(v)} if self.pushes else acted

    def _push(self, v: View) -> Arrays:
        """Push those robots that are due: world axes for both velocities."""
        m, xp = v.memory, v.xp
        due = m["push_left"] <= 0
        row = self._drawn_push(v, m["push_number"])
        shove = xp.where(due[..., None], row[..., 1:], 0.0)
        turn = to_local(v.body(self.body.root).xmat, shove[..., 3:])  # as qvel has it
        moved = v.qvel[..., : ROOT - 1] + xp.concat([shove[..., :3], turn], axis=-1)
        number = xp.where(due, m["push_number"] + 1, m["push_number"])
        left = xp.where(due, self._drawn_push(v, number)[..., 0], m["push_left"])
        return {
            "qvel": xp.concat([moved, v.qvel[..., ROOT - 1 :]], axis=-1),
            "push_number": number,
            "push_left": left - self.control_timestep,
        }

    def _drawn_push(self, v: View, number: Array) -> Array:
        """Time until a push (s) and its change of velocity, (..., 7)."""
        return drawn_row(self.drawn_numbers(v, "pushes"), 1 + len(self.largest_push), number)

    def _bias(self, v: View) -> Array:
        return self.drawn_numbers(v, "biases") if self.encoder_bias else 0.0

    # What rewards and observations share.

    def beyond_limits(self, v: View) -> Array:
        """Sum of the joints' ways beyond their soft limits, rad."""
        servos, xp, position = servos_of(self.body), v.xp, v.qpos[..., ROOT:]
        lower, upper = v.from_numpy(servos.lower), v.from_numpy(servos.upper)
        return total(xp.maximum(lower - position, 0.0) + xp.maximum(position - upper, 0.0))

    def encoders(self, v: View) -> Array:
        """Positions of the joints relative to the usual pose as the encoders show them, rad."""
        return v.take("qpos", self.body.joints) - self.at_rest(v) + self._bias(v)

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        return {
            **super().measurements,
            "base_lin_vel": {"quantity": "sensor", "of": "imu_lin_vel"},
            "base_ang_vel": {"quantity": "sensor", "of": "imu_ang_vel"},
            "actions": {"quantity": "action"},
        }


def hard_steps(v: View, sensors: tuple[str, ...]) -> Array:
    """Physics steps of this control step in which any of the sensors felt more than `HARD`."""
    hard = v.xp.any(norm(v.past(sensors)) > HARD, axis=-2)
    return total(v.xp.astype(hard, v.xp.float64))
