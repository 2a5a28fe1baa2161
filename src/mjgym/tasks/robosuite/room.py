"""The room of the tabletop tasks, its tables, boxes, and sensors of contacts.

Contacts are sensed, because a batch of simulations cannot list them.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add, load
from mjgym.robots.grasping import HOW_MANY
from mjgym.sim.engine import FOLLOWING
from mjgym.sim.single import SingleView
from mjgym.sim.views import View

LEG_RADIUS = 0.025  # m
LEG_INSET = 0.1  # m, from the table's edges to the centre of a leg
RIM = 0.002  # m, overhang
FRICTION = (1.0, 0.005, 0.0001)  # sliding, m torsional, m rolling
ALL_TOUCHES = "touches"  # the sensor of all contacts

BOX_FIELDS = ("geom_size", "body_mass", "body_inertia", *FOLLOWING)
"""The fields of a model that `resize_box` writes; a task that calls it names them in `varies`."""

Pose = tuple[tuple[float, float, float], tuple[float, float, float, float]]
"""A position (m) and a quaternion w, x, y, z."""


def room() -> Spec:
    """Build an empty room: floor, lamp, cameras frontview, birdview, agentview and sideview.

    It has the physics of the family: a timestep of 2 ms, elliptic friction cones, air.
    """
    return load("robosuite/room.xml")


def add_table(
    scene: Spec,
    size: Sequence[float],
    top: Sequence[float],
    *,
    friction: Sequence[float] = FRICTION,
    name: str = "table",
) -> None:
    """Add a table: a slab on four legs, the geom "<name>_collision", with the site "<name>_top".

    Its size is along x, y and z, and `top` the centre of its upper face, (3,), all m.
    """
    x, y, z = (s / 2 for s in size)
    height = top[2] - 2 * z
    table = add(scene.worldbody, "body", name=name, pos=(top[0], top[1], top[2] - z))
    add(
        table, "geom", name=f"{name}_collision", type="box", size=(x, y, z), friction=friction,
        material="wood",
    )  # fmt: skip
    add(table, "site", name=f"{name}_top", pos=(0, 0, z), size=0.001, group=4)
    look = scene.find_default("room_look")  # legs and rims are visual
    for sx, sy in product((-1, 1), repeat=2):
        inward = (max(x - LEG_INSET, 0.0), max(y - LEG_INSET, 0.0))
        add(
            table, "geom", type="cylinder", default=look, material="steel",
            size=(LEG_RADIUS, height / 2), pos=(sx * inward[0], sy * inward[1], -z - height / 2),
        )  # fmt: skip
    for sign in (-1, 1):
        for half, pos in (((RIM, y, z), (sign * x, 0, 0)), ((x, RIM, z), (0, sign * y, 0))):
            add(
                table, "geom", type="box", default=look, material="edge",
                size=(half[0], half[1], z - RIM), pos=pos,
            )  # fmt: skip


def move_camera(scene: Spec, name: str, pose: Pose) -> None:
    camera = scene.camera(name)
    camera.pos, camera.quat = pose


def add_box(
    scene: Spec,
    name: str,
    half: Sequence[float],
    density: float,
    rgba: Sequence[float],
    **attributes: Any,
) -> None:
    """Add a free box to a scene: body "<name>_main", joint "<name>_joint0", geom "<name>_g0", site
    "<name>_default_site".

    Half sizes are along x, y and z, m; density kg/m^3; `attributes` are MJCF's of the geom.
    """
    box = load("robosuite/cube.xml")
    box.material("paint").rgba = rgba
    geom = box.geom("g0")
    geom.size, geom.density = half, density
    for attribute, value in attributes.items():
        setattr(geom, attribute, value)
    scene.attach(box, prefix=f"{name}_", frame=scene.worldbody.add_frame())


def resize_box(v: SingleView, name: str, half: Sequence[float], density: float) -> None:
    """Resize a box of `add_box`, with its mass, inertia and derived fields."""
    sides = np.asarray(half, dtype=float)
    body, geom = v.body(f"{name}_main"), v.geom(f"{name}_g0")
    mass = density * 8 * float(np.prod(sides))
    squares = sides * sides
    geom.size[:] = sides
    body.mass[:] = mass
    body.inertia[:] = mass / 3 * (squares.sum() - squares)
    v.set_constants()


def watch_contact(scene: Spec, first: str, second: str) -> None:
    """Add the sensor that `in_contact` reads."""
    add(
        scene, "sensor", name=f"{first} on {second}", type="contact",
        objtype=_kind(scene, first), objname=first,
        reftype=_kind(scene, second), refname=second, intprm=HOW_MANY,
    )  # fmt: skip


def _kind(scene: Spec, name: str) -> str:
    return "xbody" if scene.geom(name) is None else "geom"


def in_contact(v: View, first: str, second: str) -> Array:
    """Tell whether two bodies or geoms passed to `watch_contact` touch, (...) bool."""
    return v.sensor(f"{first} on {second}").data[..., 0] > 0


def watch_touches(scene: Spec, bodies: Sequence[str] = ()) -> None:
    """Add the sensors that `touches` reads, for bodies without their descendants; all if none."""
    for name in bodies:
        add(
            scene, "sensor", name=f"touches of {name}", type="contact", objtype="body",
            objname=name, intprm=HOW_MANY,
        )  # fmt: skip
    if not bodies:
        add(scene, "sensor", name=ALL_TOUCHES, type="contact", intprm=HOW_MANY)


def touches(v: View, bodies: Sequence[str] = ()) -> Array:
    """Number of contacts of the bodies passed to `watch_touches`, or of the scene, (...)."""
    names = [f"touches of {name}" for name in bodies] or [ALL_TOUCHES]
    return total(v.sensordata[..., v.rows("sensordata", names)])
