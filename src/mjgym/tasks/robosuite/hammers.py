"""Hammers with sizes that vary by episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np

from mjgym.mjcf import Spec, load
from mjgym.placements import Extent, Uniform
from mjgym.rotations import product, to_quaternion
from mjgym.sim.engine import FOLLOWING
from mjgym.sim.single import SingleView

VARIES = (
    "geom_size",
    "geom_pos",
    "geom_friction",
    "body_mass",
    "body_ipos",
    "body_iquat",
    "body_inertia",
    *FOLLOWING,
)
"""The fields of a model that `resize_hammer` writes, for the `varies` of tasks that call it."""

# Parts of the head: half sizes, and position along x, in half heights of the head. Cylinders have
# radius and half length, and lie along x.
HEAD = {
    "head": ((2.0, 1.0, 1.0), 0.0),
    "neck": ((0.8, 0.2), 2.2),
    "face": ((1.0, 0.4), 2.8),
    "claw": ((0.7072, 0.95, 0.7072), -2.0),
}
LYING = (sqrt(0.5), sqrt(0.5), 0.0, 0.0)  # a quaternion: handle and head are level
ROLLED = np.array([0.0, 1.0, 0.0, 0.0])  # a quaternion: half a turn about the head


@dataclass(frozen=True)
class Hammer:
    """Dimensions and densities of a hammer."""

    radius: float  # half the thickness of the handle, m
    length: float  # of the handle, m
    density: float  # of the handle, kg/m^3
    friction: float
    head: float  # half the height of the head, m
    head_density: float  # of the head, kg/m^3

    @property
    def head_height(self) -> float:
        """Height of the head's centre over the handle's, along the handle, m."""
        return self.length / 2 + self.head


@dataclass(frozen=True)
class EitherSide(Uniform):
    """Places drawn uniformly from a rectangle, for hammers that lie on either side."""

    def _draw_turn(self, rng: Any) -> np.ndarray:
        turn = super()._draw_turn(rng)
        return product(turn, ROLLED) if rng.uniform() < 0.5 else turn


def add_hammer(scene: Spec, name: str) -> None:
    """Add a hammer as the body "<name>_root"; `resize_hammer` sets its size.

    Its geoms are "<name>_handle" and, of the head, "<name>_head", "<name>_neck", "<name>_face" and
    "<name>_claw".
    """
    scene.attach(load("robosuite/hammer.xml"), prefix=f"{name}_", frame=scene.worldbody.add_frame())


def resize_hammer(v: SingleView, name: str, hammer: Hammer) -> None:
    """Resize a hammer of `add_hammer`, with its mass, inertia and derived fields."""
    handle = v.geom(f"{name}_handle")
    handle.size[:] = hammer.radius, hammer.radius, hammer.length / 2
    handle.friction[0] = hammer.friction
    parts = [_solid(handle.size, handle.pos, np.eye(3), hammer.density)]
    for part, (half, x) in HEAD.items():
        geom = v.geom(f"{name}_{part}")
        geom.size[: len(half)] = hammer.head * np.array(half)
        geom.pos[:] = hammer.head * x, 0.0, hammer.head_height
        angle = pi / 4 if part == "claw" else pi / 2 if len(half) == 2 else 0.0
        c, s = np.cos(angle), np.sin(angle)
        mat = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        parts.append(_solid(geom.size[: len(half)], geom.pos, mat, hammer.head_density))
    body = v.body(f"{name}_root")
    mass = sum(m for m, _, _ in parts)
    centre = sum(m * pos for m, pos, _ in parts) / mass
    inertia = sum(central + m * _parallel_axis(pos - centre) for m, pos, central in parts)
    moments, axes = np.linalg.eigh(inertia)
    moments, axes = moments[::-1], axes[:, ::-1]  # largest first, as in the compiler
    axes[:, 2] *= np.linalg.det(axes)  # right-handed
    body.mass[:] = mass
    body.ipos[:] = centre
    body.iquat[:] = to_quaternion(axes.ravel())
    body.inertia[:] = moments
    v.set_constants()


def extent_of_hammer(v: SingleView, name: str) -> Extent:
    radius = float(v.geom(f"{name}_handle").size[0])
    return Extent(float(v.geom(f"{name}_head").pos[2]), -radius, radius, LYING)


def _solid(
    half: Sequence[float], pos: np.ndarray, mat: np.ndarray, density: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, position and central inertia, (3, 3) kg m^2, of a box or a cylinder."""
    squares = np.square(half)
    if len(half) == 3:
        mass = density * 8 * float(np.prod(half))
        moments = mass / 3 * (squares.sum() - squares)
    else:
        mass = density * 2 * pi * float(squares[0] * half[1])
        across = mass * (squares[0] / 4 + squares[1] / 3)
        moments = np.array([across, across, mass * squares[0] / 2])
    return mass, np.array(pos), mat @ np.diag(moments) @ mat.T


def _parallel_axis(offset: np.ndarray) -> np.ndarray:
    """Parallel-axis term of an inertia for 1 kg at an offset, (3, 3) m^2."""
    return np.asarray(offset @ offset * np.eye(3) - np.outer(offset, offset))
