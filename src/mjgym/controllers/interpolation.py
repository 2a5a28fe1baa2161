"""Linear interpolation: a goal reached over the first physics steps of a control step."""

import math

from mjgym.arrays import Array, namespace


def ramp_steps(ramp_ratio: float, substeps: int) -> int:
    """Number of physics steps of a ramp: a fraction of the control step, rounded up."""
    return math.ceil(ramp_ratio * substeps - 1e-9)


def ramp(since: Array, steps: int) -> Array:
    """Fraction of the way to a goal, (...) in (0, 1].

    The published ramp is harmonic: 1/5, 1/4, 1/3, 1/2 and 1 of the way for five steps. It would be
    linear if each step started from the previous point instead of the ramp's start.

    Args:
        since: physics steps since the goal was set, (...), from 0.
        steps: length of the ramp, from `ramp_steps`.
    """
    xp = namespace(since)
    return 1 / xp.maximum(steps - since, xp.ones_like(since))
