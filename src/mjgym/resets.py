"""Samplers for the starts of episodes; `Task.initialize` uses them on a scratch simulation."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.sim.single import SingleView

_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint


def unit_vector(rng: Any, size: int) -> np.ndarray:
    """A direction drawn uniformly from the sphere in `size` dimensions, (size,).

    With `size=4` it is a quaternion drawn uniformly from all rotations.
    """
    vector = rng.normal(size=size)
    return np.asarray(vector / np.linalg.norm(vector))


def random_joints(v: SingleView, rng: Any) -> None:
    """Draw every joint's position, in the order of the model.

    Limited hinges and slides are uniform in their range, unlimited hinges in (-pi, pi), balls are
    uniform rotations (limited ones turn about a uniform axis by up to their limit); unlimited
    slides and the place of free joints stay as they are. A free joint's quaternion is four numbers
    uniform in (0, 1), normalised: as in the published suite, and not a uniform rotation.
    """
    kinds, limited = v.jnt_type, v.jnt_limited.astype(bool)
    drawn = (kinds == _HINGE) | ((kinds == _SLIDE) & limited)
    low, high = np.where(limited[:, None], v.jnt_range, (-np.pi, np.pi)).T
    first = 0
    for rotation in [*np.flatnonzero(kinds <= _BALL), len(kinds)]:  # and what lies between them
        scalars = first + np.flatnonzero(drawn[first:rotation])
        v.qpos[v.jnt_qposadr[scalars]] = rng.uniform(low[scalars], high[scalars])
        if rotation < len(kinds):
            _random_rotation(v, rng, rotation)
        first = rotation + 1


def _random_rotation(v: SingleView, rng: Any, joint: int) -> None:
    start = v.jnt_qposadr[joint]
    if v.jnt_type[joint] == _FREE:
        quaternion = rng.uniform(size=4)
        v.qpos[start + 3 : start + 7] = quaternion / np.linalg.norm(quaternion)
    elif v.jnt_limited[joint]:
        axis = unit_vector(rng, 3)
        half = rng.uniform(0, v.jnt_range[joint, 1]) / 2
        v.qpos[start] = np.cos(half)
        v.qpos[start + 1 : start + 4] = np.sin(half) * axis
    else:
        v.qpos[start : start + 4] = unit_vector(rng, 4)


def until_free(v: SingleView, draw: Callable[[], None], attempts: int | None = None) -> None:
    """Repeat `draw` until nothing in the scene touches anything.

    Args:
        v: the scratch simulation that `draw` writes to.
        draw: writes one attempt; what it does not write keeps the rejected attempt's value.
        attempts: give up after this many; None never does.

    Raises:
        RuntimeError: there was a contact in every attempt.
    """
    for _ in itertools.count() if attempts is None else range(attempts):
        draw()
        v.detect_contacts()
        if v.ncon == 0:
            return
    raise RuntimeError(f"no start without contacts in {attempts} attempts")
