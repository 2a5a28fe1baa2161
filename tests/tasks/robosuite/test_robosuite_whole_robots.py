"""Robots with torsos, heads, legs and bases that drive, against records of robosuite.

A record of `scripts/measure_robosuite_robots.py` has tools, inertia and bias forces in random
configurations; and the joints' positions under random actions, from a state that it names, while
`free` holds, which ends as hands or feet touch something.
"""

import json
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.equivalence import assert_every_slot_equals_a_single_env
from helpers.lanes import lane, mostly_nightly
from helpers.robosuite_records import FOLDER
from mjgym import registry
from mjgym.robots import arms

pytestmark = pytest.mark.slow  # quick tests take the robots of the ids

WHOLE = {"type": "WHOLE_BODY_IK", "input_ref_frame": "base"}
FOLLOWS = {**WHOLE, "tool": False}
HUMANOID = {**WHOLE, "posture_gain": [4, 3, 2, 1, 1, 1, 1], "scaled_hands": False}
TORSO = {**FOLLOWS, "posture_gain": [100, 100, 500], "max_dq": 0.2}
PARTS = {"torso": TORSO, "head": FOLLOWS, "legs": FOLLOWS}
# Of each record the robot, and fields of the task.
RECORDS = {
    "gr1": ("GR1", {}),
    "gr1_arms_only": ("GR1ArmsOnly", {}),
    "gr1_arms_only_whole_body": ("GR1ArmsOnly", {"controller": HUMANOID}),
    "gr1_fixed_lower_body": ("GR1FixedLowerBody", {}),
    "gr1_floating_body": (
        "GR1FloatingBody",
        {"controller": {"type": "OSC_POSE", "scaled_hands": False}},
    ),
    "gr1_whole_body": ("GR1", {"controller": {**HUMANOID, "parts": PARTS}}),
    "spot_with_arm": ("SpotWithArm", {}),
    "spot_with_arm_floating": ("SpotWithArmFloating", {}),
    # Its own gripper, of Robotiq, is held together otherwise here.
    "tiago": ("Tiago", {"gripper": "PandaGripper"}),
}
ROBOTS = list(dict.fromkeys(robot for robot, _ in RECORDS.values()))
STILL = 6  # actions of a record before its base and its torso move
# From then on robosuite's arms start from where they were a physics step ago.
LAGGING = {"tiago": 2e-3}
# Legs whose goals robosuite's whole-body law takes for differences.
ASTRAY = {"gr1_whole_body": "_leg_"}
ROOT = "leg0_root"


def make(id="robosuite/Lift-v0", **options):
    options = {"observation": "dict", "dtype": "float64", "start_noise": 0.0, **options}
    return gymnasium.make(id, disable_env_checker=True, **options).unwrapped


@pytest.fixture(scope="module", params=mostly_nightly(RECORDS, 5))
def pair(request):
    robot, options = RECORDS[request.param]
    env = make(robot=robot, **options)
    env.reset(seed=0)
    with np.load(Path(FOLDER) / f"robot_{request.param}.npz") as arrays:
        return request.param, env, dict(arrays)


def rows(model, names, start="qposadr"):
    return [int(getattr(model.joint(str(name)), start)[0]) for name in names]


def at_start(env, record):
    """The recorded state, in the order of this model."""
    state = {key: getattr(env.data, key).copy() for key in ("qpos", "qvel")}
    ends = {"qpos": 0, "qvel": 0}
    for name in record["names"]:
        joint = env.model.joint(ROOT if name == "root" else str(name))
        free = joint.type[0] == mujoco.mjtJoint.mjJNT_FREE
        for key, size, row in (
            ("qpos", 7 if free else 1, joint.qposadr[0]),
            ("qvel", 6 if free else 1, joint.dofadr[0]),
        ):
            begin = ends[key]
            ends[key] = begin + size
            state[key][row : row + size] = record[f"start/{key}"][begin : begin + size]
    return state


def test_kinematics_inertia_and_bias_forces(pair):
    _, env, record = pair
    model, data = env.model, mujoco.MjData(env.model)
    data.qpos[:] = env.data.qpos
    places, dofs = rows(model, record["joints"]), rows(model, record["joints"], "dofadr")
    for i, qpos in enumerate(record["poses/qpos"]):
        data.qpos[places], data.qvel[dofs] = qpos, record["poses/qvel"][i]
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        np.testing.assert_allclose(mass[np.ix_(dofs, dofs)], record["poses/mass"][i], atol=1e-6)
        np.testing.assert_allclose(data.qfrc_bias[dofs], record["poses/bias"][i], atol=1e-6)
        for side in ("right", "left"):
            if f"poses/{side}_pos" in record:
                tool = data.site(f"gripper0_{side}_grip_site")
                np.testing.assert_allclose(tool.xpos, record[f"poses/{side}_pos"][i], atol=1e-6)
                np.testing.assert_allclose(tool.xmat, record[f"poses/{side}_mat"][i], atol=1e-6)


def test_actions_and_entries_are_the_published_ones(pair):
    _, env, record = pair
    split = json.loads(str(record["split"]))
    mode = record["action"].shape[1] > max(end for _, end in split.values())
    found: dict[str, int] = {}
    for action in env.task.actions(env.model):
        part, _, what = action.name.partition(" ")
        name = part.removeprefix("robot0_") + ("_gripper" if what.startswith("gripper") else "")
        found[name] = found.get(name, 0) + 1
    assert list(found) == [*split, *(["base_mode"] if mode else [])]
    assert all(found[name] == end - begin for name, (begin, end) in split.items())
    ours = env.reset(seed=0)[0]
    theirs = [name for name in record["observed"] if not name.endswith("-state")]
    assert [name for name in theirs if name.startswith("robot")] == [
        name for name in ours if name.startswith("robot")
    ]
    for name, value in ours.items():
        if name.startswith("robot"):
            assert value.shape == np.ravel(record[f"last/{name}"]).shape, name


def test_they_move_as_published(pair):
    name, env, record = pair
    env.reset(seed=0)
    env.set_state(at_start(env, record))
    kept = [i for i, n in enumerate(record["joints"]) if ASTRAY.get(name, "no joint") not in n]
    places = rows(env.model, record["joints"][kept])
    assert record["free"].sum() > STILL
    for i, action in enumerate(record["action"][record["free"]]):
        seen = env.step(action)[0]
        bound = LAGGING.get(name, 1e-5) if i >= STILL else 1e-5
        wanted = record["qpos"][i, kept]
        np.testing.assert_allclose(env.data.qpos[places], wanted, atol=bound, rtol=0)
    if record["free"].all():  # robosuite's Cartesian entries are a physics step old
        for name in (key for key in record if key.startswith("last/") and "state" not in key):
            if not name.endswith("joint_acc"):
                wanted = np.ravel(record[name])
                np.testing.assert_allclose(seen[name.removeprefix("last/")], wanted, atol=2e-2)


IDS = registry.ids(namespace="robosuite")


# Ids of a class have the same table and robots.
OF_CLASSES = sorted({registry.registration(id).task_class: id for id in IDS}.values())


@pytest.mark.parametrize(("i", "id"), mostly_nightly(enumerate(OF_CLASSES), 5))
def test_every_task_takes_one_of_them(i, id):
    robot = ROBOTS[i % len(ROBOTS)]
    two = "TwoArm" in id and len(arms.find(robot).limbs) == 1
    env = make(id, robot=(robot, robot) if two else robot)
    env.reset(seed=0)
    seen = env.step(np.zeros(env.action_space.shape))[0]
    assert env.observation_space.contains(seen)
    env.close()


@pytest.mark.parametrize("robot", ["SpotWithArm", "GR1FixedLowerBody", "Tiago"])
def test_batches_equal_single_environments(robot):
    assert_every_slot_equals_a_single_env("robosuite/Lift-v0", robot=robot)


def test_a_moved_humanoid_takes_its_arms_along():
    env = make(robot="GR1FloatingBody")
    first = env.reset(seed=0)[0]
    action = np.zeros(env.action_space.shape)
    names = [each.name for each in env.task.actions(env.model)]
    action[[names.index("robot0_base forward"), names.index("robot0_base_mode")]] = -1.0, 1.0
    for _ in range(20):
        seen = env.step(action)[0]
    assert seen["robot0_base_pos"][0] < first["robot0_base_pos"][0] - 0.1
    ahead = "robot0_base_to_right_eef_pos"
    assert np.abs(seen[ahead] - first[ahead]).max() < 0.03


@lane(0, 3)
def test_a_torso_helps_both_hands_to_their_poses():
    """The poses are out of the arms' reach alone; the torso leans as fast as it may."""
    gone = {}
    parts = {key: PARTS[key] for key in ("torso", "head")}
    for torso in ({**FOLLOWS, "max_dq": 0.2}, {**FOLLOWS, "max_dq": 1e-9}):
        law = {**WHOLE, "posture_gain": 0.0, "parts": {**parts, "torso": torso}}
        env = make(robot="GR1FixedLowerBody", controller=law)
        seen = env.reset(seed=0)[0]
        action = np.zeros(env.action_space.shape)
        for side, start in (("right", 0), ("left", 6)):
            action[start : start + 3] = seen[f"robot0_base_to_{side}_eef_pos"] + [0.35, 0, 0.2]
            quat = np.zeros(4)
            mujoco.mju_mat2Quat(quat, env.data.site(f"gripper0_{side}_grip_site").xmat)
            mujoco.mju_quat2Vel(action[start + 3 : start + 6], quat, 1.0)
        for _ in range(60):
            seen = env.step(action)[0]
        miss = seen["robot0_base_to_right_eef_pos"] - action[:3]
        lean = env.data.joint("robot0_torso_waist_pitch").qpos[0]
        gone[torso["max_dq"]] = np.linalg.norm(miss), abs(lean)
    assert gone[0.2][0] < 0.5 * gone[1e-9][0]
    assert gone[0.2][1] > 0.1 > 0.01 > gone[1e-9][1]


def test_parts_take_other_laws():
    stiff = {"type": "JOINT_POSITION", "kp": 1000.0, "kd": 200.0, "input_type": "absolute"}
    stiff["kp_limits"] = [0, 1000]
    env = make(robot="GR1FixedLowerBody", controller={"type": "OSC_POSE", "parts": {"head": stiff}})
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape)
    names = [each.name for each in env.task.actions(env.model)]
    action[names.index("robot0_head robot0_head_yaw")] = 0.5  # rad
    for _ in range(40):
        env.step(action)
    assert env.data.joint("robot0_head_yaw").qpos[0] == pytest.approx(0.5, abs=1e-2)
    with pytest.raises(ValueError, match="part: 'neck' is none"):
        make(robot="GR1FixedLowerBody", controller={"type": "OSC_POSE", "parts": {"neck": stiff}})
