"""The rodent equals its record, and has what its tasks rely on."""

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import differences, facts, scene
from helpers.places import ASSETS

RODENT = ASSETS / "locomotion" / "walkers" / "rodent.xml"
FACTS = facts("walker_Rodent")
WALKER = FACTS["walker"]
RECORD = FACTS["model"]


@pytest.fixture(scope="module")
def model():
    return scene(mujoco.MjSpec.from_file(str(RODENT)))


@pytest.fixture(scope="module")
def on_floor():
    """Model and data of the rodent as it starts, on a plane."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    body = spec.worldbody.add_body(name="walker/")
    body.add_freejoint(name="walker/")
    spec.attach(mujoco.MjSpec.from_file(str(RODENT)), prefix="walker/", frame=body.add_frame())
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def test_model_equals_the_record(model):
    # Cameras are observations and hide groups of geoms, so nothing recorded counts as cosmetic. An
    # attached file's statistics stay behind: the size of drawn joints is the arena's.
    skip = ("stat.meansize",)
    assert differences(model, FACTS, skip=skip, ignore_cosmetics=False) == []


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("body", "body_mass"),
        ("body", "body_inertia"),
        ("arrays", "dof_armature"),
        ("arrays", "dof_invweight0"),
        ("arrays", "body_invweight0"),
        ("arrays", "wrap_prm"),
    ],
)
def test_small_numbers_are_right_in_proportion(model, kind, field):
    # A toe's inertia is 1e-8 kg m2: an absolute tolerance would not see it.
    recorded = np.array(RECORD[kind][field])
    np.testing.assert_allclose(
        getattr(model, field).reshape(recorded.shape), recorded, rtol=1e-9, atol=0
    )


def test_the_egocentric_camera_sees_nothing_of_the_animal(model):
    assert set(model.geom_group.tolist()) == {1, 2}  # both of which that camera hides
    assert model.site_group.min() >= 3  # and these are hidden from every camera


def test_the_file_stands_alone():
    model = mujoco.MjModel.from_xml_path(str(RODENT))
    assert model.nq == 67  # no free joint: the arena gives it
    assert model.stat.meansize == RECORD["stat"]["meansize"]
    frame = RECORD["body"]["body_mass"][1]
    np.testing.assert_allclose(model.body_subtreemass[0], WALKER["mass"] - frame, rtol=1e-9)


def test_actuators_are_tendons_then_joints_in_order(model):
    names = [model.actuator(i).name.removeprefix("walker/") for i in range(model.nu)]
    assert names == WALKER["actuators"]
    driven = [
        (model.tendon if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON else model.joint)(
            model.actuator_trnid[i, 0]
        ).name
        for i in range(model.nu)
    ]
    expected = [*WALKER["observable_tendons"], *WALKER["observable_joints"]]
    assert driven == [f"walker/{name}" for name in expected]


def test_controls_stand_for_the_range_of_the_joints(model):
    for i in range(model.nu):
        target = model.actuator_trnid[i, 0]
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON:
            first, count = model.tendon_adr[target], model.tendon_num[target]
            joints = model.wrap_objid[first : first + count]
            np.testing.assert_allclose(model.wrap_prm[first : first + count].sum(), 1, atol=1e-11)
        else:
            joints = np.array([target])
        low, high = model.jnt_range[joints[0]]
        assert np.ptp(model.jnt_range[joints], axis=0).max() < 1e-12
        gain, (offset, slope) = model.actuator_gainprm[i, 0], model.actuator_biasprm[i, :2]
        force = [gain * u + offset + slope * q for u, q in ((-1, low), (1, high))]
        np.testing.assert_allclose(force, 0, atol=1e-12, err_msg=model.actuator(i).name)
        assert slope < 0  # the force draws back


def test_parts_do_not_touch_in_the_default_pose(model):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0


def touching(model, data):
    """Names of the geoms that touch the floor."""
    names = {model.geom(g).name.removeprefix("walker/") for g in data.contact.geom.ravel()}
    return names - {"floor"}


def test_it_starts_on_its_hands_and_tail(on_floor):
    model, data = on_floor
    np.testing.assert_allclose(
        data.body("walker/torso").xpos, WALKER["after_reset"]["root_xpos"], atol=1e-9
    )
    parts = touching(model, data)
    assert parts <= set(WALKER["ground_contact_geoms"])
    assert {name.split("_")[0] for name in parts} == {"hand", "finger", "vertebra"}
    # A box around a part reaches a little further down than the part.
    assert WALKER["after_reset"]["lowest_contact_geom_box_z"] < data.contact.dist.min() < -0.002


def test_ground_contact_geoms_are_paws_and_the_whole_tail(model):
    geoms = [f"walker/{name}" for name in WALKER["ground_contact_geoms"]]
    tail = model.body("walker/vertebra_C1").id
    in_tail = []
    for g in range(model.ngeom):
        body = model.geom_bodyid[g]
        while body > tail:
            body = model.body_parentid[body]
        if body == tail:
            in_tail.append(model.geom(g).name)
    assert len(in_tail) == 30
    paws = [model.geom(g).name for g in np.flatnonzero(model.geom_priority == 1)]
    assert len(paws) == 16
    assert sorted(geoms) == sorted(in_tail + paws)


def test_end_effector_sensors_measure_from_the_torso(model):
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qpos[:] = rng.uniform(-0.3, 0.3, model.nq)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_sensorPos(model, data)
    root = data.body("walker/torso")
    for name in WALKER["end_effectors"]:
        offset = data.body(f"walker/{name}").xpos - root.xpos
        np.testing.assert_allclose(
            data.sensor(f"walker/{name}_end_effector").data,
            offset @ root.xmat.reshape(3, 3),
            atol=1e-12,
        )


@pytest.mark.parametrize("side", ["L", "R"])
def test_only_the_hands_feel_the_floor_at_the_start(on_floor, side):
    _, data = on_floor
    assert data.sensor(f"walker/palm_{side}").data[0] > 0
    assert data.sensor(f"walker/sole_{side}").data[0] == 0  # the feet are 4 mm above the floor
