"""Shaping rewards of "Learn to Move" walkers: none is part of the published score.

`vector` to `knee_bend` are those with which S. Kolesnikov and V. Khrulkov, "Sample Efficient
Ensemble Learning with Catalyst.RL" (2020, arXiv 2003.14210), came second in the competition, as
their program computes them; they paid 0.3 of `vector` per control step. Velocities are (..., 2) m/s
in the world, and all results (...).
"""

from mjgym.arrays import Array, namespace, total
from mjgym.rewards import tolerance
from mjgym.rotations import cross
from mjgym.tasks.l2m.target_field import SINK_RADIUS

PACE_MARGIN = 1.4  # m/s off the target velocity, where the pace is worth 0.1
SLOW_TARGET = 0.5  # m/s, lower targets reward progress as this one does
FARTHEST_OFF = 3.0  # m/s off the target, in velocity or speed, which is worth nothing
FARTHEST_SINK = 8.0  # m to the sink, which is worth nothing
UNCROSSED = 0.1  # cosine between the legs' normal and the trunk, beyond which nothing is gained
CROSSED = 0.2  # added to that cosine
STILL = 1e-6  # m/s or m, least length of a vector that has a direction


def pace(velocity: Array, target: Array) -> Array:
    """1 at the target velocity, 0.1 at 1.4 m/s off."""
    return tolerance(_length(velocity - target), margin=PACE_MARGIN)


def progress(velocity: Array, target: Array) -> Array:
    """Velocity along the target, as a fraction of it, within -1 and 1."""
    xp = namespace(velocity)
    square = xp.clip(total(target * target), SLOW_TARGET**2, None)
    return xp.clip(total(velocity * target) / square, -1.0, 1.0)


def vector(velocity: Array, target: Array) -> Array:
    """1 at the target velocity, less the square of the distance to it; 0 at 3 m/s off."""
    return _closeness(_length(velocity - target), FARTHEST_OFF)


def speed(velocity: Array, target: Array, to_sink: Array | None = None) -> Array:
    """`vector` of the speeds alone, in any direction; 1 at the sink.

    Args:
        to_sink: distance to the sink, (...) m; None without sinks.
    """
    return _one_at_sink(_closeness(_length(velocity) - _length(target), FARTHEST_OFF), to_sink)


def direction(velocity: Array, target: Array, to_sink: Array | None = None) -> Array:
    """1 in the direction of the target at any speed, 0.5 across, 0 against it; 1 at the sink.

    Arguments are those of `speed`.
    """
    off = _unit(velocity) - _unit(target)
    return _one_at_sink(1 - total(off * off) / 4, to_sink)


def target(to_sink: Array) -> Array:
    """Reward near the sink: 1 there, and (1 - distance / 8 m)^2 up to 8 m."""
    xp = namespace(to_sink)
    near: Array = xp.clip(1 - to_sink / FARTHEST_SINK, 0.0, None)
    return near * near


def crossing_legs(left: Array, right: Array, head: Array) -> Array:
    """0.3 at most, with the legs apart; lower when they cross.

    Arguments are the toes and the head relative to the pelvis, (..., 3) m.
    """
    xp = namespace(left)
    normal = _unit(cross(_unit(left), _unit(right)))
    return xp.clip(total(normal * _unit(head)), None, UNCROSSED) + CROSSED


def knee_bend(extension: Array) -> Array:
    """Sum of the knees' flexions, rad, by their extensions, (..., 2) rad, negative when bent."""
    return -total(namespace(extension).clip(extension, None, 0.0))


def _closeness(off: Array, farthest: float) -> Array:
    xp = namespace(off)
    return 1 - xp.clip(off * off / farthest**2, 0.0, 1.0)


def _one_at_sink(worth: Array, to_sink: Array | None) -> Array:
    if to_sink is None:
        return worth
    xp = namespace(worth)
    return xp.where(to_sink < SINK_RADIUS, xp.ones_like(worth), worth)


def _length(x: Array) -> Array:
    return namespace(x).sqrt(total(x * x))


def _unit(x: Array) -> Array:
    return x / namespace(x).clip(_length(x), STILL, None)[..., None]
