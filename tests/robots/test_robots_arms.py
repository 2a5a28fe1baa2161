"""The arms of the tabletop tasks against the record: kinematics, numbers, limits.

The record has 20 configurations of each arm, drawn from its joints' ranges, with its published hand
at rest, of which here is the site `tool`, the point that the tasks control.
"""

import json

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.places import DATA
from mjgym.robots import arms, attach, bases

FOLDER = DATA / "robosuite"
FACTS = json.loads((FOLDER / "arms.json").read_text())
NAMES = sorted(FACTS)
PREFIX = "robot0_"


@pytest.fixture(scope="module")
def record():
    with np.load(FOLDER / "arms.npz") as arrays:
        return dict(arrays)


def scene_of(name: str) -> mujoco.MjSpec:
    """The arm where the tasks with a table have it, for each hand its site `tool`."""
    arm, facts = arms.find(name), FACTS[name]
    scene = mujoco.MjSpec()
    attach(scene, arm, PREFIX, scene.worldbody.add_site(pos=facts["root"]))
    for side, hand in facts["hands"].items():
        link = scene.body(PREFIX + arm.limbs[side].link)
        link.add_site(name=f"{side}_tool", pos=hand["tool_pos"], quat=hand["tool_quat"])
    return scene


@pytest.fixture(scope="module", params=NAMES)
def robot(request):
    model = scene_of(request.param).compile()
    return request.param, arms.find(request.param), model, mujoco.MjData(model)


class TestKinematics:
    def test_the_joints_come_in_the_order_of_the_record(self, robot):
        name, arm, model, _ = robot
        assert list(arm.joints) == list(FACTS[name]["joints"])
        assert list(arm.actuators) == list(FACTS[name]["actuators"])
        assert [model.joint(i).name for i in range(model.njnt)] == [PREFIX + j for j in arm.joints]
        assert [model.actuator(i).name for i in range(model.nu)] == [
            PREFIX + a for a in arm.actuators
        ]

    def test_poses_of_the_tool(self, robot, record):
        """Jacobians and forces are those of the record of control laws; see `test_controllers`."""
        name, arm, model, data = robot
        for i, qpos in enumerate(record[f"{name}/qpos"]):
            data.qpos = qpos
            mujoco.mj_forward(model, data)
            for side, limb in arm.limbs.items():
                kept = {key: record[f"{name}/{side}/{key}"][i] for key in ("pos", "mat")}
                tool = data.site(f"{side}_tool")
                assert np.abs(tool.xpos - kept["pos"]).max() < 1e-6
                assert np.abs(tool.xmat.reshape(3, 3) - kept["mat"]).max() < 1e-6
                origin = data.site(PREFIX + limb.origin)
                ahead = origin.xmat.reshape(3, 3).T @ (tool.xpos - origin.xpos)
                assert np.abs(ahead - record[f"{name}/{side}/pos_origin"][i]).max() < 1e-6


class TestNumbers:
    def test_joints(self, robot):
        name, _, model, _ = robot
        for joint, facts in FACTS[name]["joints"].items():
            found = model.joint(PREFIX + joint)
            assert found.limited[0] == (facts["range"] is not None)
            if facts["range"]:
                assert found.range == pytest.approx(facts["range"], abs=1e-9)
            for key in ("damping", "armature", "frictionloss"):
                assert getattr(found, key)[0] == pytest.approx(facts[key], abs=1e-9)

    def test_torques_and_their_limits(self, robot):
        name, _, model, data = robot
        for actuator, facts in FACTS[name]["actuators"].items():
            found = model.actuator(PREFIX + actuator)
            assert found.ctrlrange == pytest.approx([-facts["limit"], facts["limit"]])
            assert model.joint(found.trnid[0]).name == PREFIX + facts["joint"]
        data.qpos, data.qvel, data.ctrl = 0, 0, model.actuator_ctrlrange[:, 1] / 2
        mujoco.mj_forward(model, data)
        assert data.qfrc_actuator == pytest.approx(model.actuator_ctrlrange[:, 1] / 2)

    def test_starts_are_the_published_ones(self, robot):
        name, arm, *_ = robot
        assert arm.start == pytest.approx(FACTS[name]["start"], abs=1e-9)
        limbs = [q for limb in arm.limbs.values() for q in limb.start]
        assert limbs == list(arm.start)

    def test_bodies_and_cameras_have_their_published_names_and_places(self, robot):
        name, _, model, _ = robot
        bodies = {model.body(i).name for i in range(model.nbody)}
        assert {PREFIX + body for body in FACTS[name]["bodies"]} <= bodies
        for camera, facts in FACTS[name]["cameras"].items():
            found = model.camera(PREFIX + camera)
            assert model.body(found.bodyid[0]).name == PREFIX + facts["body"]
            assert found.pos == pytest.approx(facts["pos"], abs=1e-9)
            assert abs(found.quat @ facts["quat"]) == pytest.approx(1, abs=1e-9)
            assert found.fovy[0] == pytest.approx(facts["fovy"])


class TestParts:
    def test_each_stands_on_its_published_mount_at_its_published_place(self, robot):
        name, arm, *_ = robot
        facts = FACTS[name]
        assert (arm.base, arm.hand) == (facts["base"], facts["hand"])
        assert -0.8 / 2 - arm.table_distance == pytest.approx(facts["table_offset"])
        assert -arm.centre_distance == pytest.approx(facts["empty_offset"])
        base = bases.find(arm.base)
        scene = mujoco.MjSpec()
        floor = scene.worldbody.add_site(pos=[facts["root"][0], facts["root"][1], 0])
        attach(scene, base, "fixed_mount0_", floor)
        attach(scene, arm, PREFIX, f"fixed_mount0_{base.mount}")
        model = scene.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        assert data.body(PREFIX + "base").xpos == pytest.approx(facts["root"])
        for body, mass in facts["mount"].items():
            assert model.body(f"fixed_mount0_{body}").mass[0] == pytest.approx(mass)
        data.qpos = arm.start
        mujoco.mj_forward(model, data)
        assert data.ncon == 0

    def test_what_is_seen_weighs_nothing_and_touches_nothing(self, robot):
        _, arm, model, _ = robot
        seen, felt = model.geom_group == 1, model.geom_group == 0
        assert seen.sum() > 15
        assert felt.sum() >= len(arm.joints)
        assert (seen | felt).all()
        assert not (model.geom_contype | model.geom_conaffinity)[seen].any()
        assert (model.geom_rgba[felt, 3] == 0).all()

    def test_a_limb_rarely_meets_itself_but_the_table_stops_it(self, robot, record):
        """The links fit the arm: few random configurations touch, and pushed into a box they do."""
        name, arm, model, data = robot
        # Baxter's published head is two spheres of 0.22 m, which its elbows often enter.
        heads = {i for i in range(model.nbody) if "collision_head" in model.body(i).name}
        touching = 0
        for qpos in record[f"{name}/qpos"]:
            data.qpos = qpos
            mujoco.mj_forward(model, data)
            bodies = model.geom_bodyid[data.contact.geom]
            touching += any(not heads & set(pair) for pair in bodies)
        assert touching <= len(record[f"{name}/qpos"]) / 2
        scene = scene_of(name)
        data.qpos = arm.start
        mujoco.mj_forward(model, data)
        at = data.body(PREFIX + arm.link).xpos
        box = mujoco.mjtGeom.mjGEOM_BOX
        scene.worldbody.add_geom(name="block", type=box, size=[0.15] * 3, pos=at)
        blocked = scene.compile()
        state = mujoco.MjData(blocked)
        state.qpos = arm.start
        mujoco.mj_forward(blocked, state)
        assert state.ncon > 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"robot": "UR5"}, "^robot: no 'UR5'; did you mean UR5e"),
        ({"gripper": "panda"}, "^gripper: no 'panda'; did you mean PandaGripper"),
        ({"base": "mount"}, "^base: no 'mount'; did you mean .*Mount"),
    ],
)
def test_an_unknown_part_is_named_by_its_keyword(fields, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make("robosuite/Lift-v0", **fields)
