"""The arenas' files against the recorded numbers of the published scenes."""

import json

import mujoco
import numpy as np
import pytest

from helpers.places import ASSETS, DATA

ARENAS = ASSETS / "locomotion" / "arenas"
RECORDS = json.loads((DATA / "locomotion" / "arenas.json").read_text())

# The recorded scene whose world each file is, and the names that its unnamed geoms have here.
SCENES = {
    "floor": "cmu_humanoid_go_to_target",
    "corridor": "cmu_humanoid_run_walls",
    "bowl": "rodent_escape_bowl",
    "maze": "cmu_humanoid_maze_forage",
    "maze_outdoors": "rodent_maze_forage",
}
PLANES = ["ground", "left", "right", "near", "far"]
RENAMED = {"groundplane": "ground"} | {f"//unnamed_geom_{25 + i}": n for i, n in enumerate(PLANES)}


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


def test_options_equal_the_record(model, record):
    for option, value in record["opt"].items():
        equal(getattr(model.opt, option), value, option)


def test_geoms_equal_the_record(model, record):
    names = [RENAMED.get(name, name) for name in record["geom"]["name"]]
    assert [model.geom(i).name for i in range(model.ngeom)] == names
    for field, values in record["geom"].items():
        if field != "name":
            equal(getattr(model, field), values, field)


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


@pytest.mark.parametrize(("name", "body"), [("corridor", "walls"), ("maze", "maze_body")])
def test_parts_are_added_to_a_body_at_the_origin(name, body):
    spec = mujoco.MjSpec.from_file(str(ARENAS / f"{name}.xml"))
    holder = spec.body(body)
    assert holder.parent.name == "world"
    holder.add_geom(name="part", type=mujoco.mjtGeom.mjGEOM_BOX, size=[1, 2, 3], pos=[4, 5, 6])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.geom("part").xpos, [4, 5, 6])
    np.testing.assert_array_equal(data.geom("part").xmat, np.eye(3).ravel())


def test_the_corridors_planes_face_inwards():
    model = mujoco.MjModel.from_xml_path(str(ARENAS / "corridor.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inside = np.array([1.0, 0.5, 0.5])
    for plane in PLANES:
        geom = data.geom(plane)
        assert (inside - geom.xpos) @ geom.xmat.reshape(3, 3)[:, 2] > 0, plane
