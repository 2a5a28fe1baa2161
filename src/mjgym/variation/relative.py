"""Draws relative to the model's numbers, shared, or repeated, for the keyword `vary`."""

from dataclasses import dataclass

from mjgym.variation.distributions import Constant, Distribution, Value
from mjgym.variation.written import Written


@dataclass(frozen=True, eq=False)
class Factor(Written):
    """The model's number times a draw; an orientation turned by it, about its local axes."""

    distribution: Distribution


@dataclass(frozen=True, eq=False)
class Offset(Written):
    """The model's number plus a draw."""

    distribution: Distribution


@dataclass(frozen=True, eq=False)
class Shared(Written):
    """One draw for all the numbers that a key names, instead of one for each."""

    of: Distribution | Factor | Offset


@dataclass(frozen=True, eq=False)
class Redrawn(Written):
    """A force that is redrawn every `every` seconds within the episode."""

    of: Distribution | Shared
    every: Distribution


def factor(value: Value) -> Factor:
    """Times the model's number: `vary={"body_mass": factor(Uniform(0.8, 1.2))}`.

    Orientations are turned by a rotation, about their local axes:
    `vary={"body_quat[tail]": factor(rotations.About((0, 0, 1), Normal(0, 0.2)))}`.
    """
    return Factor(value if isinstance(value, Distribution) else Constant(value))


def offset(value: Value) -> Offset:
    """Plus the model's number: `vary={"geom_pos[target]": offset(Normal(0, 0.1))}`."""
    return Offset(value if isinstance(value, Distribution) else Constant(value))


def shared(value: Value) -> Shared:
    """One draw for all numbers of a key: `vary={"body_mass": shared(factor(Uniform(0.8, 1.2)))}`.

    All body masses are then scaled by the same factor, instead of one factor each.
    """
    known = isinstance(value, Distribution | Factor | Offset)
    return Shared(value if known else Constant(value))


def redrawn(value: Value | Shared, every: float | Distribution) -> Redrawn:
    """A force that is redrawn within the episode: `redrawn(Normal(0, 5), every=0.5)`.

    It is constant between two draws. `redrawn(Bernoulli(0.1) * Normal(0, 50), every=0.1)` pushes
    for 0.1 s now and then, and `every=Uniform(0.5, 2)` at irregular times.

    Args:
        value: of the force (N) or torque (N m).
        every: time from one draw to the next, s; a draw takes effect with the next control step.

    Raises:
        ValueError: `every` can be 0 or less.
    """
    times = every if isinstance(every, Distribution) else Constant(every)
    if times.shape != () or not times.support[0] > 0:
        raise ValueError(f"redrawn: every: expected positive seconds, got {every!r}")
    known = isinstance(value, Distribution | Shared)
    return Redrawn(value if known else Constant(value), times)
