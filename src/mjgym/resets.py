"""Samplers of initial states, for `Task.initialize`."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjgym.rotations import about_z
from mjgym.sim.single import SingleView

Box = tuple[Sequence[float], Sequence[float]]
"""Lower and upper corner of a box, (3,) m each."""

_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint
_SPEED = 1e-3  # of what rests, at most, m/s and rad/s
_ACCELERATION = 1e-2  # m/s^2 and rad/s^2


def unit_vector(rng: Any, size: int) -> np.ndarray:
    """A direction uniform on the unit sphere in `size` dimensions, (size,).

    With `size=4` it is a quaternion of a uniform rotation.
    """
    vector: np.ndarray = rng.normal(size=size)
    vector /= np.linalg.norm(vector)
    return vector


def random_joints(v: SingleView, rng: Any) -> None:
    """Draw the position of every joint, in model order.

    Limited hinges and slides are uniform in their range, unlimited hinges in (-pi, pi), balls are
    uniform rotations (limited ones rotate about a uniform axis by up to their limit). Unlimited
    slides and positions of free joints stay unchanged. A free joint's quaternion is four numbers
    uniform in (0, 1), normalised: as in the published suite, and not a uniform rotation.
    """
    kinds, limited = v.jnt_type, v.jnt_limited.astype(bool)
    drawn = (kinds == _HINGE) | ((kinds == _SLIDE) & limited)
    low, high = np.where(limited[:, None], v.jnt_range, (-np.pi, np.pi)).T
    first = 0
    for rotation in [*np.flatnonzero(kinds <= _BALL), len(kinds)]:  # and the scalars in between
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
    """Repeat `draw` until the scene has no contacts.

    Values that `draw` does not write keep those of the rejected attempt.

    Raises:
        RuntimeError: every attempt had a contact; with `attempts=None` there is no limit.
    """
    if not _repeat(v, draw, lambda: bool(v.ncon == 0), attempts):
        raise RuntimeError(f"no start without contacts in {attempts} attempts")


def _repeat(
    v: SingleView, draw: Callable[[], None], is_free: Callable[[], bool], attempts: int | None
) -> bool:
    for _ in itertools.count() if attempts is None else range(attempts):
        draw()
        v.detect_contacts()
        if is_free():
            return True
    return False


def random_pose(rng: Any, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """A position uniform in a box, (3,) m, and a quaternion uniform about the vertical, (4,)."""
    pos = rng.uniform(*box)
    return pos, np.asarray(about_z(rng.uniform(-np.pi, np.pi)))


def put(v: SingleView, body: str, pos: Any, quat: Any = None) -> None:
    """Set the pose of a body of the world, at rest.

    Writes the free joint's qpos or, for a fixed body, `body_pos` and `body_quat`, which the task
    must list in `varies`.

    Args:
        v: the scratch simulation.
        pos: world position, (3,) m.
        quat: world orientation, (4,), normalised here; None keeps the current one.

    Raises:
        ValueError: the body has other joints, or is a child of another body.
    """
    named = v.body(body)
    if named.parentid[0] != 0:
        raise ValueError(f"put: body {body!r} is not in the world but on another body")
    joint = int(named.jntadr[0])
    if joint >= 0 and v.jnt_type[joint] != _FREE:
        raise ValueError(f"put: body {body!r} moves by joints that are not free")
    place, turn = named.pos, named.quat
    if joint >= 0:
        start, speed = int(v.jnt_qposadr[joint]), int(v.jnt_dofadr[joint])
        place, turn = v.qpos[start : start + 3], v.qpos[start + 3 : start + 7]
        v.qvel[speed : speed + 6] = 0
    place[:] = pos
    if quat is not None:
        turn[:] = np.asarray(quat) / np.linalg.norm(quat)


def place_bodies(
    v: SingleView,
    rng: Any,
    bodies: Sequence[str],
    box: Box,
    *,
    turned: bool = True,
    attempts: int = 20,
    ignored: Sequence[str] = (),
    called: Sequence[str] = (),
) -> None:
    """Place bodies of the world one after the other, uniformly in a box, without contacts.

    Each body gets a uniform position and a uniform angle about the vertical, and is redrawn while
    it is in contact. Bodies that are not placed yet are ignored.

    Args:
        v: the scratch simulation.
        bodies: their names; `put` moves them.
        turned: whether to draw the angle about the vertical; otherwise it is 0.
        attempts: maximum number of attempts per body.
        ignored: names of bodies of the world that may be touched.
        called: names of the bodies in error messages; empty for the model's.

    Raises:
        RuntimeError: a body had a contact in every attempt; the message names it.
    """
    for i, body in enumerate(bodies):
        placed, unseen = v.body(body).id, [v.body(name).id for name in (*bodies[i + 1 :], *ignored)]
        draw = functools.partial(_put_anywhere, v, rng, body, box, turned)
        is_free = functools.partial(_is_free, v, placed, unseen)
        with v.contacts_of([placed]):
            free = _repeat(v, draw, is_free, attempts)
        if not free:
            name = called[i] if called else body
            raise RuntimeError(f"no place for {name!r} without contacts in {attempts} attempts")


def _put_anywhere(v: SingleView, rng: Any, body: str, box: Box, turned: bool) -> None:
    pos, quat = random_pose(rng, box) if turned else (rng.uniform(*box), (1.0, 0.0, 0.0, 0.0))
    put(v, body, pos, quat)


def _is_free(v: SingleView, body: int, unseen: Sequence[int]) -> bool:
    """Tell whether a body of the world, with its descendants, touches nothing but the `unseen`."""
    contact = v.contact
    # Pairs of root bodies; geoms with a margin are listed before they touch.
    pairs = v.body_rootid[v.geom_bodyid[contact.geom]][contact.dist <= 0]
    touching = pairs[(pairs == body).any(axis=-1)]
    return bool(np.isin(touching, unseen).any(axis=-1).all())


def settle(v: SingleView, joints: Sequence[str], *, time_limit: float = 2.0) -> None:
    """Simulate until some joints are at rest, with all other joints fixed.

    The other joints are reset after each physics step; bodies they carry do not collide with each
    other meanwhile. The clock is reset at the end. Joints that are not at rest by the time limit
    stay where they are.

    Args:
        v: the scratch simulation.
        time_limit: simulated time, s.
    """
    positions, velocities = v.rows("qpos", joints), v.rows("qvel", joints)
    start, held = v.time, (v.qpos.copy(), v.qvel.copy())
    with v.contacts_of(v.take("jnt_bodyid", joints).tolist()):
        v.forward()
        while v.time - start < time_limit:
            v.step(follow=False)
            moved = v.qpos[positions].copy(), v.qvel[velocities].copy()
            v.qpos[:], v.qvel[:] = held
            v.qpos[positions], v.qvel[velocities] = moved
            v.forward()
            speed, acceleration = np.abs(moved[1]).max(), np.abs(v.qacc[velocities]).max()
            if speed < _SPEED and acceleration < _ACCELERATION:
                break
    v.time = start
