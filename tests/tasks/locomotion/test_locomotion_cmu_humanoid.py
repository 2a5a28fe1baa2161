"""The three CMU humanoids: equal to their records, complete, and standing as they should."""

import json
import re

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import facts, scene
from helpers.model_facts import compare
from mjgym.mjcf import asset_path, load
from mjgym.tasks.locomotion.walkers.cmu_humanoid import model

RECORDS = {
    "2019_torque": "walker_CMUHumanoid",
    "2019_position": "walker_CMUHumanoidPositionControlled",
    "2020_position": "walker_CMUHumanoidPositionControlledV2020",
}
SERVOS = [version for version in RECORDS if version.endswith("_position")]
FILTER = 0.03  # s, of the servos of 2020

every = pytest.mark.parametrize("version", RECORDS)
every_servo = pytest.mark.parametrize("version", SERVOS)


def record(version):
    return facts(RECORDS[version])


def standing(version):
    """The humanoid upright on a floor, with nothing computed but kinematics and contacts."""
    pose = record(version)["walker"]["upright_pose"]
    arena = mujoco.MjSpec()
    arena.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1])
    frame_body = arena.worldbody.add_body(name="walker/")
    frame_body.add_freejoint()
    arena.attach(model(version), prefix="walker/", frame=frame_body.add_frame())
    compiled = arena.compile()
    data = mujoco.MjData(compiled)
    quaternion = np.array(pose["xquat"])
    data.qpos[:7] = [*pose["xpos"], *(quaternion / np.linalg.norm(quaternion))]
    mujoco.mj_forward(compiled, data)
    return compiled, data


def sole(compiled, data, side):
    """The lowest point of a foot and its toes."""
    heights = []
    for part in ("foot", "foot_ch", "toes0", "toes1", "toes2"):
        geom = compiled.geom(f"walker/{side}{part}").id
        half_length = compiled.geom_size[geom, 1]  # of a capsule; 0 of a sphere
        tilt = abs(data.geom_xmat[geom, 8])
        heights.append(data.geom_xpos[geom, 2] - half_length * tilt - compiled.geom_size[geom, 0])
    return min(heights)


@every
def test_model_equals_the_record(version):
    found = compare(scene(model(version)), record(version)["model"])
    # How a scene is lit and drawn is the arena's.
    assert [line for line in found if not line.startswith("visual.")] == []


def test_a_record_tells_bodies_and_actuators_apart():
    compiled = scene(model("2019_position"))
    for other in ("2019_torque", "2020_position"):
        assert compare(compiled, record(other)["model"], ignore_cosmetics=True)


@pytest.mark.parametrize(
    ("name", "actuators"),
    [("2019", 0), ("2019_motors", 56), ("2019_servos", 56), ("2020", 0), ("2020_servos", 56)],
)
def test_files_stand_alone(name, actuators):
    path = asset_path(f"locomotion/walkers/cmu_humanoid_{name}.xml")
    compiled = mujoco.MjModel.from_xml_path(str(path))
    assert (compiled.njnt, compiled.nu, compiled.nsensor) == (56, actuators, 19)


@every
def test_names_are_those_of_the_record(version):
    walker = record(version)["walker"]
    spec = model(version)
    joints = [joint.name for joint in spec.joints]
    assert joints == walker["mocap_joints"]
    actuators = [actuator.name for actuator in spec.actuators]
    assert actuators == walker["actuators"] == sorted(joints)
    assert [actuator.target for actuator in spec.actuators] == walker["observable_joints"]
    feet = [
        geom.name for geom in spec.geoms if geom.parent.name in ("lfoot", "ltoes", "rfoot", "rtoes")
    ]
    assert sorted(feet) == sorted(walker["ground_contact_geoms"])


@every
def test_every_model_is_a_new_one(version):
    spec = model(version)
    spec.delete(spec.body("head"))
    assert model(version).body("head") is not None


@every
def test_stands_upright_without_touching_the_floor(version):
    compiled, data = standing(version)
    assert data.ncon == 0
    for side in "lr":
        assert 0 < sole(compiled, data, side) < 0.03
    reset = record(version)["walker"]["after_reset"]
    root = data.body("walker/root")
    np.testing.assert_allclose(root.xmat, reset["root_xmat"], atol=1e-12)
    np.testing.assert_allclose(root.xpos, reset["root_xpos"], atol=1e-12)
    assert data.body("walker/head").xpos[2] > 0.9 * record(version)["walker"]["standing_height"]
    assert data.body("walker/lfoot").xpos[1] > data.body("walker/rfoot").xpos[1]  # left is left


@every
def test_sees_what_is_in_front(version):
    compiled, data = standing(version)
    camera = record(version)["walker"]["egocentric_camera"]
    ours = compiled.camera("walker/egocentric")
    assert compiled.body(ours.bodyid[0]).name == "walker/" + camera["body"]
    np.testing.assert_allclose(ours.pos, camera["pos"], atol=1e-12)
    np.testing.assert_allclose(ours.quat, camera["quat"], atol=1e-12)
    assert ours.fovy[0] == camera["fovy"]
    axes = data.camera("walker/egocentric").xmat.reshape(3, 3)
    assert -axes[0, 2] > 0.95  # a camera looks along its -z
    assert axes[2, 1] > 0.95


@every
def test_end_effector_sensors_read_places_in_the_roots_frame(version):
    compiled, data = standing(version)
    rng = np.random.default_rng(0)
    low, high = compiled.jnt_range[1:].T
    data.qpos[7:] = rng.uniform(low, high)
    mujoco.mj_forward(compiled, data)
    root = data.body("walker/root")
    axes = root.xmat.reshape(3, 3)
    for name in record(version)["walker"]["end_effectors"]:
        place = (data.body(f"walker/{name}").xpos - root.xpos) @ axes
        reading = data.sensor(f"walker/{name}_end_effector").data
        np.testing.assert_allclose(reading, place, atol=1e-12)


@every_servo
def test_servos_pull_towards_their_share_of_the_joints_range(version):
    compiled = scene(model(version))
    data = mujoco.MjData(compiled)
    recorded = record(version)["model"]["actuator"]
    kp = -np.array(recorded["actuator_biasprm"])[:, 1]
    strongest = np.array(recorded["actuator_forcerange"])[:, 1]
    joints = compiled.actuator_trnid[:, 0]
    low, high = compiled.jnt_range[joints].T
    rng = np.random.default_rng(1)
    for share in (-1.0, 1.0, rng.uniform(-1, 1, 56)):
        angles = rng.uniform(low, high)
        data.qpos[compiled.jnt_qposadr[joints]] = angles
        data.ctrl[:] = share
        data.act[:] = share if compiled.na else 0
        mujoco.mj_forward(compiled, data)
        target = low + (share + 1) / 2 * (high - low)
        expected = np.clip(kp * (target - angles), -strongest, strongest)
        np.testing.assert_allclose(data.actuator_force, expected, atol=1e-9)


def test_servos_of_2020_follow_their_controls_through_a_filter():
    compiled = scene(model("2020_position"))
    data = mujoco.MjData(compiled)
    data.ctrl[:] = np.linspace(-1, 1, 56)
    for _ in range(5):
        mujoco.mj_step(compiled, data)
    left = (1 - compiled.opt.timestep / FILTER) ** 5  # of the way, by Euler's rule
    np.testing.assert_allclose(data.act, data.ctrl * (1 - left), atol=1e-12)


def test_controls_of_motors_are_fractions_of_the_gear():
    compiled = scene(model("2019_torque"))
    data = mujoco.MjData(compiled)
    data.ctrl[:] = 2 * (-1.0) ** np.arange(56)  # beyond the range
    mujoco.mj_forward(compiled, data)
    dofs = compiled.jnt_dofadr[compiled.actuator_trnid[:, 0]]
    torques = data.qfrc_actuator[dofs]
    np.testing.assert_allclose(torques, compiled.actuator_gear[:, 0] * (-1.0) ** np.arange(56))


@pytest.mark.parametrize(("body", "mass", "exact"), [("2019", 39.6254, 1e-5), ("2020", 70.0, 1e-9)])
def test_mass_of_the_shapes(body, mass, exact):
    compiled = load(f"locomotion/walkers/cmu_humanoid_{body}.xml").compile()
    nose = 1e-5 if body == "2020" else 0.0  # the least that a body may weigh
    assert compiled.body("root").subtreemass[0] == pytest.approx(mass + nose, abs=exact)


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("2019_positions", "did you mean 2019_position"),
        ("2020_torque", "did you mean 2019_torque"),
        ("x", "there are 2019_position, 2019_torque, 2020_position"),
    ],
)
def test_unknown_versions_are_named_with_the_nearest(version, hint):
    with pytest.raises(ValueError, match=f"{re.escape(repr(version))}; {hint}"):
        model(version)


@every
def test_records_hold_every_number(version):
    """A copy from which fields were lost would let any model pass."""
    kinds = {"body", "joint", "geom", "site", "camera", "light", "actuator", "sensor", "arrays"}
    numbers = record(version)["model"]
    assert kinds < set(numbers)
    assert len(json.dumps(numbers)) > 50_000
