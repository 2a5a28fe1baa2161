"""Coats and textures that are computed: closed, tied to the bones, without seams."""

from collections import Counter

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.registered import registered_task
from mjgym.mjcf import textures
from mjgym.rendering import dressed
from mjgym.task.models import compile_model

FURRY = {"dmc/dog-stand-v0": 0.008, "locomotion/rodent-two_touch-v0": 0.0018}  # m, cells


@pytest.fixture(scope="module", params=mostly_nightly(FURRY, quick=2))
def furry(request):
    task = registered_task(request.param)
    return task, dressed(task).compile(), FURRY[request.param]


def _skin(model):
    """Vertices and triangles of a model's only skin."""
    assert model.nskin == 1
    return model.skin_vert, model.skin_face


@pytest.mark.weekly
def test_a_coat_is_closed(furry):
    _, model, _ = furry
    _, faces = _skin(model)
    edges = np.concatenate([faces[:, [i, (i + 1) % 3]] for i in range(3)])
    there = Counter(map(tuple, edges.tolist()))
    assert there == Counter(map(tuple, edges[:, ::-1].tolist()))
    assert len(there) > 0.999 * len(edges)  # few are shared by four triangles


@pytest.mark.weekly
def test_its_outside_is_outside(furry):
    _, model, _ = furry
    points, faces = _skin(model)
    a, b, c = points[faces].swapaxes(0, 1)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    low, high = points.min(axis=0), points.max(axis=0)
    assert 0.02 < volume / np.prod(high - low) < 0.5


def test_each_vertex_hangs_on_bones(furry):
    _, model, _ = furry
    weights = np.zeros(model.nskinvert)
    np.add.at(weights, model.skin_bonevertid, model.skin_bonevertweight)
    assert np.allclose(weights, 1, atol=1e-5)


def test_a_coat_covers_its_shapes(furry):
    """No part of a shape that it replaces is further outside than a cell."""
    task, model, cell = furry
    plain = task.model().compile()
    data = mujoco.MjData(plain)
    mujoco.mj_kinematics(plain, data)
    points, _ = _skin(model)
    covered = np.flatnonzero(model.geom_group != plain.geom_group)
    assert len(covered) > 20
    for geom in covered:
        if plain.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
            away = np.linalg.norm(points - data.geom_xpos[geom], axis=1)
            assert away.min() > plain.geom_size[geom, 0] - cell


def test_it_is_for_images_alone(furry):
    task, model, _ = furry
    physics = compile_model(task)
    assert physics.nskin == 0
    for name in ("nbody", "ngeom", "nsite", "nq", "nv"):
        assert getattr(physics, name) == getattr(model, name)
    for name in ("body_mass", "body_inertia", "geom_size", "geom_pos", "geom_contype"):
        assert np.array_equal(getattr(physics, name), getattr(model, name))


@pytest.mark.parametrize(
    "make", [lambda: textures.grass((0, 0.2, 0), (0, 0.6, 0), (0.5, 0.5, 0)),
             lambda: textures.slabs((0.4,) * 3, (0.5,) * 3)],
)  # fmt: skip
def test_flat_textures_tile(make):
    """Steps across the edges are as small as those inside."""
    for axis in (0, 1):
        image = np.moveaxis(make(), axis, 0)
        inside = np.abs(np.diff(image, axis=0)).mean(axis=(1, 2))
        assert np.abs(image[0] - image[-1]).mean() <= 1.5 * inside.max()


def test_the_sky_has_no_seams():
    """Neighbouring pixels of two faces have nearly the same colour, and noon is above."""
    image = textures.sky((0.6, 0.8, 0.9), (0.2, 0.5, 0.8), (0.3, 0.3, 0.3))
    side = image.shape[1]
    right, left, up, down, front, back = image.reshape(6, side, side, 3)
    for one, other in ((front[:, -1], right[:, 0]), (right[:, -1], back[:, 0]),
                       (back[:, -1], left[:, 0]), (left[:, -1], front[:, 0]),
                       (up[-1], front[0]), (front[-1], down[0])):  # fmt: skip
        assert np.abs(one - other).max() < 0.06
    assert up.mean() > 1.3 * down.mean()
    assert front[:100].std() > 0.02  # clouds


def test_noise_is_smooth_and_repeats_itself():
    points = np.random.default_rng(0).uniform(0, 4, (1000, 2))
    values = textures.noise(points, 4)
    assert np.allclose(values, textures.noise(points + np.array([4, 8]), 4), atol=1e-4)
    assert np.abs(values - textures.noise(points + 1e-3, 4)).max() < 0.01
    assert 0 <= values.min() < 0.2
    assert 0.8 < values.max() <= 1
