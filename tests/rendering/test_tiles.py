"""Boxes drawn as planes, one a tile."""

import mujoco
import numpy as np
import pytest

from mjgym.rendering import tiles

MODEL = """
<mujoco>
  <asset>
    <texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 1 0" width="8" height="8"/>
    <material name="tiled_wall" texture="t" texrepeat="2 2"/>
    <material name="plain" texture="t" texrepeat="2 2"/>
  </asset>
  <worldbody>
    <geom name="box" type="box" size="1.5 .25 .1" pos="1 2 3" material="tiled_wall"/>
    <geom name="floor" type="plane" size="1 .5 1" material="tiled_wall"/>
    <geom type="box" size="1 1 1" material="plain"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def laid():
    """The added planes: places, half sizes and repeats."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    scene = mujoco.MjvScene(model, 200)
    tiles.lay(model, data, tiles.tiled(model), scene)
    planes = [scene.geoms[i] for i in range(scene.ngeom)]
    return [(p.pos.copy(), p.size.copy(), p.texrepeat.copy(), p.mat.copy()) for p in planes]


def test_one_plane_a_tile(laid):
    # Long sides of 6 tiles, ends of 1, the top of 6; the floor of 4 x 2.
    assert len(laid) == 6 + 6 + 1 + 1 + 6 + 8


def test_planes_cover_the_faces(laid):
    box = [tile for tile in laid if tile[0][2] > 1]
    area = sum(4 * size[0] * size[1] for _, size, _, _ in box)
    assert area == pytest.approx(2 * 3 * 0.2 + 2 * 0.5 * 0.2 + 3 * 0.5)
    for place, _, _, axes in box:
        outward = axes[:, 2]
        assert outward @ (place - (1, 2, 3)) > 0
        assert np.linalg.det(axes) == pytest.approx(1)
        away = np.abs(outward @ (place - (1, 2, 3)))
        assert away == pytest.approx(np.abs(outward) @ (1.5, 0.25, 0.1))


def test_a_tile_shows_the_picture_once(laid):
    for _, size, repeat, _ in laid:
        assert np.allclose(repeat, 4 * size[:2])  # two a metre, and sizes are halves
        assert repeat.max() <= 1 + 1e-6
