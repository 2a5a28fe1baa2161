"""Hilly bowl terrain: random smooth bumps on a ring-shaped ridge."""

import functools
from typing import Any

import numpy as np

MIDDLE = 0.04  # fraction of the half size within which the bowl is level


def bumpy_bowl(rng: Any, points: int, bumps: int, lowest: float) -> np.ndarray:
    """Draw the elevations of a terrain as fractions of its height.

    A ring-shaped ridge, halfway between the centre and the sides, times a surface through random
    heights between `lowest` and 1 on a coarse grid. The surface may overshoot these heights, so the
    result may leave [0, 1] a little; it is not normalised.

    Args:
        rng: draws `bumps` x `bumps` uniform numbers, row by row.
        points: points of the terrain in each direction.
        bumps: points of the coarse grid in each direction, at least 2.
        lowest: lowest height of the coarse grid, within [0, 1]; 1 gives a smooth bowl.

    Returns:
        (points, points), float32.
    """
    heights = rng.uniform(lowest, 1, size=(bumps, bumps))
    weights = _spline_weights(bumps, points)
    return np.asarray(_bowl(points) * (weights @ heights @ weights.T), dtype=np.float32)


@functools.cache
def _bowl(points: int) -> np.ndarray:
    """A ring-shaped ridge: almost 0 in the middle, 1 at radius 0.5, 0 from radius 1 outwards."""
    grid = np.linspace(-1, 1, points)
    radius = np.clip(np.sqrt(grid[:, None] ** 2 + grid**2), MIDDLE, 1)
    return 0.5 - np.cos(2 * np.pi * radius) / 2


@functools.cache
def _spline_weights(knots: int, points: int) -> np.ndarray:
    """Interpolation matrix, (points, knots), of a cubic B-spline through values at knots.

    Knots and points are evenly spaced with common ends. The spline is mirrored at its ends.
    """
    # A cubic B-spline weights three coefficients by 1/6, 4/6, 1/6 at a knot; coefficients beyond an
    # end are mirrored.
    at_knots = _basis(knots, np.arange(knots, dtype=float))
    at_points = _basis(knots, np.arange(points) * (knots - 1) / (points - 1))
    return np.asarray(np.linalg.solve(at_knots.T, at_points.T).T)


def _basis(knots: int, places: np.ndarray) -> np.ndarray:
    """Weights of a cubic B-spline's coefficients at points, (points, knots)."""
    first = np.minimum(places.astype(int), knots - 2)  # knot to the left
    t = places - first
    weights = [(1 - t) ** 3, 4 - 6 * t**2 + 3 * t**3, 1 + 3 * t + 3 * t**2 - 3 * t**3, t**3]
    basis = np.zeros((len(places), knots))
    for offset, weight in enumerate(weights, start=-1):
        mirrored = knots - 1 - np.abs(knots - 1 - np.abs(first + offset))
        np.add.at(basis, (np.arange(len(places)), mirrored), weight / 6)
    return basis
