"""Random rotations, as unit quaternions (..., 4) in MuJoCo's order w, x, y, z."""

from dataclasses import dataclass

import numpy as np

from mjgym.rotations import about
from mjgym.variation.distributions import (
    Distribution,
    Shape,
    Value,
    check_parameters,
    draw_parameter,
    draws_of,
    shape_of,
)


class Rotation(Distribution):
    """A random rotation: a draw's last axis is a quaternion."""

    _shape = (4,)
    _support = (-1.0, 1.0)


def _lead(shape: Shape) -> Shape:
    if shape[-1:] != (4,):
        raise ValueError(f"rotations end in an axis of 4 numbers, not {shape}")
    return shape[:-1]


@dataclass(frozen=True, eq=False)
class Uniform(Rotation):
    """Uniform over all rotations: four normal numbers, normalized (Marsaglia 1972)."""

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        drawn = rng.normal(size=(n, *_lead(shape), 4))
        return np.asarray(drawn / np.sqrt((drawn * drawn).sum(axis=-1, keepdims=True)))

    def __repr__(self) -> str:
        return "rotations.Uniform()"


@dataclass(frozen=True, eq=False)
class About(Rotation):
    """A rotation about an axis."""

    axis: Value  # (3,), of any length, or a distribution of it
    angle: Value

    def __post_init__(self) -> None:
        if shape_of(self.axis) != (3,):
            raise ValueError(f"About: axis must have three numbers, got {self.axis!r}")
        check_parameters(self)
        if not isinstance(self.axis, Distribution) and not np.any(self.axis):
            raise ValueError("About: the axis has no direction, it is zero")

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        lead = _lead(shape)
        axis = draw_parameter(self.axis, rng, n, len(lead) + 1, first)
        axis = axis / np.sqrt((axis * axis).sum(axis=-1, keepdims=True))
        return np.asarray(about(axis, draws_of(self.angle, rng, n, lead, first)))
