"""The walker's forces as OpenSim has them, on MuJoCo's rigid bodies.

Before each physics step the generalised forces of muscles, limits and contacts give the
accelerations of the free coordinates, by the inertia and the bias forces that MuJoCo has computed.
The tibia's slides are no coordinates of their own: they follow from the knee's angle by splines.
Motors drive every joint, the slides too, so that MuJoCo's step ends with the velocities that follow
and with the slides in their place. Friction and the dampers of contact are stiff: they are taken
implicitly.

After each physics step the muscles' paths are looked at again, and fibres and activations move on.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, columns, namespace, reshaped, total
from mjgym.mjcf import Spec
from mjgym.muscles import Activation, CoordinateLimits, Paths, SpheresOnPlane, Thelen
from mjgym.sim.single import SingleView
from mjgym.sim.views import View
from mjgym.task import Arrays
from mjgym.tasks.l2m import skeleton
from mjgym.tasks.l2m.skeleton import COORDINATES, DEFAULTS, MUSCLES, SIDES, SLIDES

__all__ = ["ACTION_TO_MODEL", "COORDINATES", "MUSCLES", "MuscleState", "Musculoskeletal"]

_OF_A_LEG = ("abd", "add", "iliopsoas", "glut_max", "hamstrings", "rect_fem", "vasti", "bifemsh")
ACTION_ORDER = tuple(
    f"{name}_{side}" for side in SIDES for name in (*_OF_A_LEG, "gastroc", "soleus", "tib_ant")
)
"""The muscles in the order of the published action."""

ACTION_TO_MODEL = np.array([ACTION_ORDER.index(name) for name in MUSCLES])
"""The published action's numbers in the model's order: `action[..., ACTION_TO_MODEL]`."""

START_ACTIVATION = 0.05


class MuscleState(NamedTuple):
    """The state of all muscles, (..., 22) each in the order of `MUSCLES`.

    Attributes:
        activation: 0 to 1.
        length: of the path from origin to insertion, m.
        lengthening: its rate, m/s.
        fibre_length: m.
        fibre_velocity: m/s.
        fibre_force: along the fibre, N.
        tendon_force: N.
    """

    activation: Array
    length: Array
    lengthening: Array
    fibre_length: Array
    fibre_velocity: Array
    fibre_force: Array
    tendon_force: Array


class _Layout:
    """Where everything is in the arrays of the model with some free coordinates."""

    def __init__(self, free: tuple[str, ...]) -> None:
        joints = skeleton.joints(free)
        self.joints = joints
        self.free = tuple(name for name in joints if name in free)  # in the order of the joints
        self.kept = np.array([joints.index(name) for name in self.free])
        self.root = [name for name in self.free if not _leg_of(name) and name != "lumbar_extension"]
        names = skeleton.leg_coordinates(free)
        self.legs = np.array([[self.free.index(f"{n}_{s}") for n in names] for s in SIDES])
        self.knee = names.index("knee_angle")
        self.knees = self.legs[:, self.knee]
        self.slides = np.array([[joints.index(skeleton.slide(a, s)) for a in SLIDES] for s in SIDES])
        # Of each reduced coordinate, the slide that goes with it, or itself.
        self.with_x, self.with_y = self.kept.copy(), self.kept.copy()
        self.with_x[self.knees], self.with_y[self.knees] = self.slides.T
        # Of each coordinate of OpenSim's, the joint, or -1 where it is held.
        self.coordinates = np.array([joints.index(n) if n in joints else -1 for n in COORDINATES])
        # What moves a foot: the root and its leg.
        roots = [self.free.index(name) for name in self.root]
        self.foot = np.array([[*roots, *leg] for leg in self.legs])
        # Places of each foot's coordinates in a matrix of all, counted from 1; 0 for none.
        n, width = len(self.free), self.foot.shape[1]
        place = np.zeros((2, n), dtype=np.int64) - 1
        for side in (0, 1):
            place[side, self.foot[side]] = np.arange(width)
        both = (place[:, :, None] >= 0) & (place[:, None, :] >= 0)
        at = place[:, :, None] * width + place[:, None, :] + 1
        self.of_feet = np.where(both, at, 0).reshape(2, -1)
        self.of_foot = np.where(place >= 0, place + 1, 0)
        # Of each coordinate of all, its leg's torque, counted from 1; 0 for none.
        self.of_leg = np.zeros(n, dtype=np.int64)
        for k, i in enumerate(self.legs.reshape(-1)):
            self.of_leg[i] = k + 1


def _leg_of(name: str) -> str:
    return name[-1] if name[-2:] in ("_r", "_l") else ""


@dataclass(frozen=True)
class Musculoskeletal:
    """The body of the walker: its model, and its forces as hooks of a task.

    Args:
        planar: whether it moves in the plane of walking alone: 9 coordinates instead of 14.
        timestep: of the physics, s.
        held: whether OpenSim's locked coordinates are held at their values.
    """

    planar: bool = False
    timestep: float = 0.0004
    held: bool = True

    # What there is.

    @property
    def free(self) -> tuple[str, ...]:
        """The coordinates that move."""
        return skeleton.free_coordinates(self.planar) if self.held else COORDINATES

    @property
    def strength(self) -> np.ndarray:
        """The largest isometric force of each muscle, (22,), N."""
        return np.tile(self.law.force, 2)

    @property
    def optimal_length(self) -> np.ndarray:
        """The optimal fibre length of each muscle, (22,), m."""
        return np.tile(self.law.fibre, 2)

    @property
    def fastest(self) -> np.ndarray:
        """The largest speed of shortening of each muscle's fibre, (22,), m/s."""
        return np.tile(self.law.fastest, 2)

    @property
    def law(self) -> Thelen:
        """The muscles of a leg."""
        return _parts(self.free).law

    def model(self) -> Spec:
        """The walker on its ground."""
        return skeleton.compose(self.free, self.timestep)

    def place(self, v: SingleView, q: np.ndarray, u: np.ndarray | None = None) -> None:
        """Write a pose, and velocities or 0, in the order of `COORDINATES`, (17,) each.

        Coordinates that are held stay where they are.
        """
        layout = _parts(self.free).layout
        u = np.zeros(len(COORDINATES)) if u is None else u
        for i, joint in enumerate(layout.coordinates):
            if joint >= 0:
                v.qpos[joint], v.qvel[joint] = q[i], u[i]
        knees = layout.kept[layout.knees]
        values, slopes, _ = skeleton.knee()(v.qpos[knees])
        v.qpos[layout.slides] = values[:, :2]
        v.qvel[layout.slides] = slopes[:, :2] * v.qvel[knees][:, None]

    # Hooks.

    def memory(self, v: View) -> Arrays:
        """Muscles in equilibrium at the start, at an activation of 0.05."""
        parts = _parts(self.free)
        paths = self._paths(v)
        activation = v.xp.zeros_like(paths.length) + START_ACTIVATION
        fibre = parts.law.equilibrium(activation, paths.length)
        return {
            "muscle_excitation": _flat(activation),
            "muscle_activation": _flat(activation),
            "muscle_fibre_length": _flat(fibre),
            "muscle_length": _flat(paths.length),
            "muscle_torque": self._torque(paths, self._tension(paths.length, fibre)),
            "muscle_steps": v.xp.zeros(v.lead),
        }

    def before_step(self, v: View, excitation: Array) -> Arrays:
        """What a control step begins with: excitations (..., 22), in the order of `MUSCLES`."""
        parts = _parts(self.free)
        paths = self._paths(v)
        fibre = _legs(v.memory["muscle_fibre_length"])
        return {
            "muscle_excitation": excitation,
            "muscle_length": _flat(paths.length),
            "muscle_torque": self._torque(paths, self._tension(paths.length, fibre)),
            "muscle_steps": v.xp.zeros(v.lead),
        }

    def control(self, v: View) -> Array:
        """The joints' generalised forces by which MuJoCo's step does what it should, (..., nu)."""
        layout = _parts(self.free).layout
        dt = self.timestep
        state = self._rigid(v)
        import os
        TH = float(os.environ.get("TH", "1"))
        damping, force = self._contact(v, state, 1.0)
        kick = dt * self._kick(v)[..., None]
        gained = v.xp.linalg.solve(state.inertia + (TH * kick[..., None]) * damping, force[..., None])[..., 0]
        u = state.u + kick * gained
        # The slides arrive where the knees' new angles have them.
        knees = columns(state.q + dt * u, layout.knees)
        values, _, _ = skeleton.knee()(knees)
        at = columns(v.qpos, layout.slides.reshape(-1))
        slid = (_flat(values[..., :2]) - at) / dt
        order = np.argsort([*layout.kept, *layout.slides.reshape(-1)])
        wanted = columns(v.xp.concat([u, slid], axis=-1), order)
        rate = (wanted - v.qvel) / dt
        inertia = v.inertia(layout.joints)
        return total(inertia * rate[..., None, :]) + v.qfrc_bias

    def _kick(self, v: View) -> Array:
        """For how many physics steps accelerations count in this one: 1/2 first and 3/2 last."""
        done = v.memory["muscle_steps"]
        steps = round(0.01 / self.timestep)
        return 1.0 - 0.5 * (done == 0) + 0.5 * (done == steps - 1)

    def substep(self, v: View) -> Arrays:
        """The muscles after a physics step."""
        parts, memory = _parts(self.free), v.memory
        paths = self._paths(v)
        before = memory["muscle_activation"]
        after = parts.activation.after(before, memory["muscle_excitation"], self.timestep)
        halfway = 0.5 * (_legs(memory["muscle_length"]) + paths.length)
        fibre = parts.law.after(
            _legs(parts.activation.value(0.5 * (before + after))),
            halfway,
            _legs(memory["muscle_fibre_length"]),
            self.timestep,
        )
        return {
            "muscle_steps": memory["muscle_steps"] + 1.0,
            "muscle_activation": after,
            "muscle_fibre_length": _flat(fibre),
            "muscle_length": _flat(paths.length),
            "muscle_torque": self._torque(paths, self._tension(paths.length, fibre)),
        }

    # What can be read at any time.

    def positions(self, v: View) -> Array:
        """All coordinates, held ones too, in the order of `COORDINATES`, (..., 17)."""
        return self._all(v.qpos, DEFAULTS if self.held else np.zeros(len(COORDINATES)))

    def speeds(self, v: View) -> Array:
        """The rates of all coordinates, in the order of `COORDINATES`, (..., 17)."""
        return self._all(v.qvel, np.zeros(len(COORDINATES)))

    def accelerations(self, v: View) -> Array:
        """The accelerations of all coordinates, in the order of `COORDINATES`, (..., 17)."""
        layout = _parts(self.free).layout
        state = self._rigid(v)
        _, force = self._contact(v, state, 0.0)
        gained = v.xp.linalg.solve(state.inertia, force[..., None])[..., 0]
        order = [layout.free.index(n) + 1 if n in layout.free else 0 for n in COORDINATES]
        padded = v.xp.concat([v.xp.zeros_like(gained[..., :1]), gained], axis=-1)
        return columns(padded, order)

    def activation(self, v: View) -> Array:
        """The muscles' activations, (..., 22), in the order of `MUSCLES`."""
        return _parts(self.free).activation.value(v.memory["muscle_activation"])

    def muscles(self, v: View) -> MuscleState:
        """The state of the muscles."""
        parts, memory = _parts(self.free), v.memory
        paths = self._paths(v)
        slopes = parts.paths.slopes(paths.geometry, paths.motion)
        u = columns(v.qvel, parts.layout.kept)
        legs = self._of_legs(u)
        lengthening = v.xp.sum(slopes * legs[..., :, None], axis=-2)
        activation = _legs(self.activation(v))
        fibre = _legs(memory["muscle_fibre_length"])
        tendon = parts.law.stretched(paths.length, fibre)
        tension = tendon.force * alongside(parts.law.force, fibre)
        velocity = parts.law.velocity(activation, paths.length, fibre)
        return MuscleState(
            *map(_flat, (activation, paths.length, lengthening, fibre, velocity)),
            fibre_force=_flat(tension / tendon.cos),
            tendon_force=_flat(tension),
        )

    def moment_arms(self, v: View) -> Array:
        """How the paths shorten with the coordinates of their legs, (..., 2, c, 11), m/rad."""
        parts = _parts(self.free)
        paths = self._paths(v)
        return -parts.paths.slopes(paths.geometry, paths.motion)

    def limit_torques(self, v: View) -> Array:
        """Torques at the limits of the legs' coordinates, (..., 2, c), N m."""
        q, u = (columns(x, _parts(self.free).layout.kept) for x in (v.qpos, v.qvel))
        return _parts(self.free).limits.torque(self._of_legs(q), self._of_legs(u))[0]

    def reactions(self, v: View) -> Array:
        """The ground's forces on the right and the left foot, world axes, (..., 2, 3), N."""
        return total(self._feet(v).force)

    def reaction_wrenches(self, v: View) -> Array:
        """The same with their moments about the world's origin (N m) behind, (..., 2, 6)."""
        feet = self._feet(v)
        moment = total(_cross_rows(feet.point, feet.force))
        return v.xp.concat([total(feet.force), moment], axis=-1)

    # How it is computed.

    def _all(self, values: Array, held: np.ndarray) -> Array:
        xp = namespace(values)
        joints = _parts(self.free).layout.coordinates
        given = columns(values, np.maximum(joints, 0))
        return xp.where(alongside(joints >= 0, given), given, alongside(held, given))

    def _of_legs(self, values: Array) -> Array:
        """Of values of the free coordinates, those of each leg, (..., 2, c)."""
        legs = _parts(self.free).layout.legs
        return reshaped(columns(values, legs.reshape(-1)), (*values.shape[:-1], *legs.shape))

    def _motion(self, v: View, slopes: Array) -> Array:
        """How bodies move with the free coordinates, (..., c, 6), about the subtree's centre."""
        layout = _parts(self.free).layout
        xp = v.xp
        own = v.cdof[..., layout.kept, :] if False else columns(v.cdof, layout.kept, -2)
        # The slides go with the knees.
        x, y = (columns(v.cdof, layout.slides[:, i], -2) for i in (0, 1))
        more = x * slopes[..., :, 0:1] + y * slopes[..., :, 1:2]
        padded = xp.concat([xp.zeros_like(more[..., :1, :]), more], axis=-2)
        return own + columns(padded, _parts(self.free).knee_rows, -2)

    def _paths(self, v: View) -> "_PathState":
        parts, xp = _parts(self.free), v.xp
        layout = parts.layout
        q = self._of_legs(columns(v.qpos, layout.kept))
        values, slopes, _ = skeleton.knee()(q[..., layout.knee])
        bodies = parts.bodies
        names = tuple(name for side in SIDES for name in parts.bodies[side])
        centre = v.subtree_com[..., 1:2, :]
        del bodies
        place = v.take("xpos", names) - centre
        turned = v.take("xmat", names)
        lead = place.shape[:-2]
        turned = reshaped(turned, (*lead, len(names), 3, 3))
        turned = xp.reshape(turned.mT, (*lead, len(names), 9))
        frames = reshaped(xp.concat([place, turned], axis=-1), (*lead, 2, -1, 12)).mT
        geometry = parts.paths.geometry(frames, q, values[..., 2:], slopes[..., 2:])
        motion = self._motion(v, slopes)
        legs = layout.legs
        own = columns(motion, legs.reshape(-1), -2)
        own = reshaped(own, (*lead, *legs.shape, 6))
        return _PathState(geometry.length, geometry, own)

    def _tension(self, length: Array, fibre: Array) -> Array:
        """The tendons' forces, (..., 2, 11), N."""
        law = self.law
        return law.stretched(length, fibre).force * alongside(law.force, fibre)

    def _torque(self, paths: "_PathState", tension: Array) -> Array:
        """The muscles' generalised forces on the legs' coordinates, (..., 2 c)."""
        slopes = _parts(self.free).paths.slopes(paths.geometry, paths.motion)
        return _flat(-total(slopes * tension[..., None, :]))

    def _rigid(self, v: View) -> "_Rigid":
        """The free coordinates, their inertia, and all forces but the ground's."""
        parts, xp = _parts(self.free), v.xp
        layout = parts.layout
        q, u = columns(v.qpos, layout.kept), columns(v.qvel, layout.kept)
        knees = columns(q, layout.knees)
        _, slopes, bends = skeleton.knee()(knees)
        # Slope of each coordinate's slides, 0 where it is no knee: (..., c).
        along = [
            columns(xp.concat([xp.zeros_like(knees[..., :1]), slopes[..., i]], axis=-1), parts.knee_rows)
            for i in (0, 1)
        ]
        inertia = v.inertia(layout.joints)
        bias = v.qfrc_bias
        rates = columns(u, layout.knees)
        turning = bends[..., :2] * (rates * rates)[..., None]
        pushed = columns(inertia, layout.slides.reshape(-1))
        bias = bias + total(pushed * _flat(turning)[..., None, :])
        wide = inertia
        folded = self._folded(wide, along)
        folded = self._folded(folded.mT, along)
        bias = (
            columns(bias, layout.kept)
            + along[0] * columns(bias, layout.with_x)
            + along[1] * columns(bias, layout.with_y)
        )
        legs_q, legs_u = self._of_legs(q), self._of_legs(u)
        held, damper = parts.limits.torque(legs_q, legs_u)
        torque = v.memory["muscle_torque"] + _flat(held)
        damper = _flat(damper)
        damper = columns(xp.concat([xp.zeros_like(damper[..., :1]), damper], axis=-1), layout.of_leg)
        padded = xp.concat([xp.zeros_like(torque[..., :1]), torque], axis=-1)
        force = columns(padded, layout.of_leg) - bias
        return _Rigid(q, u, folded, force, self._motion(v, slopes), damper)

    def _folded(self, matrix: Array, along: list[Array]) -> Array:
        """The columns of the free coordinates, with those of the slides that go with them."""
        layout = _parts(self.free).layout
        return (
            columns(matrix, layout.kept)
            + along[0][..., None, :] * columns(matrix, layout.with_x)
            + along[1][..., None, :] * columns(matrix, layout.with_y)
        )

    def _feet(self, v: View) -> "_Feet":
        """The ground's forces on the spheres of the feet."""
        parts, xp = _parts(self.free), v.xp
        lead = v.lead
        turned = reshaped(v.take("xmat", parts.feet), (*lead, 2, 3, 3))
        place = v.take("xpos", parts.feet)
        spheres = alongside(parts.spheres, turned)
        point = place[..., :, None] + (
            turned[..., 0:1] * spheres[:, 0:1, :]
            + turned[..., 1:2] * spheres[:, 1:2, :]
            + turned[..., 2:3] * spheres[:, 2:3, :]
        )
        law, radius = parts.contact, alongside(parts.radii, turned)
        depth = law.depth(point[..., 2, :], radius)
        # Midway in the overlap, below the ground.
        point = xp.stack([point[..., 0, :], point[..., 1, :], -0.5 * depth], axis=-2)
        motion = v.take("cvel", parts.feet)
        arm = point - v.subtree_com[..., 1, :][..., None, :, None]
        velocity = motion[..., 3:6, None] + _cross_rows(motion[..., 0:3, None], arm)
        normal = law.normal(law.load(depth, radius), -velocity[..., 2, :])
        x, y = velocity[..., 0, :], velocity[..., 1, :]
        drag = law.drag(normal, xp.sqrt(x * x + y * y))
        force = xp.stack([-drag * x, -drag * y, normal], axis=-2)
        return _Feet(point, arm, force, drag, normal, velocity)

    def _contact(self, v: View, state: "_Rigid", dt: float) -> tuple[Array, Array]:
        """Damping of contacts in a step of time dt as inertia, and all forces, (..., c, c), (..., c)."""
        parts, xp = _parts(self.free), v.xp
        layout = parts.layout
        feet = self._feet(v)
        n, width = len(layout.free), layout.foot.shape[1]
        motion = columns(state.motion, layout.foot.reshape(-1), -2)
        motion = reshaped(motion, (*v.lead, 2, width, 6))
        moment = total(_cross_rows(feet.arm, feet.force))
        wrench = xp.concat([moment, total(feet.force)], axis=-1)
        each = total(motion * wrench[..., None, :])
        padded = xp.concat([xp.zeros_like(each[..., :1]), each], axis=-1)
        force = state.force
        for side in (0, 1):
            force = force + columns(padded[..., side, :], layout.of_foot[side])
        if not dt:
            return xp.zeros_like(state.inertia), force
        # Jacobians of the points of contact, (..., 2, 3 spheres x 3 axes, width).
        turning, moving = motion[..., 0:3].mT, motion[..., 3:6].mT  # (..., 2, 3, width)
        rows = []
        depth_law = parts.contact
        slope = 1.5 * depth_law.dissipation * depth_law.load(-2.0 * feet.point[..., 2, :], alongside(parts.radii, feet.drag))
        slope = xp.where(feet.normal > 0, slope, 0.0)
        import os
        MODE = os.environ.get("MODE", "0"); ME = float(os.environ.get("ME", ".7"))
        left = []
        h = self.timestep
        for sphere in range(parts.radii.size):
            jacobian = moving + _cross_rows(turning, feet.arm[..., sphere : sphere + 1])
            dr, sl, f = feet.drag[..., sphere], slope[..., sphere], feet.normal[..., sphere]
            vx, vy = feet.velocity[..., 0, sphere], feet.velocity[..., 1, sphere]
            speed = xp.sqrt(vx * vx + vy * vy)
            top = xp.clip(speed, 0.1, None)
            th_t = th_n = 1.0
            if "t" in MODE:
                z = h * dr / ME
                th_t = (1 + z) / (2 + z)
            if "h" in MODE: th_t = 0.5
            if "n" in MODE:
                th_n = .5
            w = 0.0
            if "j" in MODE:
                w = 1.0 * (speed > 0.1 + 1.5 * h * 0.8 * f / ME)
            cx = 0.0
            if "x" in MODE:
                cx = -0.8 * sl / top * th_n
            C = xp.zeros((*speed.shape, 3, 3))
            tx, ty = vx / top, vy / top
            C[..., 0, 0] = th_t * dr * (1 - w * tx * tx)
            C[..., 1, 1] = th_t * dr * (1 - w * ty * ty)
            C[..., 0, 1] = C[..., 1, 0] = -th_t * dr * w * tx * ty
            C[..., 2, 2] = th_n * sl
            C[..., 0, 2] = cx * vx
            C[..., 1, 2] = cx * vy
            rows.append(jacobian)
            left.append(C @ jacobian)
        damping = xp.matmul(xp.concat(rows, axis=-2).mT, xp.concat(left, axis=-2))
        flat = reshaped(damping, (*v.lead, 2, width * width))
        flat = xp.concat([xp.zeros_like(flat[..., :1]), flat], axis=-1)
        both = columns(flat[..., 0, :], layout.of_feet[0]) + columns(flat[..., 1, :], layout.of_feet[1])
        both = reshaped(both, (*v.lead, n, n))
        if "l" in MODE: both = both + 0.5*np.eye(n)*state.damper[..., None, :]
        return both, force


class _PathState(NamedTuple):
    length: Array
    geometry: object
    motion: Array


class _Rigid(NamedTuple):
    """q, u, inertia and force of the free coordinates, and how bodies move with them."""

    q: Array
    u: Array
    inertia: Array
    force: Array
    motion: Array
    damper: Array


class _Feet(NamedTuple):
    """Of each foot's spheres, (..., 2, 3, spheres) or (..., 2, spheres)."""

    point: Array
    arm: Array
    force: Array
    drag: Array
    normal: Array
    velocity: Array


@dataclass(frozen=True, eq=False)
class _Parts:
    layout: _Layout
    law: Thelen
    activation: Activation
    paths: Paths
    limits: CoordinateLimits
    contact: SpheresOnPlane
    spheres: np.ndarray
    radii: np.ndarray
    feet: tuple[str, ...]
    bodies: dict[str, tuple[str, ...]]
    knee_rows: np.ndarray


@functools.cache
def _parts(free: tuple[str, ...]) -> _Parts:
    layout = _Layout(free)
    contact, spheres, radii = skeleton.spheres()
    rows = np.zeros(len(free), dtype=np.int64)
    rows[layout.knees] = 1 + np.arange(len(SIDES))
    bodies = {
        side: tuple(b if b == "pelvis" else f"{b}_{side}" for b in skeleton.LEG_BODIES)
        for side in SIDES
    }
    return _Parts(
        layout, *skeleton.muscles(), skeleton.paths(free), skeleton.limits(free), contact, spheres,
        radii, tuple(f"talus_{side}" for side in SIDES), bodies, rows,
    )  # fmt: skip


def _legs(values: Array) -> Array:
    """(..., 2 n) to (..., 2, n)."""
    return reshaped(values, (*values.shape[:-1], 2, values.shape[-1] // 2))


def _flat(values: Array) -> Array:
    """(..., 2, n) to (..., 2 n)."""
    return reshaped(values, (*values.shape[:-2], values.shape[-2] * values.shape[-1]))


def _cross_rows(a: Array, b: Array) -> Array:
    """The cross product of vectors along the last but one axis."""
    xp = namespace(a, b)
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-2)
