"""The walker with MuJoCo's muscles, contacts and constraints, for speed.

Bones and joints are those of `mjgym.tasks.l2m.skeleton`. `assets/l2m/fast.toml`, written by
`scripts/fit_fast_walker.py`, holds the differences:

| OpenSim | here |
|---|---|
| the tibia slides by splines of the knee angle | polynomials, kept by equality constraints |
| conditional path points | wrapping cylinders |
| path points move with the knee | a kneecap that slides by polynomials of the knee angle |
| Thelen's muscle on an elastic tendon | MuJoCo's muscle on a stiff one, fitted to static forces |
| limits: a smooth onset of spring and damper | two one-sided springs with dampers |
| Hunt and Crossley's contact | MuJoCo's soft contact, fitted to recorded reactions |
"""

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import Array, alongside, columns, namespace, reshaped
from mjgym.mjcf import Spec
from mjgym.muscles import Thelen
from mjgym.muscles.thelen import TOE_FORCE, TOE_SHAPE
from mjgym.sim import SingleView, View
from mjgym.task import Arrays
from mjgym.tasks.l2m import skeleton
from mjgym.tasks.l2m.musculoskeletal import START_ACTIVATION, MuscleState, WalkerBody
from mjgym.tasks.l2m.skeleton import COORDINATES, DEFAULTS, MUSCLES, SIDES, SLIDES

KNEECAP = "patella"
RANGE = (0.5, 1.5)  # range of normalized lengths in MuJoCo's muscle
NET_FORCE = (2, 3, 1)  # contact sensor setting: the total force of all contacts, in one row
BIG = 1e6  # N m, effectively unbounded torque
LEAST_LENGTH = 0.01  # fraction of the optimal fibre length, along the tendon


@functools.cache
def fitted() -> dict[str, Any]:
    return tomllib.loads(mjcf.asset_path("l2m/fast.toml").read_text(encoding="utf-8"))


def kneecap_slide(axis: str, side: str) -> str:
    return f"{KNEECAP}_{axis}_{side}"


def slides(side: str) -> dict[str, list[float]]:
    """Joints of a leg that follow the knee angle, with their polynomials."""
    table = fitted()
    return {
        **{skeleton.slide(axis, side): table["knee"][axis] for axis in SLIDES},
        **{kneecap_slide(axis, side): table["kneecap"][axis] for axis in SLIDES},
    }


# Model.


def compose(free: Sequence[str]) -> Spec:
    """Build the walker on its ground, driven by 22 muscles.

    Actuators are the muscles, in the order of `MUSCLES`, then the springs of the limits.

    Args:
        free: coordinates with a joint; the others are held at their defaults.
    """
    table = fitted()
    spec = skeleton.compose(free, table["timestep"])
    for motor in list(spec.actuators):
        spec.delete(motor)
    spec.option.disableflags = 0
    mjcf.assign(spec.option, integrator="implicitfast", cone="elliptic")
    mjcf.assign(spec.geom("ground"), contype=1)
    for side in SIDES:
        _add_kneecap(spec, side)
        _add_contacts(spec, side)
        for name in skeleton.numbers()["muscles"]:
            _add_muscle(spec, name, side)
    for side in SIDES:
        for name in skeleton.leg_coordinates(free):
            _add_limits(spec, name, side)
    return spec


def _add_kneecap(spec: Spec, side: str) -> None:
    """Add a kneecap, and the constraints that slide it and the tibia with the knee angle."""
    table = fitted()["kneecap"]
    body = mjcf.add(
        spec.body(f"tibia_{side}"), "body", name=f"{KNEECAP}_{side}", mass=table["mass"],
        inertia=(table["mass"] * 1e-4,) * 3, explicitinertial=True,
    )  # fmt: skip
    for axis in SLIDES:
        along = skeleton.upright((1, 0, 0) if axis == "x" else (0, 1, 0))
        mjcf.add(
            body, "joint", name=kneecap_slide(axis, side), type="slide", axis=along,
            armature=table["armature"],
        )  # fmt: skip
    mjcf.add(
        body, "geom", type="ellipsoid", size=(0.009, 0.02, 0.022), contype=0, conaffinity=0,
        mass=0, material="bone",
    )  # fmt: skip
    firm = fitted()["knee"]
    for joint, polynomial in slides(side).items():
        mjcf.add(
            spec, "equality", type="joint", name=joint, objtype="joint", name1=joint,
            name2=f"knee_angle_{side}", data=polynomial, solref=firm["solref"],
            solimp=firm["solimp"],
        )  # fmt: skip


def _add_contacts(spec: Spec, side: str) -> None:
    """Add the spheres of a foot, and the sensor of the ground reaction force."""
    rows, law = skeleton.numbers()["contact"], fitted()["contact"]
    for name, row in rows["spheres"].items():
        mjcf.add(
            spec.body(f"{row['body']}_{side}"), "geom", name=f"{name}_{side}", type="sphere",
            size=row["radius"], pos=skeleton.upright(row["at"], side), mass=0, group=3, contype=0,
            conaffinity=1, condim=3, friction=(rows["friction"],), solref=law["solref"],
            solimp=law["solimp"], priority=1,
        )  # fmt: skip
    mjcf.add(
        spec, "sensor", name=f"foot_{side}", type="contact", objtype="geom", objname="ground",
        reftype="xbody", refname=f"calcn_{side}", intprm=NET_FORCE,
    )  # fmt: skip


def _add_muscle(spec: Spec, name: str, side: str) -> None:
    """Add a muscle with its path and MuJoCo's muscle curves."""
    row, common = skeleton.numbers()["muscles"][name], skeleton.numbers()["muscle"]
    curve = fitted()["curves"][name]
    muscle = f"{name}_{side}"
    look = f"muscle {muscle}"
    mjcf.add(spec, "material", name=look, rgba=skeleton.muscle_colour(np.zeros(())))
    tendon = mjcf.add(spec, "tendon", name=muscle, width=0.006, material=look)
    for i, point in enumerate(fitted()["paths"].get(name, row["path"])):
        _add_point(spec, tendon, f"{muscle} {i}", point, side)
    scale, optimum = curve["scale"], curve["optimum"]
    ends = tuple(optimum + (end - 1) * scale for end in RANGE)
    prm = (
        *RANGE, row["force"], 1.0, curve["shortest"], curve["longest"],
        common["max_velocity"] * row["fibre"] / scale, curve["passive"],
        common["lengthening_force"],
    )  # fmt: skip
    times = (common["activation_time"], common["deactivation_time"])
    mjcf.add(
        spec, "actuator", name=muscle, target=tendon, lengthrange=ends, ctrlrange=(0, 1),
        ctrllimited=True, dyntype="muscle", gaintype="muscle", biastype="muscle", dynprm=times,
        gainprm=prm, biasprm=prm, actlimited=False,
    )  # fmt: skip


def _add_point(spec: Spec, tendon: Any, name: str, point: Mapping[str, Any], side: str) -> None:
    """Add a path point, or a cylinder around which the path wraps on one side."""
    body = spec.body(skeleton.on_side(point["body"], side))
    at = skeleton.upright(point["at"], side)
    if "radius" not in point:
        site = mjcf.add(body, "site", name=name, pos=at, size=0.004, group=4)
        mjcf.add(tendon, "site", site=site)
        return
    geom = mjcf.add(
        body, "geom", name=name, type="cylinder", size=(point["radius"], 0.03), pos=at,
        zaxis=skeleton.upright(point["axis"], side), mass=0, contype=0, conaffinity=0, group=4,
    )  # fmt: skip
    beside = skeleton.upright(np.add(point["at"], point["side"]).tolist(), side)
    site = mjcf.add(body, "site", name=f"{name} side", pos=beside, size=0.004, group=4)
    mjcf.add(tendon, "geom", geom=geom, sidesite=site)


def _add_limits(spec: Spec, name: str, side: str) -> None:
    """Add one-sided springs with dampers at both ends of a coordinate's range."""
    table, law = skeleton.numbers()["limits"], fitted()["limits"]
    low, high = np.deg2rad(table["range"][name])
    onset = np.deg2rad(table["transition"])
    stiffness, damping = np.rad2deg(table["stiffness"]), np.rad2deg(table["damping"])
    for i, (start, slope, share) in enumerate(
        zip(law["starts"], law["slopes"], law["shares"], strict=True)
    ):
        k, d = slope * stiffness, share * damping
        for end, at, pushes in (
            ("low", low - start * onset, (0.0, BIG)),
            ("high", high + start * onset, (-BIG, 0.0)),
        ):
            mjcf.add(
                spec, "actuator", name=f"{name}_{side} {end} {i}", target=f"{name}_{side}",
                trntype="joint", gaintype="fixed", gainprm=(0.0,), biastype="affine",
                biasprm=(k * at, -k, -d), forcerange=pushes, forcelimited=True,
            )  # fmt: skip


@dataclass(frozen=True)
class FastMusculoskeletal(WalkerBody):
    """Walker body with MuJoCo's muscles, for use in task hooks."""

    planar: bool = False  # restrict motion to the sagittal plane: 9 coordinates instead of 14

    @property
    def free(self) -> tuple[str, ...]:
        return skeleton.free_coordinates(self.planar)

    @property
    def law(self) -> Thelen:
        return skeleton.muscles()[0]

    def model(self) -> Spec:
        return compose(self.free)

    def place(self, v: SingleView, q: np.ndarray, u: np.ndarray | None = None) -> None:
        """Write a pose, and velocities or 0, as in `COORDINATES`, (17,) each, except held ones."""
        u = np.zeros(len(COORDINATES)) if u is None else u
        for name in self.free:
            i = COORDINATES.index(name)
            v.joint(name).qpos, v.joint(name).qvel = q[i], u[i]
        for side in SIDES:
            knee = COORDINATES.index(f"knee_angle_{side}")
            for joint, coefficients in slides(side).items():
                polynomial = np.polynomial.Polynomial(coefficients)
                v.joint(joint).qpos = polynomial(q[knee])
                v.joint(joint).qvel = polynomial.deriv()(q[knee]) * u[knee]
        v.act = START_ACTIVATION

    def memory(self, v: View) -> Arrays:
        return {}

    def control(self, v: View, excitation: Array) -> Array:
        """Controls for excitations (..., 22) in the order of `MUSCLES`."""
        xp = v.xp
        least = skeleton.numbers()["muscle"]["least_activation"]
        clipped = xp.clip(excitation, least, 1.0)
        springs = xp.zeros((*v.lead, v.ctrl.shape[-1] - len(MUSCLES)), dtype=clipped.dtype)
        return xp.concat([clipped, springs], axis=-1)

    # Readings.

    def positions(self, v: View) -> Array:
        return self._all(v, v.qpos, "qpos", DEFAULTS)

    def speeds(self, v: View) -> Array:
        return self._all(v, v.qvel, "qvel", np.zeros(len(COORDINATES)))

    def _all(self, v: View, values: Array, field: str, held: np.ndarray) -> Array:
        known = v.names("joint")
        moves = np.array([name in known for name in COORDINATES])
        # All joints have one degree of freedom.
        places = np.array([known.index(n) if n in known else 0 for n in COORDINATES])
        return v.xp.where(
            alongside(moves, values), columns(values, places), alongside(held, values)
        )

    def muscles(self, v: View) -> MuscleState:
        """Muscle states; fibres are those of Thelen's muscle at the same force."""
        xp, law = v.xp, self.law
        count = len(MUSCLES)
        activation = v.act[..., :count]
        length, lengthening = v.ten_length[..., :count], v.ten_velocity[..., :count]
        tension = -v.actuator_force[..., :count]
        legs = (*tension.shape[:-1], 2, count // 2)
        strain = _strain(law, reshaped(tension, legs) / alongside(law.force, tension))
        along = reshaped(length, legs) - alongside(law.tendon, length) * (1 + strain)
        along = xp.maximum(along, alongside(LEAST_LENGTH * law.fibre, length))
        thick = alongside(law.fibre * np.sin(law.pennation), length)
        fibre = xp.sqrt(along * along + thick * thick)
        cosine = reshaped(along / fibre, tension.shape)
        return MuscleState(
            activation,
            length,
            lengthening,
            reshaped(fibre, tension.shape),
            lengthening * cosine,
            tension / cosine,
            tension,
        )

    def reactions(self, v: View) -> Array:
        names = [f"foot_{side}" for side in SIDES]
        return reshaped(v.take("sensordata", names), (*v.lead, 2, 3))


def _strain(law: Thelen, force: Array) -> Array:
    """Strain of an elastic tendon at a force, relative to the muscle's greatest."""
    xp = namespace(force)
    t = math.exp(TOE_SHAPE)
    toe = alongside(99 * law.tendon_strain * t / (166 * t - 67), force)
    slope = 0.67 / (alongside(law.tendon_strain, force) - toe)
    curved = toe / TOE_SHAPE * xp.log1p(xp.clip(force, 0.0, TOE_FORCE) * ((t - 1) / TOE_FORCE))
    return curved + xp.clip(force - TOE_FORCE, 0.0, None) / slope
