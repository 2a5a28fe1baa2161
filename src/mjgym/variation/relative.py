"""Draws that are relative to a model's own number, for the keyword argument `vary`."""

from dataclasses import dataclass

from mjgym.variation.distributions import Constant, Distribution, Value
from mjgym.variation.written import Written


@dataclass(frozen=True, eq=False)
class Factor(Written):
    """The model's own number times a draw; an orientation turned by it, about its own axes."""

    distribution: Distribution


@dataclass(frozen=True, eq=False)
class Offset(Written):
    """The model's own number plus a draw."""

    distribution: Distribution


@dataclass(frozen=True, eq=False)
class Shared(Written):
    """One draw for all the numbers that a key names, instead of one for each."""

    of: Distribution | Factor | Offset


def factor(value: Value) -> Factor:
    """Times the model's own number: `vary={"body_mass": factor(Uniform(0.8, 1.2))}`.

    Orientations are turned by a rotation, about their own axes:
    `vary={"body_quat[tail]": factor(rotations.About((0, 0, 1), Normal(0, 0.2)))}`.
    """
    return Factor(value if isinstance(value, Distribution) else Constant(value))


def offset(value: Value) -> Offset:
    """Plus the model's own number: `vary={"geom_pos[target]": offset(Normal(0, 0.1))}`."""
    return Offset(value if isinstance(value, Distribution) else Constant(value))


def shared(value: Value) -> Shared:
    """One draw for all that a key names: `vary={"body_mass": shared(factor(Uniform(0.8, 1.2)))}`.

    All parts of a body then grow heavier together, where each would have a draw of its own.
    """
    known = isinstance(value, Distribution | Factor | Offset)
    return Shared(value if known else Constant(value))
