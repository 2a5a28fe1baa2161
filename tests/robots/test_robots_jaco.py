"""The Jaco's arm and hand against the recorded numbers, and what they can do."""

import dataclasses
import importlib.util

import mujoco
import numpy as np
import pytest

from helpers.jaco_facts import ARM, HAND, JOINTS, TOOL, alone, facts, over_floor, transitions
from helpers.model_facts import compare
from helpers.places import SCRIPTS
from mjgym import robots

SCRIPT = SCRIPTS / "make_jaco_hulls.py"
RECORD = facts("jaco_arm_and_hand")
HULLS = facts("jaco_hulls")
HEADLIGHT = "visual.headlight"  # the arena's: the one these tests use has MuJoCo's own
MESH = int(mujoco.mjtGeom.mjGEOM_MESH)

# What follows from the links' shapes, which are ours, and how far it may be from the record.
LOOK = {"stat.meansize": 0.05, "stat.extent": 0.05, "stat.center": 0.05}
SHAPES = {
    "geom_size": 0.008, "geom_pos": 0.008, "geom_quat": 0.1, "geom_rbound": 0.005,
    "geom_aabb": 0.009,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return alone()


@pytest.fixture
def scene():
    model = over_floor().compile()
    return model, mujoco.MjData(model)


def mesh_geoms(model):
    return [model.geom(i).name for i in range(model.ngeom) if model.geom_type[i] == MESH]


def corners(model, geom):
    """The corners of a geom's mesh in the frame of its body, (n, 3)."""
    geom = model.geom(geom)
    mesh = model.mesh(geom.dataid[0])
    points = model.mesh_vert[mesh.vertadr[0] :][: mesh.vertnum[0]]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, geom.quat)
    return geom.pos + points @ turn.reshape(3, 3).T


def reach_errors(points, hull):
    """How much farther some points reach than a measured hull, (26,) m."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.array(hull["geom_quat"]))
    seen = (points - hull["geom_pos"]) @ turn.reshape(3, 3)
    directions = np.array(HULLS["directions"])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (seen @ directions.T).max(axis=0) - hull["support"]


def test_model_equals_the_record(model):
    """In all but what follows from the shapes of the 14 links, which are ours."""
    found = [d for d in compare(model, RECORD["model"]) if not d.startswith(HEADLIGHT)]
    links = mesh_geoms(model)
    ours = {f"{field}[{geom}]" for field in SHAPES for geom in links} | set(LOOK)
    assert [d for d in found if d.split(":")[0] not in ours] == []
    assert len(links) == 14
    assert model.ngeom == 20


def test_what_follows_from_the_shapes_is_near_the_record(model):
    fields = {**RECORD["model"]["arrays"], **RECORD["model"]["geom"]}
    for field, tolerance in SHAPES.items():
        ours, recorded = getattr(model, field), np.array(fields[field])
        if field == "geom_quat":
            ours = ours * np.sign((ours * recorded).sum(axis=-1, keepdims=True))
        np.testing.assert_allclose(ours, recorded, atol=tolerance, err_msg=field)
    for name, tolerance in LOOK.items():
        recorded = RECORD["model"]["stat"][name.removeprefix("stat.")]
        ours = getattr(model.stat, name.removeprefix("stat."))
        np.testing.assert_allclose(ours, recorded, atol=tolerance)


@pytest.mark.parametrize("name", HULLS["hulls"])
def test_hulls_reach_as_far_as_the_measured_ones(model, name):
    hull = HULLS["hulls"][name]
    for geom in hull["geoms"]:
        errors = reach_errors(corners(model, geom), hull)
        assert np.sqrt((errors**2).mean()) < 0.8e-3
        assert np.abs(errors).max() < 2e-3


def test_meshes_are_convex(model):
    """All of their vertices are corners: what is seen is what collides."""
    for mesh in range(model.nmesh):
        graph = model.mesh_graph[model.mesh_graphadr[mesh] :]
        assert graph[0] == model.mesh_vertnum[mesh]


@pytest.mark.weekly
def test_the_script_makes_the_meshes(model):
    spec = importlib.util.spec_from_file_location("make_jaco_hulls", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for full, hull in HULLS["hulls"].items():
        measured = script.measured(hull, HULLS["directions"])
        drums = script.fitted(script.LINKS[full.rpartition("/")[2]], *measured)
        made = np.concatenate(script.vertices(drums))
        errors = reach_errors(corners(model, hull["geoms"][0]), hull)
        np.testing.assert_allclose(reach_errors(made, hull), errors, atol=2e-4, err_msg=full)


def test_names_are_the_models(model):
    arm, hand = robots.arms.find("jaco_6_joints"), robots.hands.find("jaco_3_fingers")
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names == [*(ARM + j for j in arm.joints), *(HAND + j for j in hand.joints)]
    actuators = [model.actuator(i).name for i in range(model.nu)]
    assert actuators == [*(ARM + a for a in arm.actuators), *(HAND + a for a in hand.actuators)]
    sensors = [model.sensor(i).name for i in range(model.nsensor)]
    assert sensors == [ARM + sensor for sensor in arm.torques]
    wrist = model.site(ARM + arm.wrist)
    assert model.body(wrist.bodyid[0]).name == ARM + arm.link
    assert RECORD["robot"]["wrist_site"] == arm.wrist
    assert RECORD["robot"]["tool_centre_point"] == hand.tool_centre
    for finger in hand.fingers:
        assert all(model.geom(HAND + geom).condim[0] == 4 for geom in finger)


def test_recorded_steps_come_out(scene):
    model, data = scene
    record = transitions()
    for row in range(len(record["action"])):
        mujoco.mj_resetData(model, data)
        data.time = record["before_time"][row]
        for field in ("qpos", "qvel", "qacc_warmstart"):
            getattr(data, field)[:] = record[f"before_{field}"][row]
        data.ctrl[:] = record["action"][row]
        mujoco.mj_step(model, data, 20)
        mujoco.mj_step1(model, data)
        np.testing.assert_allclose(data.qpos, record["after_qpos"][row], atol=1e-12)
        np.testing.assert_allclose(data.qvel, record["after_qvel"][row], atol=1e-12)
        torque = np.array([data.sensor(f"{joint}_torque").data[2] for joint in JOINTS])
        torque = np.sign(torque) * np.log1p(np.abs(torque))
        np.testing.assert_allclose(torque, record[f"obs_{ARM}joints_torque"][row], atol=1e-10)
        place = record[f"obs_{HAND}pinch_site_pos"][row]
        np.testing.assert_allclose(data.site(TOOL).xpos, place, atol=1e-11)


def test_an_arm_without_the_wrist_it_names():
    arm = dataclasses.replace(robots.arms.find("jaco_6_joints"), wrist="wrist_site")
    with pytest.raises(ValueError, match=r"no site 'wrist_site'; did you mean wristsite"):
        robots.assembled(arm, robots.hands.find("jaco_3_fingers"))
