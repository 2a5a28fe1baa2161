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
def walled():
    """Model and data of the ant on a floor, in the middle of four walls, each 3 m away."""
    spec = mujoco.MjSpec.from_string(ARENA)
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(name="floor", type=plane, size=[1, 1, 1])
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        wall = spec.worldbody.add_geom(type=plane, size=[10, 10, 1], pos=[3 * x, 3 * y, 0])
        wall.alt.type = mujoco.mjtOrientation.mjORIENTATION_ZAXIS
        wall.alt.zaxis = [-x, -y, 0]
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


def test_a_changed_number_is_seen():
    spec = mujoco.MjSpec.from_file(str(ANT))
    spec.joint("back_left_ankle").stiffness[0] *= 1 + 1e-8
    found = differences(scene(spec), FACTS)
    assert [d.split(":")[0] for d in found] == ["jnt_stiffness[walker/back_left_ankle]"]


def test_the_file_stands_alone():
    model = mujoco.MjModel.from_xml_path(str(ANT))
    assert model.nq == 8  # no free joint: what attaches it gives it
    frame = FACTS["model"]["body"]["body_mass"][1]
    np.testing.assert_allclose(model.body_subtreemass[0], WALKER["mass"] - frame, rtol=1e-9)


def test_each_actuator_drives_the_joint_of_its_name(model):
    joints = [model.joint(model.actuator_trnid[i, 0]).name for i in range(model.nu)]
    assert joints == [f"walker/{name}" for name in WALKER["actuators"]]
    assert [model.actuator(i).name for i in range(model.nu)] == joints
    assert [model.joint(i).name for i in range(model.njnt)] == WALKER["joints_in_compiled_order"]


def test_upright_pose(walled):
    model, data = walled
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


def test_it_stands_on_its_feet_alone(walled):
    model, data = walled
    mujoco.mj_step(model, data, 1000)  # 2 s
    touching = {model.geom(g).name.removeprefix("walker/") for g in data.contact.geom.ravel()}
    assert touching - {"floor"} == set(WALKER["ground_contact_geoms"])
    torso = data.body("walker/torso")
    np.testing.assert_allclose(torso.xmat.reshape(3, 3), np.eye(3), atol=1e-4)
    assert 0.51 < torso.xpos[2] < 0.522
    # The feet bear the whole weight.
    weight = WALKER["mass"] * 9.81
    foot_touch = [
        data.sensor(f"walker/{name}_ankle_touch").data[0]
        for name in ("front_left", "front_right", "back_right", "back_left")
    ]
    np.testing.assert_allclose(sum(foot_touch), weight, rtol=0.01)
    np.testing.assert_allclose(foot_touch, weight / 4, rtol=0.05)
    assert data.sensor("walker/torso_touch").data[0] == 0


def test_rangefinders_look_where_they_are_named_for(walled):
    model, data = walled
    straight, diagonal = 3 - 0.25, (3 - 0.25) * np.sqrt(2)
    for name in ("rf_xp", "rf_xn", "rf_yp", "rf_yn"):
        np.testing.assert_allclose(data.sensor(f"walker/{name}").data[0], straight, rtol=1e-9)
    for name in ("rf_xpyp", "rf_xpyn", "rf_xnyp", "rf_xnyn"):
        np.testing.assert_allclose(data.sensor(f"walker/{name}").data[0], diagonal, rtol=1e-9)
    data.qpos[:2] = 0.5, -0.25
    mujoco.mj_forward(model, data)
    read = {name: data.sensor(f"walker/rf_{name}").data[0] for name in ("xp", "xn", "yp", "yn")}
    for name, moved in (("xp", -0.5), ("xn", 0.5), ("yp", 0.25), ("yn", -0.25)):
        np.testing.assert_allclose(read[name], straight + moved, rtol=1e-9)


def test_legs_are_images_of_each_other(model):
    """Turned by a right angle, each leg is the next one, joints' signs included."""
    data = mujoco.MjData(model)
    data.joint("walker/front_left_hip").qpos[0] = 0.4
    data.joint("walker/front_left_ankle").qpos[0] = 0.3
    mujoco.mj_forward(model, data)
    turn = np.eye(3)
    first = data.geom("walker/front_left_ankle_geom").xpos - data.body("walker/torso").xpos
    for leg in ("back_left", "back_right", "front_right"):
        data.joint(f"walker/{leg}_hip").qpos[0] = 0.4
        data.joint(f"walker/{leg}_ankle").qpos[0] = 0.3
        mujoco.mj_forward(model, data)
        turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) @ turn
        foot = data.geom(f"walker/{leg}_ankle_geom").xpos - data.body("walker/torso").xpos
        np.testing.assert_allclose(foot, turn @ first, atol=1e-10)


def test_sensors_see_the_bodies_from_the_torso(model):
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qpos[:] = rng.normal(size=model.nq)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    mujoco.mj_forward(model, data)
    torso = data.body("walker/torso")
    to_torso = torso.xmat.reshape(3, 3).T

    def seen(body):
        return to_torso @ (data.body(f"walker/{body}").xpos - torso.xpos)

    for body in WALKER["mocap_tracking_bodies"]:
        position = data.sensor(f"walker/{body}_ego_body_pos").data
        np.testing.assert_allclose(position, seen(body), atol=1e-12)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, data.sensor(f"walker/{body}_ego_body_quat").data)
        expected = to_torso @ data.body(f"walker/{body}").xmat.reshape(3, 3)
        np.testing.assert_allclose(turn.reshape(3, 3), expected, atol=1e-12)
    for foot in WALKER["end_effectors"]:
        for sensor in ("appendage", "end_effector"):
            position = data.sensor(f"walker/{foot}_{sensor}").data
            np.testing.assert_allclose(position, seen(foot), atol=1e-12)


def test_the_egocentric_camera_looks_ahead(walled):
    _, data = walled
    camera = data.camera(f"walker/{WALKER['egocentric_camera']['name']}")
    axes = camera.xmat.reshape(3, 3)
    np.testing.assert_allclose(-axes[:, 2], [1, 0, 0], atol=1e-12)  # along +x
    np.testing.assert_allclose(axes[:, 1], [0, 0, 1], atol=1e-12)  # with z up
