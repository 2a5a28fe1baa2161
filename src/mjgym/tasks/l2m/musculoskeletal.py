"""OpenSim's forces for the walker, on MuJoCo's rigid bodies.

The generalised forces of muscles, limits and contacts give the accelerations of the free
coordinates, by the inertia and bias forces that MuJoCo has computed. Motors drive every joint,
including the tibia slides, so that MuJoCo's next step ends with the resulting velocities and with
the slides at the positions set by the knee angles (to 1e-8 m).

The integrator is a leapfrog scheme: the velocity of each step is that of its middle. A control
step's first physics step therefore applies accelerations for half a step, and its last one for one
and a half, so that between control steps velocities and positions are simultaneous.
Velocity-dependent forces are taken at the midpoint of the interval that they act on, by their
derivatives; friction, with its stiff derivative, later. Fibres and activations are integrated after
each physics step.
"""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, columns, reshaped, total
from mjgym.mjcf import Spec
from mjgym.muscles import PathGeometry, Thelen
from mjgym.muscles.paths import cross_rows
from mjgym.sim import SingleView, View
from mjgym.task import WHOLE_TOLERANCE, Arrays
from mjgym.tasks.l2m import skeleton
from mjgym.tasks.l2m.coordinates import Coordinates, Knees
from mjgym.tasks.l2m.skeleton import COORDINATES, DEFAULTS, MUSCLES, SIDES

__all__ = [
    "ACTION_TO_MODEL",
    "COORDINATES",
    "LONGEST_STEP",
    "MUSCLES",
    "MuscleState",
    "Musculoskeletal",
]

_OF_A_LEG = ("abd", "add", "iliopsoas", "glut_max", "hamstrings", "rect_fem", "vasti", "bifemsh")
ACTION_ORDER = tuple(
    f"{name}_{side}" for side in SIDES for name in (*_OF_A_LEG, "gastroc", "soleus", "tib_ant")
)
"""The muscles in the order of the published action."""

ACTION_TO_MODEL = np.array([ACTION_ORDER.index(name) for name in MUSCLES])
"""The published action's numbers in the model's order: `action[..., ACTION_TO_MODEL]`."""

KILO = 1e3
START_ACTIVATION = 0.05
LONGEST_STEP = 0.0004  # s, of the physics
LIGHT = 0.7  # kg, effective mass of a foot sphere in stiff friction
ANY_INERTIA = 1e-13  # kg m^2, keeps equations regular before anything is computed


class MuscleState(NamedTuple):
    """State of all muscles, (..., 22) each in the order of `MUSCLES`."""

    activation: Array  # 0.01 to 1
    length: Array  # length of the path from origin to insertion, m
    lengthening: Array  # its rate, m/s
    fibre_length: Array  # m
    fibre_velocity: Array  # m/s
    fibre_force: Array  # along the fibre, N
    tendon_force: Array  # N


class _Pose(NamedTuple):
    """Quantities derived from positions: knees, motion (..., c, 6), its leg part, paths."""

    knees: Knees
    motion: Array
    of_legs: Array
    paths: PathGeometry


class _Feet(NamedTuple):
    """Spheres of the feet, (..., 2, 3, s) or (..., 2, s)."""

    point: Array  # contact point, m
    arm: Array  # from the subtree's centre to it, m
    velocity: Array  # body velocity there, m/s
    load: Array  # normal force at rest, N
    normal: Array  # normal force, N
    drag: Array  # friction coefficient per slip speed, N s/m
    force: Array  # force on the foot, N


class WalkerBody:
    """A walker's mechanics: what both kinds of forces share."""

    @property
    def law(self) -> Thelen:
        raise NotImplementedError

    @property
    def strength(self) -> np.ndarray:
        """Largest isometric force of each muscle, (22,), N."""
        return np.tile(self.law.force, 2)

    @property
    def optimal_length(self) -> np.ndarray:
        """Optimal fibre length of each muscle, (22,), m."""
        return np.tile(self.law.fibre, 2)


@dataclass(frozen=True)
class Musculoskeletal(WalkerBody):
    """Walker body: its model, and its forces as task hooks.

    A task calls `memory`, `before_step`, `control` and `substep` in its hooks of the same names,
    with `control_every_substep`.
    """

    planar: bool = False  # restrict motion to the sagittal plane: 9 coordinates instead of 14
    control_timestep: float = 0.01  # s
    longest_step: float = LONGEST_STEP  # limit of the physics step, s
    held: bool = True  # whether coordinates that OpenSim locks are held at their values

    # Model.

    @property
    def free(self) -> tuple[str, ...]:
        return skeleton.free_coordinates(self.planar) if self.held else COORDINATES

    @property
    def substeps(self) -> int:
        return max(2, math.ceil(self.control_timestep / self.longest_step - WHOLE_TOLERANCE))

    @property
    def timestep(self) -> float:
        return self.control_timestep / self.substeps

    @property
    def law(self) -> Thelen:
        return self._laws.law

    @property
    def fastest(self) -> np.ndarray:
        """Largest speed of shortening of each muscle's fibre, (22,), m/s."""
        return np.tile(self._laws.law.fastest, 2)

    def model(self) -> Spec:
        spec = skeleton.compose(self.free, self.timestep)
        skeleton.draw_muscles(spec)
        return spec

    def place(self, v: SingleView, q: np.ndarray, u: np.ndarray | None = None) -> None:
        """Write a pose, and velocities or 0, as in `COORDINATES`, (17,) each, except held ones."""
        coordinates = self._laws.coordinates
        at = {name: i for i, name in enumerate(COORDINATES)}
        numbers = [at[name] for name in coordinates.free]
        angles, rates = (
            np.asarray(q)[numbers],
            np.zeros(len(numbers)) if u is None else np.asarray(u)[numbers],
        )
        at, sliding = coordinates.placed(angles, rates)
        v.qpos, v.qvel = coordinates.joined(angles, at), coordinates.joined(rates, sliding)

    # Hooks.

    def memory(self, v: View) -> Arrays:
        """Muscles in equilibrium at the start, at an activation of 0.05."""
        length = self._pose(v).paths.length
        activation = v.xp.zeros_like(length) + START_ACTIVATION
        fibre = self._laws.law.equilibrium(activation, length)
        return self.memory_of(v, _flat(activation), _flat(fibre))

    def memory_of(self, v: View, activation: Array, fibre: Array) -> Arrays:
        """Memory at the start, for activations and fibre lengths (m), (..., 22) each."""
        pose = self._pose(v)
        return {
            "muscle_excitation": activation,
            "muscle_activation": activation,
            "muscle_fibre_length": fibre,
            "muscle_length": _flat(pose.paths.length),
            "joint_force": self._drive(v, pose, _legs(fibre), self._filled(v, 0.5)),
            "substeps": self._filled(v, 0.0)[..., 0],
        }

    def before_step(self, v: View, excitation: Array) -> Arrays:
        """Store a control step's excitations, (..., 22) in the order of `MUSCLES`."""
        pose = self._pose(v)
        fibre = _legs(v.memory["muscle_fibre_length"])
        return {
            "muscle_excitation": excitation,
            "muscle_length": _flat(pose.paths.length),
            "joint_force": self._drive(v, pose, fibre, self._filled(v, 0.5)),
            "substeps": self._filled(v, 0.0)[..., 0],
        }

    def control(self, v: View) -> Array:
        """Generalised joint forces of the next physics step, (..., nu)."""
        return KILO * v.memory["joint_force"]

    def substep(self, v: View) -> Arrays:
        """Muscles after a physics step, and joint forces of the next one."""
        parts, memory, dt = self._laws, v.memory, self.timestep
        pose = self._pose(v)
        length = pose.paths.length
        before = memory["muscle_activation"]
        after = parts.activation.after(before, memory["muscle_excitation"], dt)
        fibre = parts.law.after(
            _legs(parts.activation.value(0.5 * (before + after))),
            0.5 * (_legs(memory["muscle_length"]) + length),
            _legs(memory["muscle_fibre_length"]),
            dt,
        )
        done = memory["substeps"] + 1.0
        last = v.xp.astype(done == self.substeps - 1, done.dtype)
        counts = 1.0 + 0.5 * last[..., None]
        return {
            "muscle_activation": after,
            "muscle_fibre_length": _flat(fibre),
            "muscle_length": _flat(length),
            "joint_force": self._drive(v, pose, fibre, counts),
            "substeps": done,
        }

    # Readings.

    def positions(self, v: View) -> Array:
        """All coordinates, including held ones, in the order of `COORDINATES`, (..., 17)."""
        return self._laws.coordinates.named(v.qpos, DEFAULTS)

    def speeds(self, v: View) -> Array:
        """Rates of all coordinates, in the order of `COORDINATES`, (..., 17)."""
        return self._laws.coordinates.named(v.qvel, np.zeros(len(COORDINATES)))

    def accelerations(self, v: View) -> Array:
        """Accelerations of all coordinates, in the order of `COORDINATES`, (..., 17)."""
        coordinates = self._laws.coordinates
        fibre = _legs(v.memory["muscle_fibre_length"])
        inertia, _, force = self._forces(v, self._pose(v), fibre, self._filled(v, 0.0))
        return coordinates.shown(v.xp.linalg.solve(inertia, force[..., None])[..., 0])

    def activation(self, v: View) -> Array:
        """Muscle activations, (..., 22), in the order of `MUSCLES`."""
        return self._laws.activation.value(v.memory["muscle_activation"])

    def muscles(self, v: View) -> MuscleState:
        """Compute lengths, speeds and forces of the muscles."""
        parts = self._laws
        pose = self._pose(v)
        length = pose.paths.length
        rates = parts.coordinates.by_leg(parts.coordinates.taken(v.qvel))
        slopes = parts.paths.slopes(pose.paths, pose.of_legs)
        lengthening = total(slopes.mT * rates[..., None, :])
        activation = _legs(self.activation(v))
        fibre = _legs(v.memory["muscle_fibre_length"])
        tendon = parts.law.stretched(length, fibre)
        tension = tendon.force * alongside(parts.law.force, fibre)
        velocity = parts.law.velocity(activation, length, fibre)
        force = tension / tendon.cos
        return MuscleState(
            *map(_flat, (activation, length, lengthening, fibre, velocity, force, tension))
        )

    def moment_arms(self, v: View) -> Array:
        """Moment arms of muscles about the coordinates of their legs, (..., 2, c, 11), m."""
        pose = self._pose(v)
        return -self._laws.paths.slopes(pose.paths, pose.of_legs)

    def limit_torques(self, v: View) -> Array:
        """Torques of the legs' coordinate limits, (..., 2, c), N m."""
        coordinates = self._laws.coordinates
        q, u = (coordinates.by_leg(coordinates.taken(x)) for x in (v.qpos, v.qvel))
        return self._laws.limits.torque(q, u)[0]

    def reactions(self, v: View) -> Array:
        """Ground reaction forces on the right and the left foot, world axes, (..., 2, 3), N."""
        return total(self._feet(v).force)

    def reaction_wrenches(self, v: View) -> Array:
        """Reactions with their moments about the world's origin (N m), (..., 2, 6)."""
        feet = self._feet(v)
        moment = total(cross_rows(feet.point, feet.force))
        return v.xp.concat([total(feet.force), moment], axis=-1)

    # Computation.

    @property
    def _laws(self) -> "_Laws":
        return _laws(self.planar, self.held)

    @staticmethod
    def _filled(v: View, number: float) -> Array:
        return v.xp.full((*v.lead, 1), number, dtype=v.xp.float64)

    def _pose(self, v: View) -> _Pose:
        parts, xp = self._laws, v.xp
        coordinates = parts.coordinates
        q = coordinates.taken(v.qpos)
        knees = coordinates.knees(q)
        place = columns(v.xpos, parts.bodies, -2) - v.subtree_com[..., 1:2, :]
        axes = columns(v.xmat, parts.bodies, -2)
        frames = xp.concat([place, axes], axis=-1)
        frames = columns(reshaped(frames, (*frames.shape[:-2], -1)), parts.frames)
        frames = reshaped(frames, (*frames.shape[:-1], len(SIDES), 3, -1))
        paths = parts.paths.geometry(
            frames, coordinates.by_leg(q), knees.values[..., 2:], knees.slopes[..., 2:]
        )
        motion = coordinates.motion(v.cdof, knees)
        legs = coordinates.legs
        of_legs = columns(motion, legs.reshape(-1), -2)
        of_legs = reshaped(of_legs, (*motion.shape[:-2], *legs.shape, 6))
        return _Pose(knees, motion, of_legs, paths)

    def _drive(self, v: View, pose: _Pose, fibre: Array, counts: Array) -> Array:
        """Joint forces for the next physics step, (..., j), kN or kN m.

        Args:
            fibre: fibre lengths, (..., 2, 11), m.
            counts: number of steps for which accelerations apply, (..., 1).
        """
        coordinates, dt = self._laws.coordinates, self.timestep
        inertia, joints, force = self._forces(v, pose, fibre, counts * dt)
        gained = v.xp.linalg.solve(inertia, force[..., None])[..., 0]
        change = counts * gained
        rates = coordinates.taken(v.qvel) + dt * change
        sliding = coordinates.sliding(pose.knees, coordinates.slides(v.qpos), rates, dt)
        wanted = coordinates.joined(change, (sliding - coordinates.slides(v.qvel)) / dt)
        return (total(joints * wanted[..., None, :]) + v.qfrc_bias) / KILO

    def _forces(
        self, v: View, pose: _Pose, fibre: Array, time: Array
    ) -> tuple[Array, Array, Array]:
        """Compute the inertia of the free coordinates, that of all joints, and the forces.

        The first includes what the forces damp over a time (..., 1).
        """
        parts, xp = self._laws, v.xp
        coordinates = parts.coordinates
        q, u = coordinates.taken(v.qpos), coordinates.taken(v.qvel)
        equations = coordinates.equations(v, pose.knees, u)
        tension = parts.law.stretched(pose.paths.length, fibre).force
        tension = tension * alongside(parts.law.force, fibre)
        torque = parts.paths.torques(pose.paths, pose.of_legs, tension)
        limit, damper = parts.limits.torque(coordinates.by_leg(q), coordinates.by_leg(u))
        force = coordinates.from_legs(torque + limit) - equations.bias
        # Ground forces, by the Jacobians of the contact points: (..., 2, 3 s, w).
        feet = self._feet(v)
        foot_motion = columns(pose.motion, coordinates.feet.reshape(-1), -2)
        foot_motion = reshaped(foot_motion, (*foot_motion.shape[:-2], *coordinates.feet.shape, 6))
        arm = reshaped(feet.arm, (*feet.arm.shape[:-2], -1))
        numbers = xp.concat([xp.zeros_like(arm[..., :1]), arm, -arm], axis=-1)
        numbers = xp.concat([numbers, xp.ones_like(arm[..., :1])], axis=-1)
        lever = columns(numbers, parts.lever)
        lever = reshaped(lever, (*lever.shape[:-1], -1, 6))
        jacobian = xp.matmul(lever, foot_motion.mT)
        along, aslant, normal = self._damping(v, feet)
        x, y = feet.velocity[..., 0, :], feet.velocity[..., 1, :]
        s = parts.radii.size
        up = jacobian[..., 2 * s :, :]
        slip = xp.concat([aslant * x, aslant * y], axis=-1)[..., None]
        stuck = xp.concat([along, along], axis=-1)[..., None]
        damped = xp.concat(
            [
                stuck * jacobian[..., : 2 * s, :] - slip * xp.concat([up, up], axis=-2),
                normal[..., None] * up,
            ],
            axis=-2,
        )
        pushing = reshaped(feet.force, (*feet.force.shape[:-2], -1, 1))
        both = xp.matmul(jacobian.mT, xp.concat([damped, pushing], axis=-1))
        force = force + coordinates.from_feet(both[..., -1])
        damping = coordinates.matrix_from_feet(both[..., :-1])
        eye = alongside(parts.eye, damping)
        damping = damping + eye * (0.5 * coordinates.from_legs(damper))[..., None, :]
        inertia = equations.inertia + ANY_INERTIA * eye + time[..., None] * damping
        return inertia, equations.joints, force

    def _damping(self, v: View, feet: _Feet) -> tuple[Array, Array, Array]:
        """Velocity derivatives of the ground forces, over the look-ahead of a step."""
        law = self._laws.contact
        # A stiff force is taken at the end of the step, others at its middle.
        stiffness = (self.timestep / LIGHT) * feet.drag
        along = feet.drag * (1.0 + stiffness) / (2.0 + stiffness)
        normal = (0.75 * law.dissipation) * v.xp.where(feet.normal > 0, feet.load, 0.0)
        x, y = feet.velocity[..., 0, :], feet.velocity[..., 1, :]
        slip = v.xp.clip(v.xp.sqrt(x * x + y * y), law.slip, None)
        return along, law.friction * normal / slip, normal

    def _feet(self, v: View) -> _Feet:
        parts, xp = self._laws, v.xp
        talus = parts.feet
        axes = columns(v.xmat, talus, -2)[..., None]
        place = columns(v.xpos, talus, -2)[..., None]
        sphere = alongside(parts.spheres, axes)
        x, y, z = (sphere[:, i : i + 1, :] for i in (0, 1, 2))
        point = place + axes[..., 0::3, :] * x + axes[..., 1::3, :] * y + axes[..., 2::3, :] * z
        law, radius = parts.contact, alongside(parts.radii, axes)
        depth = law.depth(point[..., 2, :], radius)
        # Middle of the overlap, below the ground.
        point = xp.stack([point[..., 0, :], point[..., 1, :], -0.5 * depth], axis=-2)
        arm = point - v.subtree_com[..., 1, None, :, None]
        motion = columns(v.cvel, talus, -2)[..., None]
        velocity = motion[..., 3:6, :] + cross_rows(motion[..., 0:3, :], arm)
        x, y = velocity[..., 0, :], velocity[..., 1, :]
        load = law.load(depth, radius)
        normal = law.normal(load, -velocity[..., 2, :])
        drag = law.drag(normal, xp.sqrt(x * x + y * y))
        force = xp.stack([-drag * x, -drag * y, normal], axis=-2)
        return _Feet(point, arm, velocity, load, normal, drag, force)


# In a row of a body's position and rotation matrix, the rows of its frame: x, y and z of the
# position and of the three axes.
_FRAME = np.array([[0, 3, 4, 5], [1, 6, 7, 8], [2, 9, 10, 11]])[:, None, :]


def _lever(spheres: int) -> np.ndarray:
    """Indices in [0, arms, -arms, 1] of the matrices (3 s, 6) by which points move with a body."""
    place = np.zeros((3, spheres, 6), dtype=np.int64)
    arms = 1 + np.arange(3 * spheres).reshape(3, spheres)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        place[i, :, j] = arms[k]  # cross product of rotation and arm
        place[i, :, k] = arms[j] + 3 * spheres
        place[i, :, 3 + i] = 1 + 6 * spheres
    return place.reshape(-1)


class _Laws:
    """Parameterised laws of a model, and its array indices."""

    def __init__(self, planar: bool, held: bool) -> None:
        free = skeleton.free_coordinates(planar) if held else COORDINATES
        self.coordinates = Coordinates(free)
        self.law, self.activation = skeleton.muscles()
        self.paths, self.limits = skeleton.paths(free), skeleton.limits(free)
        self.contact, self.spheres, self.radii = skeleton.spheres()
        names = [skeleton.on_side(body, side) for side in SIDES for body in skeleton.LEG_BODIES]
        self.bodies = np.array([skeleton.BODIES.index(name) + 1 for name in names])  # no world
        self.feet = np.array([skeleton.BODIES.index(f"talus_{side}") + 1 for side in SIDES])
        frames = 12 * np.arange(self.bodies.size).reshape(len(SIDES), 1, -1, 1) + _FRAME
        self.frames, self.lever = frames.reshape(-1), _lever(self.radii.size)
        self.eye = np.eye(len(free))


_laws = functools.cache(_Laws)


def _legs(values: Array) -> Array:
    """(..., 2 n) to (..., 2, n)."""
    return reshaped(values, (*values.shape[:-1], 2, values.shape[-1] // 2))


def _flat(values: Array) -> Array:
    """(..., 2, n) to (..., 2 n)."""
    return reshaped(values, (*values.shape[:-2], values.shape[-2] * values.shape[-1]))
