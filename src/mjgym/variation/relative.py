"""Draws relative to the model's numbers, shared, or repeated, for the keyword `vary`."""

from dataclasses import dataclass, replace

from mjgym.variation.distributions import Constant, Distribution, Value
from mjgym.variation.written import Written


@dataclass(frozen=True, eq=False)
class Variation(Written):
    """Variation of a key's numbers, made by `factor`, `offset`, `shared` or `redrawn`."""

    distribution: Distribution
    relative: str = "absolute"  # "absolute", or "factor" or "offset" of the model's numbers
    shared: bool = False  # whether one draw is for all numbers
    every: Distribution | None = None  # s between two draws within an episode, or None


def variation(value: "Value | Variation") -> Variation:
    """A number, an array, a distribution or a variation as a variation."""
    if isinstance(value, Variation):
        return value
    return Variation(value if isinstance(value, Distribution) else Constant(value))


def factor(value: Value) -> Variation:
    """Times the model's number: `vary={"body_mass": factor(Uniform(0.8, 1.2))}`.

    Orientations are turned by a rotation, about their local axes:
    `vary={"body_quat[tail]": factor(rotations.About((0, 0, 1), Normal(0, 0.2)))}`.
    """
    return replace(variation(value), relative="factor")


def offset(value: Value) -> Variation:
    """Plus the model's number: `vary={"geom_pos[target]": offset(Normal(0, 0.1))}`."""
    return replace(variation(value), relative="offset")


def shared(value: "Value | Variation") -> Variation:
    """One draw for all numbers of a key: `vary={"body_mass": shared(factor(Uniform(0.8, 1.2)))}`.

    All body masses are then scaled by the same factor, instead of one factor each.
    """
    return replace(variation(value), shared=True)


def redrawn(value: "Value | Variation", every: float | Distribution) -> Variation:
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
    return replace(variation(value), every=times)
