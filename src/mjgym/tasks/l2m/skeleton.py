"""Bones, joints and muscle paths of the walker, from `assets/l2m/walker.toml`.

The model is gait14dof22musc of OpenSim and osim-rl. Its users cite

    S. L. Delp, J. P. Loan, M. G. Hoy, F. E. Zajac, E. L. Topp and J. M. Rosen, "An interactive
    graphics-based model of the lower extremity to study orthopaedic surgical procedures", IEEE
    Transactions on Biomedical Engineering 37 (1990), doi 10.1109/10.102791;
    C. F. Ong, T. Geijtenbeek, J. L. Hicks and S. L. Delp, "Predicting gait adaptations due to ankle
    plantarflexor muscle weakness and contracture using physics-based musculoskeletal simulations",
    PLOS Computational Biology 15 (2019), doi 10.1371/journal.pcbi.1006993.

OpenSim has x forward, y up and z to the right. Here x is forward, y left and z up, in the world and
in each bone; joints keep their names and the signs of their angles.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import Array, namespace
from mjgym.muscles import (
    Activation,
    CoordinateLimits,
    Path,
    PathPoint,
    Paths,
    SpheresOnPlane,
    Splines,
    Thelen,
    cubic_spline,
)

Vector = tuple[float, float, float]

SIDES = ("r", "l")
LEG_BODIES = ("pelvis", "femur", "tibia", "talus")  # spanned by the muscles
# Slides of the tibia in the femur, in OpenSim's axes.
SLIDES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0)}

NO_LIMIT = (-1e6, 1e6)  # degrees
SIDED_DRAWINGS = ("pelvis", "torso")  # bodies in the middle, drawn on both sides


@functools.cache
def numbers() -> dict[str, Any]:
    """Numbers of the model, from the file."""
    path = mjcf.asset_path("l2m/walker.toml")
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return content


def _names(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Names in a table of the right side, each followed by its left counterpart."""
    names: list[str] = []
    sided: list[str] = []
    for name, row in [*table.items(), ("", {})]:
        if row.get("sided"):
            sided.append(name)
            continue
        names += [f"{each}_{side}" for side in SIDES for each in sided]
        sided = []
        names += [name] if name else []
    return tuple(names)


COORDINATES = _names(numbers()["coordinates"])
"""All coordinates, in OpenSim's order; some are held at a value, see `free_coordinates`."""

BODIES = _names(numbers()["bodies"])
"""All bodies, in OpenSim's order."""

MUSCLES = tuple(f"{name}_{side}" for side in SIDES for name in numbers()["muscles"])
"""All muscles, in the model's order: those of the right leg, then those of the left."""

PLANAR = ("pelvis_list", "pelvis_rotation", "pelvis_tz", "hip_adduction_r", "hip_adduction_l")
"""The coordinates that the planar model holds at 0."""


def free_coordinates(planar: bool = False) -> tuple[str, ...]:
    """Free coordinates, in the order of the model's joints."""
    held = PLANAR if planar else ()
    return tuple(
        name for name in COORDINATES if not entry(name).get("locked", False) and name not in held
    )


def entry(coordinate: str) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = numbers()["coordinates"]
    return table[coordinate] if coordinate in table else table[coordinate[:-2]]


DEFAULTS = np.array([entry(name).get("value", 0.0) for name in COORDINATES])
"""The value of each coordinate where it is held or nothing else is asked for."""


def on_side(body: str, side: str) -> str:
    return body if body == "pelvis" else f"{body}_{side}"


def upright(vector: Sequence[float], side: str = "r") -> Vector:
    """Convert a vector of the right side in OpenSim's axes (y up) to a side in axes here."""
    x, y, z = vector
    return (x, -z if side == "r" else z, y)


def turning(axis: Sequence[float], side: str = "r") -> Vector:
    """Convert a rotation axis; mirroring keeps its z component alone."""
    x, y, z = upright(axis)
    return (x, y, z) if side == "r" else (-x, y, -z)


@functools.cache
def knee() -> Splines:
    """Offsets of the tibia in the femur along OpenSim's x and y (m), then of moving points.

    The points' functions follow in the order of `moving_functions`.
    """
    table = numbers()["knee"]
    splines = [cubic_spline(table[axis]["angle"], table[axis]["offset"]) for axis in SLIDES]
    low, high = entry("knee_angle_r")["range"]
    within: list[tuple[float, float] | None] = [None, None]
    for _, point in _moving_points():
        splines += [cubic_spline(point["knots"], point[axis]) for axis in SLIDES]
        within += [(low, high)] * len(SLIDES)
    return Splines.from_pieces(splines, within)


def _moving_points() -> list[tuple[str, dict[str, Any]]]:
    muscles = numbers()["muscles"].items()
    return [(name, p) for name, muscle in muscles for p in muscle["path"] if "moves" in p]


def leg_coordinates(free: Sequence[str]) -> tuple[str, ...]:
    """Free coordinates of a leg, without sides."""
    return tuple(name[:-2] for name in free if name.endswith("_r"))


def paths(free: Sequence[str]) -> Paths:
    """Muscle paths on both sides; bodies as in `LEG_BODIES`, coordinates of the leg.

    Moving points refer to the splines of `knee` that follow the tibia's two slides.
    """
    names = leg_coordinates(free)
    owners = {"calcn": "talus"}  # rigidly connected
    moved = np.zeros((len(names), len(LEG_BODIES)), dtype=bool)
    for i, name in enumerate(names):
        moved[i, LEG_BODIES.index(entry(f"{name}_r")["body"]) :] = True
    moving = [id(point) for _, point in _moving_points()]

    def point(row: dict[str, Any], side: str) -> PathPoint:
        body = owners.get(row["body"], row["body"])
        shift = numbers()["bodies"]["calcn"]["offset"] if row["body"] == "calcn" else (0, 0, 0)
        if "moves" in row:
            first = len(SLIDES) * moving.index(id(row))
            at = upright((0.0, 0.0, row["z"]), side)
            moves = (first, -1, first + 1)  # OpenSim's x and y
            return PathPoint(LEG_BODIES.index(body), at, names.index(row["moves"]), moves=moves)
        at = upright(np.add(row["at"], shift).tolist(), side)
        if "when" in row:
            coordinate, (low, high) = names.index(row["when"]), row["within"]
            return PathPoint(LEG_BODIES.index(body), at, coordinate, (low, high))
        return PathPoint(LEG_BODIES.index(body), at)

    def path(rows: list[dict[str, Any]], side: str) -> Path:
        return tuple(point(row, side) for row in rows)

    muscles = numbers()["muscles"].values()
    return Paths([[path(m["path"], side) for m in muscles] for side in SIDES], moved)


@functools.cache
def muscles() -> tuple[Thelen, Activation]:
    """Muscles of a leg, arrays of (11,), and their activation dynamics."""
    common, rows = numbers()["muscle"], numbers()["muscles"].values()

    def each(name: str) -> np.ndarray:
        return np.array([row.get(name, common.get(name)) for row in rows], dtype=float)

    law = Thelen(
        force=each("force"),
        fibre=each("fibre"),
        tendon=each("tendon"),
        pennation=each("pennation"),
        tendon_strain=each("tendon_strain"),
        passive_strain=each("passive_strain"),
        passive_shape=each("passive_shape"),
        max_velocity=common["max_velocity"],
        force_length_width=common["force_length_width"],
        force_velocity_shape=common["force_velocity_shape"],
        lengthening_force=common["lengthening_force"],
    )
    activation = Activation(
        common["activation_time"], common["deactivation_time"], common["least_activation"]
    )
    return law, activation


def limits(free: Sequence[str]) -> CoordinateLimits:
    """Limits of a leg's coordinates, out of reach if unlimited."""
    table = numbers()["limits"]
    ranges = [table["range"].get(name, NO_LIMIT) for name in leg_coordinates(free)]
    low, high = np.deg2rad(np.array(ranges, dtype=float)).T
    return CoordinateLimits(
        low,
        high,
        float(np.deg2rad(table["transition"])),
        float(np.rad2deg(table["stiffness"])),
        float(np.rad2deg(table["damping"])),
    )


def spheres() -> tuple[SpheresOnPlane, np.ndarray, np.ndarray]:
    """Contact law, sphere positions in the talus (sides, 3, spheres), and radii."""
    table, bodies = numbers()["contact"], numbers()["bodies"]
    law = SpheresOnPlane(*(table[x] for x in ("stiffness", "dissipation", "friction", "slip")))
    rows = table["spheres"].values()
    places = []
    for side in SIDES:
        centres = []
        for row in rows:
            shift = np.array(bodies["calcn"]["offset"])
            if row["body"] == "toes":
                shift = shift + bodies["toes"]["offset"]
            centres.append(upright((np.array(row["at"]) + shift).tolist(), side))
        places.append(np.array(centres).T)
    return law, np.array(places), np.array([row["radius"] for row in rows])


def slide(axis: str, side: str) -> str:
    return f"knee_{axis}_{side}"


def joints(free: Sequence[str]) -> tuple[str, ...]:
    """Joint names of a model with some free coordinates, in order."""
    names: list[str] = []
    order = sorted(free, key=lambda name: (_body_number(name), "slide" not in entry(name)))
    for name in order:
        if name.startswith("knee_angle"):
            names += [slide(axis, name[-1]) for axis in SLIDES]
        names.append(name)
    return tuple(names)


def _body_number(coordinate: str) -> int:
    body: str = entry(coordinate)["body"]
    return BODIES.index(body if body in BODIES else f"{body}_{coordinate[-1]}")


def compose(free: Sequence[str], timestep: float) -> mjcf.Spec:
    """Build the walker on its ground, with a motor per joint in the order of `joints`.

    Args:
        free: coordinates with a joint; the others are held at their defaults.
        timestep: physics timestep, s.
    """
    spec = mjcf.load("l2m/world.xml")
    spec.option.timestep = timestep
    bodies: dict[str, Any] = {"": spec.worldbody}
    for name in BODIES:
        side = name[-1] if name[-2:] in ("_r", "_l") else ""
        row = numbers()["bodies"][name.removesuffix(f"_{side}") if side else name]
        bodies[name] = _body(bodies, name, side, row, free)
    for joint in joints(free):
        mjcf.add(spec, "actuator", name=joint, type="motor", target=joint, trntype="joint")
    mjcf.add(
        bodies["pelvis"], "camera", name="side", mode="trackcom", pos=(0.0, -3.0, 0.2),
        xyaxes=(1, 0, 0, 0, 0.1, 1),
    )  # fmt: skip
    mjcf.add(  # follows the walker: shadows need a near light
        bodies["pelvis"], "light", name="sun", type="directional", mode="track", pos=(0, -2, 5),
        dir=(0, 0.3, -1), diffuse=(0.6, 0.6, 0.6),
    )  # fmt: skip
    return spec


def draw_muscles(spec: mjcf.Spec) -> None:
    """Add tendons that show the muscles, each of the material "muscle <name>".

    They exert no force. Conditional points are always drawn, and moving points stay at their
    positions for a straight knee.
    """
    straight = knee()(np.zeros(()))[0]
    moving = [id(point) for _, point in _moving_points()]
    for side in SIDES:
        for name, muscle in numbers()["muscles"].items():
            sided = f"{name}_{side}"
            mjcf.add(spec, "material", name=f"muscle {sided}", rgba=muscle_colour(np.zeros(())))
            tendon = mjcf.add(spec, "tendon", name=sided, width=0.006, material=f"muscle {sided}")
            for i, row in enumerate(muscle["path"]):
                at = row.get("at")
                if at is None:
                    first = len(SLIDES) * (1 + moving.index(id(row)))
                    at = (float(straight[first]), float(straight[first + 1]), row["z"])
                body = spec.body(on_side(row["body"], side))
                site = mjcf.add(body, "site", name=f"{sided} {i}", pos=upright(at, side), group=4)
                mjcf.add(tendon, "site", site=site)


def muscle_colour(activation: Array) -> Array:
    """Colour of a muscle, from dark blue at rest to bright red, (..., 4)."""
    xp = namespace(activation)
    one = xp.ones_like(activation)
    return xp.stack([0.2 + 0.75 * activation, 0.15 * one, 0.5 - 0.4 * activation, one], axis=-1)


def _body(
    bodies: Mapping[str, Any], name: str, side: str, row: Mapping[str, Any], free: Sequence[str]
) -> Any:
    parent = row.get("parent", "")
    parent = f"{parent}_{side}" if f"{parent}_{side}" in bodies else parent
    offset = np.array(upright(row.get("offset", (0.0, 0.0, 0.0)), side or "r"))
    coordinates = [c for c in COORDINATES if BODIES[_body_number(c)] == name]
    quat = np.array([1.0, 0.0, 0.0, 0.0])
    for c in coordinates:
        value = entry(c).get("value", 0.0)
        if c in free or not value:
            continue
        if "slide" in entry(c):
            offset = offset + value * np.array(upright(entry(c)["slide"]))
        else:
            axis = np.array(turning(entry(c)["turn"], side or "r"))
            quat = np.array([np.cos(value / 2), *(np.sin(value / 2) * axis)])
    body = mjcf.add(bodies[parent], "body", name=name, pos=offset, quat=quat)
    inertia = row["inertia"]
    if row["mass"]:
        mjcf.assign(
            body, mass=row["mass"], ipos=upright(row["com"], side or "r"),
            inertia=(inertia[0], inertia[2], inertia[1]), explicitinertial=True,
        )  # fmt: skip
    tibia = {slide(name, side): {"slide": unit} for name, unit in SLIDES.items()}
    for joint in joints([c for c in coordinates if c in free]):
        motion = tibia[joint] if joint in tibia else entry(joint)
        if "slide" in motion:
            mjcf.add(body, "joint", name=joint, type="slide", axis=upright(motion["slide"]))
        else:
            turn = turning(motion["turn"], side or "r")
            mjcf.add(body, "joint", name=joint, type="hinge", axis=turn)
    _draw(body, name.removesuffix(f"_{side}") if side else name, side)
    return body


def _draw(body: Any, name: str, side: str) -> None:
    """Add massless geoms without contacts that show a bone."""
    look = {"material": "bone", "contype": 0, "conaffinity": 0, "mass": 0.0, "group": 0}
    sides = SIDES if name in SIDED_DRAWINGS else (side or "r",)
    looks = numbers()["looks"]
    for at in sides:
        for start, end, radius in looks["capsules"].get(name, []):
            if at == "l" and not side and start[2] == end[2] == 0:
                continue
            ends = (*upright(start, at), *upright(end, at))
            mjcf.add(body, "geom", type="capsule", fromto=ends, size=radius, **look)
        for middle, half in looks["ellipsoids"].get(name, []):
            if at == "l" and not side:
                continue
            size = (half[0], half[2], half[1])
            mjcf.add(body, "geom", type="ellipsoid", pos=upright(middle, at), size=size, **look)
