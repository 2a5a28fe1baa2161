"""Contacts among what is held are left out of the search, and no others."""

import mujoco
import numpy as np
import pytest

from mjgym.sim import SingleView
from mjgym.sim.contact_filter import BITS, FILTERS, contacts_of

BODIES = 8


def crowded(rng):
    """Bodies within each other, some of them on others, with random bits."""
    spec = mujoco.MjSpec()
    bodies = []
    for i in range(BODIES):
        parent = bodies[rng.integers(i)] if i and rng.uniform() < 0.3 else spec.worldbody
        body = parent.add_body(name=f"body_{i}", pos=rng.uniform(-0.1, 0.1, 3))
        if parent is spec.worldbody:
            body.add_freejoint() if i % 2 else None
        else:
            body.add_joint(axis=rng.normal(size=3))
        for _ in range(2):
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.2, 0, 0], pos=rng.uniform(-0.1, 0.1, 3),
                contype=rng.integers(4), conaffinity=rng.integers(4),
            )  # fmt: skip
        bodies.append(body)
    return spec.compile()


def pairs(model, data):
    return [tuple(geoms) for geoms in data.contact.geom.tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_are_the_contacts_of_what_moves(seed):
    rng = np.random.default_rng(seed)
    model = crowded(rng)
    data = mujoco.MjData(model)
    v = SingleView(model, data)
    chosen = [model.body(f"body_{i}").id for i in rng.choice(BODIES, 2, replace=False)]
    moves = [any(b in chosen for b in _chain(model, body)) for body in model.geom_bodyid]
    v.detect_contacts()
    whole = pairs(model, data)
    assert whole
    before = {name: getattr(model, name).copy() for name in FILTERS}
    with v.contacts_of(chosen):
        v.detect_contacts()
        assert pairs(model, data) == [p for p in whole if moves[p[0]] or moves[p[1]]]
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(model, name), values)
    v.detect_contacts()
    assert pairs(model, data) == whole


def _chain(model, body):
    while body:
        yield body
        body = model.body_parentid[body]


def test_an_error_puts_everything_back():
    model = crowded(np.random.default_rng(0))
    v = SingleView(model, mujoco.MjData(model))
    before = model.geom_contype.copy()
    with pytest.raises(KeyError, match="mine"), v.contacts_of([1]):
        raise KeyError("mine")
    np.testing.assert_array_equal(model.geom_contype, before)


@pytest.mark.parametrize("count", [BITS - 1, BITS])
def test_more_kinds_of_geoms_than_bits_stay_as_they_are(count):
    spec = mujoco.MjSpec()
    for i in range(count):
        spec.worldbody.add_geom(size=[0.1, 0, 0], contype=i, conaffinity=1)
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(size=[0.1, 0, 0])
    assert bool(contacts_of(spec.compile(), (1,))) == (count < BITS)
