"""Hilly ground that rises to a ridge around its level middle: the bowl that creatures escape."""

import functools
from typing import Any

import numpy as np


def bumpy_bowl(rng: Any, points: int, bumps: int, lowest: float, level: float) -> np.ndarray:
    """Draw the elevations of a terrain, (points, points), as fractions of its height.

    A ring-shaped ridge, halfway between the centre and the sides, times a surface through random
    heights between `lowest` and 1 on a grid of `bumps` x `bumps`, drawn row by row. The surface may
    overshoot these heights, so the result may leave [0, 1] a little; it is not normalised.

    Args:
        lowest: within [0, 1]; 1 gives a smooth bowl.
        level: fraction of the half size within which the bowl is level.
    """
    heights = rng.uniform(lowest, 1, (bumps, bumps))
    axis = np.linspace(-1, 1, points)
    away = np.clip(np.sqrt(axis[:, None] ** 2 + axis**2), level, 1)
    smooth = interpolation(bumps, points)
    return np.asarray((1 - np.cos(2 * np.pi * away)) / 2 * (smooth @ heights @ smooth.T))


@functools.cache
def interpolation(coarse: int, fine: int) -> np.ndarray:
    """Matrix of a cubic spline through values on a coarse grid, mirrored at its ends (Unser 1999).

    The `fine` points are evenly spaced, from the first of the values to the last.
    """

    def bells(places: np.ndarray) -> np.ndarray:
        """Weights of the coarse grid at points, (points, coarse)."""
        values = np.zeros((len(places), coarse))
        for k in range(-2, coarse + 2):
            mirrored = coarse - 1 - abs(coarse - 1 - abs(k))
            values[:, mirrored] += _cubic(places - k)
        return values

    through = np.linalg.inv(bells(np.arange(coarse, dtype=float)))
    return np.asarray(bells(np.linspace(0, coarse - 1, fine)) @ through)


def _cubic(x: np.ndarray) -> np.ndarray:
    """Cubic B-spline: a bell over (-2, 2) with the value 2/3 at 0."""
    x = np.abs(x)
    near, far = 2 / 3 - x * x + x**3 / 2, np.clip(2 - x, 0, None) ** 3 / 6
    return np.asarray(np.where(x < 1, near, far))
