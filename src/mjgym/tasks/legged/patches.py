"""Ground of patches that grow harder row by row, as in mjlab's velocity tasks: a height field.

A patch depends on its difficulty, 0 to 1. A column has one kind of patch, a row one difficulty.
Steps are as steep as the grid allows.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

CELL = 0.1  # m, of the grid
UNIT = 0.005  # m, of heights
SIZE = 8.0  # m, of a patch
LEVEL_RIM = 0.2  # m, level around slopes, roughness and waves
BORDER = 20.0  # m, level around all patches
LEVELS = 10  # rows

STEP_HEIGHT, STEP_WIDTH, STEP_PLATFORM, STEP_RIM = 0.1, 0.3, 3.0, 1.0  # m; the height at most
STEEPEST, SLOPE_PLATFORM = 1.0, 2.0  # greatest slope; m
ROUGHNESS = (0.02, 0.04, 0.06, 0.08, 0.1)  # m, heights drawn point by point
WAVES, HIGHEST_WAVE = 4, 0.2  # along a side; m, from trough to crest of both directions
START = 0.5  # m from a patch's centre each way, where robots start

_AXIS = np.linspace(-SIZE / 2, SIZE / 2, round(SIZE / CELL) + 1)
_X, _Y = np.meshgrid(_AXIS, _AXIS)
_INNER = np.maximum(abs(_X), abs(_Y)) < SIZE / 2 - LEVEL_RIM + CELL / 2


class Patch(NamedTuple):
    """A patch: its heights, (81, 81) m, and the height at which robots start, m."""

    heights: np.ndarray
    start: float


Make = Callable[[float, Any], Patch]
"""Makes a patch from its difficulty and a generator."""


def _on_top(heights: np.ndarray) -> Patch:
    near = np.maximum(abs(_X), abs(_Y)) <= START
    heights = np.trunc(heights / UNIT + 1e-9 * np.sign(heights)) * UNIT
    return Patch(heights, float(heights[near].max()))


def flat(difficulty: float, rng: Any) -> Patch:
    return _on_top(np.zeros_like(_X))


def stairs(difficulty: float, rng: Any) -> Patch:
    """Square stairs up to a platform in the middle."""
    outside = np.maximum(abs(_X), abs(_Y))
    steps = round((SIZE / 2 - STEP_RIM - STEP_PLATFORM / 2) / STEP_WIDTH)
    climbed = np.ceil((SIZE / 2 - STEP_RIM - outside) / STEP_WIDTH - 1e-9)
    climbed = np.where(outside < STEP_PLATFORM / 2, steps + 1, np.clip(climbed, 0, steps))
    return _on_top(climbed * STEP_HEIGHT * difficulty)


def slope(difficulty: float, rng: Any) -> Patch:
    """A pyramid with a platform on top."""
    half = SIZE / 2 - LEVEL_RIM
    side_x, side_y = (np.clip(1 - abs(x) / half, 0, None) for x in (_X, _Y))
    highest = (1 - SLOPE_PLATFORM / 2 / half) ** 2
    return _on_top(STEEPEST * difficulty * half * np.minimum(side_x * side_y, highest))


def roughness(difficulty: float, rng: Any) -> Patch:
    """Random heights, independent of the difficulty; robots start at their mean."""
    heights = np.where(_INNER, rng.choice(ROUGHNESS, _X.shape), 0.0)
    return Patch(heights, float(np.mean(ROUGHNESS)))


def waves(difficulty: float, rng: Any) -> Patch:
    """Waves along both sides."""
    k = 2 * np.pi * WAVES / (SIZE - 2 * LEVEL_RIM)
    heights = HIGHEST_WAVE * difficulty / 2 * (np.cos(k * _Y) + np.sin(k * _X))
    return _on_top(np.where(_INNER, heights, 0.0))


def below(make: Make) -> Make:
    """The patch upside down: a pit."""

    def pit(difficulty: float, rng: Any) -> Patch:
        return _on_top(-make(difficulty, rng).heights)

    return pit


KINDS: dict[str, tuple[Make, float]] = {
    "flat": (flat, 0.2),
    "stairs_up": (stairs, 0.2),
    "stairs_down": (below(stairs), 0.2),
    "slope_up": (slope, 0.1),
    "slope_down": (below(slope), 0.1),
    "roughness": (roughness, 0.1),
    "waves": (waves, 0.1),
}
"""Kinds of patches, column by column, with their shares of the robots."""


class Terrain(NamedTuple):
    """A whole ground."""

    heights: np.ndarray  # m, of the grid's points: along y, then x; its centre is the origin
    origins: np.ndarray  # where robots start, (rows, columns, 3) m

    @property
    def half(self) -> tuple[float, float]:
        """Half of its length along x and y, m, without the border."""
        rows, columns, _ = self.origins.shape
        return rows * SIZE / 2, columns * SIZE / 2


@functools.cache  # hooks ask at each step
def terrain(seed: int) -> Terrain:
    """The ground of a seed, which its random heights depend on."""
    rng = np.random.default_rng(seed)
    cells = round(SIZE / CELL)
    heights = np.zeros((len(KINDS) * cells + 1, LEVELS * cells + 1))
    origins = np.zeros((LEVELS, len(KINDS), 3))
    for column, (make, _) in enumerate(KINDS.values()):
        for row in range(LEVELS):
            patch = make(row / (LEVELS - 1), rng)
            across, along = column * cells, row * cells
            heights[across : across + cells + 1, along : along + cells + 1] += patch.heights
            centre = (row - (LEVELS - 1) / 2) * SIZE, (column - (len(KINDS) - 1) / 2) * SIZE
            origins[row, column] = *centre, patch.start
    return Terrain(heights, origins)
