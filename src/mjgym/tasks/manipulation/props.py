"""Objects to lift, and observations of any object on the work top."""

import functools

from mjgym.arrays import Array, smallest
from mjgym.mjcf import Spec, add, load
from mjgym.sim.dynamics import taken
from mjgym.sim.views import View
from mjgym.task import Arrays
from mjgym.tasks.manipulation.arena import add_part

LARGE_BOX = "unnamed_model"
LARGE_BOX_HALF_SIZE = (0.09, 0.09, 0.09)  # m

SEEN = {
    "angular_velocity": slice(0, 3),
    "linear_velocity": slice(3, 6),
    "orientation": slice(6, 10),
    "position": slice(10, 13),
}
"""Sensors of a thing that are observed, in the observation's order, and where their numbers are
behind each other: rad/s, m/s, a quaternion and m, all in world axes."""

CORNERS = 8


def add_large_box(scene: Spec) -> str:
    """Add a free cube of 18 cm with marked corners; return its name."""
    part = load("manipulation/large_box.xml")
    mark_corners(part, (0.0, 0.0, 0.0), LARGE_BOX_HALF_SIZE)
    add_part(scene, part, LARGE_BOX, free=True)
    return LARGE_BOX


def mark_corners(part: Spec, middle: tuple[float, ...], half: tuple[float, ...]) -> None:
    """Mark the corners of a box in a part's frame by sites, for `lowest_corner`; in m."""
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    for i, sign in enumerate(signs):
        corner = [m + s * h for m, s, h in zip(middle, sign, half, strict=True)]
        add(
            part.worldbody, "site", name=f"vertex_{i}", pos=corner, size=(0.002, 0, 0),
            rgba=(1, 0, 0, 0.3), group=3,
        )  # fmt: skip


def lowest_corner(v: View, name: str) -> Array:
    """Height of the lowest corner of an object marked by `mark_corners`, (...) m."""
    corners = taken(v.site_xpos, v.rows("site_xpos", _corners(name)), -2)
    return smallest(corners[..., 2])


@functools.cache
def _corners(name: str) -> tuple[str, ...]:
    return tuple(f"{name}/vertex_{i}" for i in range(CORNERS))


def prop_observation(v: View, name: str) -> Arrays:
    """Velocities and pose of an object by its sensors, under "<name>/<sensor>"."""
    return {f"{name}/{sensor}": v.sensor(f"{name}/{sensor}").data for sensor in SEEN}
