"""The ant's model against the recorded numbers, and what walks on it relies on."""

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import ARENA, differences, facts, scene
from helpers.places import ASSETS

ANT = ASSETS / "locomotion" / "walkers" / "ant.xml"
FACTS = facts("walker_Ant")
WALKER = FACTS["walker"]
HEADLIGHT = "visual.headlight"  # the arena's: the one these tests use has MuJoCo's own


@pytest.fixture(scope="module")
def model():
    return scene(mujoco.MjSpec.from_file(str(ANT)))


@pytest.fixture
def on_floor():
    """Model and data of the ant on a floor."""
    spec = mujoco.MjSpec.from_string(ARENA)
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(name="floor", type=plane, size=[1, 1, 1])
    body = spec.worldbody.add_body(name="walker/")
    body.add_freejoint(name="walker/")
    spec.attach(mujoco.MjSpec.from_file(str(ANT)), prefix="walker/", frame=body.add_frame())
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def feet_bottom(model, data):
    """Height of the lowest point of each foot's capsule."""
    heights = []
    for name in WALKER["ground_contact_geoms"]:
        geom = data.geom(f"walker/{name}")
        radius, half = model.geom(f"walker/{name}").size[:2]
        heights.append(geom.xpos[2] - half * abs(geom.xmat[8]) - radius)
    return np.array(heights)


def test_model_equals_the_record(model):
    # Cameras are observations and hide groups of geoms, so nothing recorded counts as cosmetic.
    found = differences(model, FACTS, ignore_cosmetics=False)
    assert [d for d in found if not d.startswith(HEADLIGHT)] == []


def test_upright_pose(on_floor):
    model, data = on_floor
    after = WALKER["after_reset"]
    torso = data.body(f"walker/{WALKER['root_body']}")
    np.testing.assert_allclose(torso.xpos, after["root_xpos"], atol=1e-12)
    np.testing.assert_allclose(torso.xmat, after["root_xmat"], atol=1e-12)
    own = model.geom_bodyid > 0
    boxes = np.abs(data.geom_xmat.reshape(-1, 3, 3)[:, 2]) * model.geom_aabb[:, 3:]
    lowest = (data.geom_xpos[:, 2] - boxes.sum(axis=1))[own].min()
    np.testing.assert_allclose(lowest, after["lowest_contact_geom_box_z"], atol=1e-10)
    # The feet hang a little above the floor: nothing touches anything yet.
    assert data.ncon == 0
    assert ((feet_bottom(model, data) > 0) & (feet_bottom(model, data) < 1e-3)).all()
