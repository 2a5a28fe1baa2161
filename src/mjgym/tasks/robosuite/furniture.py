"""The room and its tables."""

from collections.abc import Sequence
from itertools import product

from mjgym.mjcf import Spec, add, load

LEG_RADIUS = 0.025  # m
LEG_INSET = 0.1  # m, from the table's edges to the centre of a leg
RIM = 0.002  # m, overhang
FRICTION = (1.0, 0.005, 0.0001)  # sliding, m torsional, m rolling

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
    """Add a table: a slab on four legs, with the site "<name>_top" on it.

    Args:
        size: of the slab along x, y and z, m.
        top: centre of its upper face, (3,) m.
        name: of its body; the slab is the geom "<name>_collision".
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
    """Move one of the room's cameras."""
    camera = scene.camera(name)
    camera.pos, camera.quat = pose
