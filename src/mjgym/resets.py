"""Samplers of initial states, for `Task.initialize`."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjgym.rotations import about_z
from mjgym.sim.single import SingleView

Box = tuple[Sequence[float], Sequence[float]]
"""Lower and upper corner of a box that positions are drawn from, (3,) m each."""

_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint


def unit_vector(rng: Any, size: int) -> np.ndarray:
    """A direction drawn uniformly from the sphere in `size` dimensions, (size,).

    With `size=4` it is a quaternion drawn uniformly from all rotations.
    """
    vector = rng.normal(size=size)
    return np.asarray(vector / np.linalg.norm(vector))


def random_joints(v: SingleView, rng: Any) -> None:
    """Draw the position of every joint, in the order of the model.

    Limited hinges and slides are uniform in their range, unlimited hinges in (-pi, pi), balls are
    uniform rotations (limited ones rotate about a uniform axis by up to their limit). Unlimited
    slides and positions of free joints stay unchanged. A free joint's quaternion is four numbers
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
        draw: writes one attempt; values it does not write keep those of the rejected attempt.
        attempts: the largest number of attempts; None for no limit.

    Raises:
        RuntimeError: every attempt had a contact.
    """
    if not _repeat(v, draw, lambda: bool(v.ncon == 0), attempts):
        raise RuntimeError(f"no start without contacts in {attempts} attempts")


def _repeat(
    v: SingleView, draw: Callable[[], None], is_free: Callable[[], bool], attempts: int | None
) -> bool:
    """Repeat `draw` until the scene `is_free`; returns whether it succeeded."""
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

    This writes the free joint's qpos or, for a fixed body, `body_pos` and `body_quat`, which the
    task must list in `varies`.

    Args:
        v: the scratch simulation.
        body: its name.
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
    it touches something. Bodies that are not placed yet are ignored.

    Args:
        v: the scratch simulation.
        rng: the generator.
        bodies: their names; see `put` for how they are moved.
        box: where their frames may be.
        turned: draw the angle about the vertical; otherwise keep it at 0.
        attempts: the largest number of attempts per body.
        ignored: names of bodies of the world that may be touched.
        called: the name of the bodies in an error; empty for their own names.

    Raises:
        RuntimeError: a body touched something in every attempt; the message names it.
    """
    for i, body in enumerate(bodies):
        placed, unseen = v.body(body).id, [v.body(name).id for name in (*bodies[i + 1 :], *ignored)]
        draw = functools.partial(_put_anywhere, v, rng, body, box, turned)
        is_free = functools.partial(_is_free, v, placed, unseen)
        with v.contacts_of([placed]):
            found = _repeat(v, draw, is_free, attempts)
        if not found:
            name = called[i] if called else body
            raise RuntimeError(f"no place for {name!r} without contacts in {attempts} attempts")


def _put_anywhere(v: SingleView, rng: Any, body: str, box: Box, turned: bool) -> None:
    pos, quat = random_pose(rng, box) if turned else (rng.uniform(*box), (1.0, 0.0, 0.0, 0.0))
    put(v, body, pos, quat)


def _is_free(v: SingleView, body: int, unseen: Sequence[int]) -> bool:
    """Whether a body of the world, with all that is on it, touches nothing but the `unseen`."""
    contact = v.contact
    # Pairs of bodies of the world; geoms with a margin are listed before they touch.
    pairs = v.body_rootid[v.geom_bodyid[contact.geom]][contact.dist <= 0]
    touching = pairs[(pairs == body).any(axis=-1)]
    return bool(np.isin(touching, unseen).any(axis=-1).all())


def settle(
    v: SingleView,
    joints: Sequence[str],
    *,
    speed: float = 1e-3,
    acceleration: float = 1e-2,
    time_limit: float = 2.0,
) -> None:
    """Simulate until some joints have come to rest, with all other joints fixed.

    After each physics step the other joints are reset; bodies they carry do not collide with each
    other meanwhile. At the end the clock is reset. Joints that have not come to rest within the
    time limit stay as they are.

    Args:
        v: the scratch simulation.
        joints: names of the moving joints.
        speed: m/s and rad/s; at rest, all velocities are below it.
        acceleration: m/s^2 and rad/s^2; at rest, all accelerations are below it.
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
            if np.abs(moved[1]).max() < speed and np.abs(v.qacc[velocities]).max() < acceleration:
                break
    v.time = start
