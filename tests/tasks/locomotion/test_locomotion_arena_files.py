"""The arenas' files against the recorded numbers of the published scenes."""

import json

import mujoco
import numpy as np
import pytest

from helpers.places import ASSETS, DATA

ARENAS = ASSETS / "locomotion" / "arenas"
RECORDS = json.loads((DATA / "locomotion" / "arenas.json").read_text())

# The recorded scene whose world each file is.
SCENES = {
    "floor": "cmu_humanoid_go_to_target",
    "corridor": "cmu_humanoid_run_walls",
    "bowl": "rodent_escape_bowl",
    "maze": "cmu_humanoid_maze_forage",
    "maze_outdoors": "rodent_maze_forage",
}
PLANES = ["ground", "left", "right", "near", "far"]


@pytest.fixture(params=SCENES)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return mujoco.MjModel.from_xml_path(str(ARENAS / f"{name}.xml"))


@pytest.fixture
def record(name):
    return RECORDS[SCENES[name]]


def equal(ours, recorded, label):
    tolerance = 1e-6 if np.asarray(ours).dtype == np.float32 else 1e-9
    np.testing.assert_allclose(
        np.ravel(ours), np.ravel(recorded), rtol=0, atol=tolerance, err_msg=label
    )


def test_looks_equal_the_record(model, record):
    for section, values in record["visual"].items():
        for field, value in values.items():
            ours = getattr(getattr(model.vis, section), field)
            equal(np.float32(ours), value, f"{section}.{field}")
    cameras = record.get("camera", {"name": []})
    assert [model.camera(i).name for i in range(model.ncam)] == cameras["name"]
    for field, values in cameras.items():
        if field != "name":
            equal(getattr(model, field), values, field)


def test_the_terrain_equals_the_record_and_is_flat():
    model = mujoco.MjModel.from_xml_path(str(ARENAS / "bowl.xml"))
    record = RECORDS["rodent_escape_bowl"]
    for field in ("hfield_size", "hfield_nrow", "hfield_ncol"):
        equal(getattr(model, field), record["hfield"][field], field)
    assert not model.hfield_data.any()
    # Nothing moves in it and its planes count: its extent is the recorded one.
    equal(model.stat.extent, record["stat"]["extent"], "extent")
    equal(model.stat.center, record["stat"]["center"], "center")


def test_the_corridors_planes_face_inwards():
    model = mujoco.MjModel.from_xml_path(str(ARENAS / "corridor.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inside = np.array([1.0, 0.5, 0.5])
    for plane in PLANES:
        geom = data.geom(plane)
        assert (inside - geom.xpos) @ geom.xmat.reshape(3, 3)[:, 2] > 0, plane
