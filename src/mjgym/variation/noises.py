"""Noises: how a random quantity corrupts a reading."""

import operator
from collections.abc import Callable
from dataclasses import dataclass

from mjgym.arrays import Array
from mjgym.variation.distributions import Distribution


@dataclass(frozen=True, eq=False)
class Noise:
    """A corruption of readings.

    Args:
        distribution: of what is drawn for every number of every reading.
        combine: of a reading and what has been drawn for it, arrays of one shape; gives the
            corrupted reading.
    """

    distribution: Distribution
    combine: Callable[[Array, Array], Array]

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            raise TypeError(f"a noise needs a distribution, got {self.distribution!r}")


def additive(distribution: Distribution) -> Noise:
    """Each number plus a draw."""
    return Noise(distribution, operator.add)


def multiplicative(distribution: Distribution) -> Noise:
    """Each number times a draw."""
    return Noise(distribution, operator.mul)
