"""Noises: corruption of readings by random quantities."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.arrays import Array
from mjgym.variation.distributions import Distribution, Integers

_SEEDS = Integers(0, 2**53 - 1)  # that a float64 holds


@dataclass(frozen=True, eq=False)
class Noise:
    """A corruption of readings."""

    distribution: Distribution  # drawn for every number of every reading
    # Function of readings and draws, arrays of one shape with the readings along the first axis;
    # returns the corrupted readings
    combine: Callable[[Array, Array], Array]

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            raise TypeError(f"a noise needs a distribution, got {self.distribution!r}")


def additive(distribution: Distribution) -> Noise:
    return Noise(distribution, operator.add)


def multiplicative(distribution: Distribution) -> Noise:
    return Noise(distribution, operator.mul)


def corruptor(function: Callable[[np.ndarray, np.random.Generator], Any]) -> Noise:
    """Noise by a function of a reading and a generator; it returns the corrupted reading."""
    return Noise(_SEEDS, _Corruption(function))


@dataclass(frozen=True)
class _Corruption:
    """Calls a function for each reading, with a generator seeded by the reading's draw."""

    function: Callable[[np.ndarray, np.random.Generator], Any]

    def __call__(self, values: Array, drawn: Array) -> np.ndarray:
        seeds = np.reshape(drawn, (len(values), -1))[:, 0].astype(np.int64).tolist()
        return np.stack(
            [
                np.asarray(self.function(np.array(value), np.random.default_rng(seed)))
                for value, seed in zip(values, seeds, strict=True)
            ]
        )
