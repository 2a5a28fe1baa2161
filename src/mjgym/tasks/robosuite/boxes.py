"""Free cubes and boxes with sizes that vary by episode."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.mjcf import Spec, load
from mjgym.sim.engine import FOLLOWING
from mjgym.sim.single import SingleView

VARIES = ("geom_size", "body_mass", "body_inertia", *FOLLOWING)
"""The fields of a model that `resize_box` writes; a task that calls it names them in `varies`."""


def add_box(
    scene: Spec,
    name: str,
    half: Sequence[float],
    density: float,
    rgba: Sequence[float],
    **attributes: Any,
) -> None:
    """Add a free box to a scene, as the body "<name>_main".

    Args:
        name: prefix of its elements: body "<name>_main", joint "<name>_joint0", geom "<name>_g0",
            site "<name>_default_site".
        half: half sizes along x, y and z, m.
        density: kg/m^3.
        **attributes: MJCF attributes of the geom, e.g. friction.
    """
    part = load("robosuite/cube.xml")
    part.material("paint").rgba = rgba
    geom = part.geom("g0")
    geom.size, geom.density = half, density
    for attribute, value in attributes.items():
        setattr(geom, attribute, value)
    scene.attach(part, prefix=f"{name}_", frame=scene.worldbody.add_frame())


def resize_box(v: SingleView, name: str, half: Sequence[float], density: float) -> None:
    """Resize a box of `add_box`, with its mass, inertia and derived fields.

    Args:
        v: the scratch simulation of an episode's start, before anything is placed.
        half: half sizes, m.
        density: kg/m^3.
    """
    sides = np.asarray(half, dtype=float)
    body, geom = v.body(f"{name}_main"), v.geom(f"{name}_g0")
    mass = density * 8 * float(np.prod(sides))
    squares = sides * sides
    geom.size[:] = sides
    body.mass[:] = mass
    body.inertia[:] = mass / 3 * (squares.sum() - squares)
    v.set_constants()
