"""Hilly ground whose hills rise to a ridge around the middle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.mjcf import Spec, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import Arena, register_arena

POINTS = 201  # points of the height field, each way
BUMPS = 60  # random heights, each way
SMOOTHEST = 0.5  # lowest of them, relative to the bowl's height
MIDDLE, RIM = 0.1, 1.0  # in half widths of the field: the bowl is level within and beyond


@register_arena("bowl")
@dataclass(frozen=True)
class Bowl(Arena):
    """A bumpy bowl, redrawn for each episode, in an endless plain."""

    varies: ClassVar[tuple[str, ...]] = ("hfield_data",)

    def model(self) -> Spec:
        return load("locomotion/arenas/bowl.xml")

    def ground(self) -> dict[str, str]:
        return {"terrain": "geom", "ground": "geom"}

    def heights(self, rng: Any) -> np.ndarray:
        """The heights of one episode, (POINTS, POINTS), in units of the field's height."""
        bumps = rng.uniform(SMOOTHEST, 1, (BUMPS, BUMPS))
        return np.asarray(_BOWL * (SMOOTH @ bumps @ SMOOTH.T))

    def draw(self, v: SingleView, rng: Any) -> None:
        v.hfield_data = self.heights(rng).ravel()


def _bowl() -> np.ndarray:
    """Bowl without bumps, (POINTS, POINTS), in units of the field's height."""
    axis = np.linspace(-1, 1, POINTS)
    away = np.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
    return np.asarray((1 - np.cos(2 * np.pi * np.clip(away, MIDDLE, RIM))) / 2)


def _cubic(x: np.ndarray) -> np.ndarray:
    """Cubic B-spline: a bell over (-2, 2) with the value 2/3 at 0."""
    x = np.abs(x)
    near, far = 2 / 3 - x * x + x**3 / 2, np.clip(2 - x, 0, None) ** 3 / 6
    return np.asarray(np.where(x < 1, near, far))


def interpolation(coarse: int, fine: int) -> np.ndarray:
    """Interpolation matrix of a cubic spline from a coarse to a fine grid.

    The spline is mirrored at its ends (Unser 1999).

    Args:
        fine: number of points, from the first value to the last.
    """

    def bells(places: np.ndarray) -> np.ndarray:
        """Weights of the coarse grid at points, with mirrored ends: (points, coarse)."""
        values = np.zeros((len(places), coarse))
        for k in range(-2, coarse + 2):
            mirrored = abs(k) if k < coarse else 2 * (coarse - 1) - k
            values[:, mirrored] += _cubic(places - k)
        return values

    through = np.linalg.inv(bells(np.arange(coarse, dtype=float)))
    return np.asarray(bells(np.linspace(0, coarse - 1, fine)) @ through)


_BOWL = _bowl()
SMOOTH = interpolation(BUMPS, POINTS)
