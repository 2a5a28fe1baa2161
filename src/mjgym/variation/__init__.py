"""Random quantities: distributions, rotations, colours and noises over NumPy's generator."""

from mjgym.variation import colours, noises
from mjgym.variation import orientations as rotations
from mjgym.variation.distributions import (
    Bernoulli,
    Choice,
    Constant,
    Custom,
    Distribution,
    Exponential,
    Integers,
    LogNormal,
    Normal,
    Poisson,
    Sequence,
    Uniform,
)
from mjgym.variation.relative import Variation, factor, offset, redrawn, shared

__all__ = [
    "Bernoulli",
    "Choice",
    "Constant",
    "Custom",
    "Distribution",
    "Exponential",
    "Integers",
    "LogNormal",
    "Normal",
    "Poisson",
    "Sequence",
    "Uniform",
    "Variation",
    "colours",
    "factor",
    "noises",
    "offset",
    "redrawn",
    "rotations",
    "shared",
]
