"""Quadratic programs with bounds, by projected Newton steps."""

import numpy as np

NEWTON_STEPS = 50
SHORTEST = 1e-8  # step length of a line search


def bounded_minimum(
    curvature: np.ndarray, slope: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The minimum of x' H x / 2 + g' x between bounds, and a mask of what no bound holds."""
    np.linalg.cholesky(curvature)
    x = np.clip(np.zeros_like(slope), low, high)

    def cost(x: np.ndarray) -> float:
        return float(x @ curvature @ x / 2 + slope @ x)

    free = np.ones(len(x), dtype=bool)
    for _ in range(NEWTON_STEPS):
        gradient = slope + curvature @ x
        free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
        if not free.any() or np.abs(gradient[free]).max() < 1e-14:
            break
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        length = 1.0
        while length > SHORTEST and cost(np.clip(x + length * step, low, high)) >= cost(x):
            length /= 2
        if length <= SHORTEST:
            break
        x = np.clip(x + length * step, low, high)
    return x, free
