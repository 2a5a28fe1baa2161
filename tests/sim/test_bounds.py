"""Bounding volumes of geoms that have been changed: those that the engine would compile."""

import mujoco
import numpy as np
import pytest

from mjgym.sim import Single
from mjgym.sim.bounds import REFITTED, RESIZABLE

KINDS = sorted(RESIZABLE)
GEOMS = 13


def random_geoms(rng):
    kinds = rng.choice(KINDS, GEOMS)
    sizes, places = rng.uniform(0.1, 0.5, (GEOMS, 3)), rng.uniform(-2, 2, (GEOMS, 3))
    turns = rng.normal(size=(GEOMS, 4))
    return kinds, sizes, places, turns / np.linalg.norm(turns, axis=1, keepdims=True)


def compiled(kinds, sizes, places, turns):
    """A world with half of the geoms, and a body whose inertial frame is its own with the rest."""
    spec = mujoco.MjSpec()
    turned = {"ipos": [0.3, 0.1, -0.2], "iquat": [0.5, 0.5, 0.5, 0.5]}
    body = spec.worldbody.add_body(
        name="body", mass=1, inertia=[1, 1, 1], explicitinertial=True, **turned
    )
    for i, (kind, size, place, turn) in enumerate(zip(kinds, sizes, places, turns, strict=True)):
        within = body if i % 2 else spec.worldbody
        within.add_geom(name=f"geom_{i}", type=kind, size=size, pos=place, quat=turn)
    return spec.compile()


@pytest.mark.parametrize("seed", range(5))
def test_they_equal_those_of_a_model_compiled_with_the_same_numbers(seed):
    rng = np.random.default_rng(seed)
    kinds, sizes, places, turns = random_geoms(rng)
    model = compiled(kinds, sizes, places, turns)
    _, *changed = random_geoms(rng)
    wanted = compiled(kinds, *changed)
    names = [f"geom_{i}" for i in range(GEOMS)]
    rows = [model.geom(name).id for name in names]
    single = Single(model, ("geom_size", "geom_pos", "geom_quat", *REFITTED))
    for field, values in zip(("geom_size", "geom_pos", "geom_quat"), changed, strict=True):
        getattr(single.view, field)[rows] = values
    model.geom_size[...] = wanted.geom_size  # the engine writes 0 for what a kind does not use
    single.view.refit(names)
    np.testing.assert_allclose(model.geom_rbound, wanted.geom_rbound, rtol=1e-12)
    np.testing.assert_allclose(model.geom_aabb, wanted.geom_aabb, rtol=1e-12)
    for body in range(model.nbody):  # the tree is another one, but its root holds everything
        top = model.body_bvhadr[body]
        np.testing.assert_allclose(
            model.bvh_aabb[top], wanted.bvh_aabb[wanted.body_bvhadr[body]], atol=1e-12
        )
    leaves = {int(g): box for g, box in zip(wanted.bvh_nodeid, wanted.bvh_aabb, strict=True)}
    for geom, box in zip(model.bvh_nodeid, model.bvh_aabb, strict=True):
        if geom >= 0:
            np.testing.assert_allclose(box, leaves[int(geom)], atol=1e-12)
