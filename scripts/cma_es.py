"""Derivative-free minimisation of functions of tens of parameters (CMA-ES).

N. Hansen, "The CMA evolution strategy: a tutorial" (2016, arXiv 1604.00772), with its default
settings.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np


class Best(NamedTuple):
    """Least value so far, and its point."""

    value: float
    point: np.ndarray


def search(
    values: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    spread: np.ndarray,
    seed: int = 0,
    population: int | None = None,
) -> Iterator[Best]:
    """Yield the best point after each generation, endlessly.

    Args:
        values: objective of points (k, n), (k,); non-finite values count as the worst.
        start: (n,).
        spread: initial standard deviation of each number, (n,).
        seed: random seed.
        population: points per generation; by default as in the tutorial.
    """
    rng = np.random.default_rng(seed)
    n = len(start)
    count = population or 4 + int(3 * np.log(n))
    half = count // 2
    weights = np.log(half + 0.5) - np.log(np.arange(1, half + 1))
    weights /= weights.sum()
    effective = 1 / (weights**2).sum()
    path_rate = (4 + effective / n) / (n + 4 + 2 * effective / n)
    step_rate = (effective + 2) / (n + effective + 5)
    one = 2 / ((n + 1.3) ** 2 + effective)
    many = min(1 - one, 2 * (effective - 2 + 1 / effective) / ((n + 2) ** 2 + effective))
    damping = 1 + step_rate + 2 * max(0.0, np.sqrt((effective - 1) / (n + 1)) - 1)
    expected = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    middle, step = np.array(start, dtype=float), 1.0
    covariance = np.eye(n)
    path, step_path = np.zeros(n), np.zeros(n)
    best = Best(np.inf, middle)
    generation = 0
    while True:
        generation += 1
        squares, axes = np.linalg.eigh(covariance)
        lengths = np.sqrt(np.maximum(squares, 1e-20))
        moves = (rng.normal(size=(count, n)) * lengths) @ axes.T
        points = middle + step * moves * spread
        found = np.asarray(values(points), dtype=float)
        found = np.where(np.isfinite(found), found, np.inf)
        order = np.argsort(found)
        if found[order[0]] < best.value:
            best = Best(float(found[order[0]]), points[order[0]])
        chosen = moves[order[:half]]
        move = weights @ chosen
        middle = middle + step * move * spread
        step_path = (1 - step_rate) * step_path + np.sqrt(
            step_rate * (2 - step_rate) * effective
        ) * (axes @ ((axes.T @ move) / lengths))
        far = np.linalg.norm(step_path) / np.sqrt(1 - (1 - step_rate) ** (2 * generation))
        stalled = far >= (1.4 + 2 / (n + 1)) * expected
        path = (1 - path_rate) * path
        if not stalled:
            path = path + np.sqrt(path_rate * (2 - path_rate) * effective) * move
        covariance = (
            (1 - one - many) * covariance
            + one * np.outer(path, path)
            + many * (chosen.T * weights) @ chosen
        )
        step *= np.exp((step_rate / damping) * (np.linalg.norm(step_path) / expected - 1))
        yield best
