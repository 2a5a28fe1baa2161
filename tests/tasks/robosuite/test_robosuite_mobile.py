"""Robots on bases that drive, against records of robosuite."""

import gymnasium
import numpy as np
import pytest

from helpers.equivalence import assert_every_slot_equals_a_single_env
from helpers.lanes import mostly_nightly
from helpers.robosuite_records import FOLDER
from mjgym import registry
from mjgym.robots import bases

pytestmark = pytest.mark.slow  # quick tests take the robots of the ids

RECORD = np.load(FOLDER / "panda_omron.npz")
FORWARD, SIDE, TURN, MODE = 7, 8, 9, 11  # numbers of an action


def make(id="robosuite/Lift-v0", **options):
    options = {"robot": "PandaOmron", "observation": "dict", "dtype": "float64", **options}
    return gymnasium.make(id, disable_env_checker=True, **options).unwrapped


def test_it_moves_as_published():
    """Joints agree in every step; robosuite's other entries are one physics step old."""
    env = make(start_noise=0.0)
    env.reset(seed=0)
    rows = [int(env.model.joint(str(name)).qposadr[0]) for name in RECORD["joints"]]
    np.testing.assert_array_equal(env.data.qpos[rows], RECORD["qpos"][0])
    for action, wanted in zip(RECORD["action"], RECORD["qpos"][1:], strict=True):
        seen = env.step(action)[0]
        np.testing.assert_allclose(env.data.qpos[rows], wanted, atol=2e-5)
    entries = [name for name in RECORD.files if name.startswith("last/") and "state" not in name]
    assert len(entries) == 15
    for name in entries:
        if not name.endswith("joint_acc"):
            wanted = np.ravel(RECORD[name])
            np.testing.assert_allclose(seen[name.removeprefix("last/")], wanted, atol=2e-3)


def test_the_arm_follows_the_base_from_its_goal():
    ways = {}
    for mode in (-1.0, 1.0):
        env = make(start_noise=0.0)
        first = env.reset(seed=0)[0]
        action = np.zeros(12)
        action[FORWARD], action[MODE] = 1.0, mode
        for _ in range(30):
            seen = env.step(action)[0]
        way = "robot0_base_to_eef_pos"
        ways[mode] = np.linalg.norm(seen[way] - first[way])
        assert seen["robot0_base_pos"][0] > first["robot0_base_pos"][0] + 0.05
    assert ways[1.0] < 0.5 * ways[-1.0]


def test_it_turns_and_drives_sideways():
    env = make(start_noise=0.0)
    first = env.reset(seed=0)[0]
    action = np.zeros(12)
    action[[SIDE, TURN, MODE]] = 1.0, 0.5, 1.0
    for _ in range(10):
        seen = env.step(action)[0]
    assert seen["robot0_base_pos"][1] > first["robot0_base_pos"][1] + 0.05
    assert env.data.joint("mobilebase0_joint_mobile_yaw").qpos[0] > 0.05
    assert abs(env.data.joint("mobilebase0_joint_torso_height").qpos[0] - 0.2) < 1e-3


@pytest.mark.parametrize("id", mostly_nightly(registry.ids(namespace="robosuite"), 7))
def test_every_task_takes_it(id):
    two = "TwoArm" in id
    robot = ("PandaOmron", "PandaOmron") if two else "PandaOmron"
    env = make(id, robot=robot)
    env.reset(seed=0)
    count = len(env.action_space.low)
    seen = env.step(np.full(count, 0.1))[0]
    assert env.observation_space.contains(seen)
    assert sum("base_mode" in each.name for each in env.task.actions(env.model)) == 1 + two


def test_batches_equal_single_environments():
    assert_every_slot_equals_a_single_env("robosuite/Lift-v0", robot="PandaOmron")


def test_any_arm_stands_on_it():
    env = make(robot="UR5e", base="OmronMobileBase")
    seen = env.reset(seed=0)[0]
    assert seen["robot0_base_pos"][2] == pytest.approx(0.7)
    assert "OmronMobileBase" in bases.names()
