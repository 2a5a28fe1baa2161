"""Scripted policies solve their tasks."""

import numpy as np
import pytest
from robosuite_records import make_task

from mjgym import Env, VectorEnv
from mjgym.tasks.dmc.walker import Walker

pytestmark = pytest.mark.slow

# Episodes, control steps, and how many of them are solved at least: the table of the guide on
# demonstrations has the shares of 200.
SOLVED = {
    "Lift": (24, 60, 24),
    "Stack": (16, 320, 15),
    "Door": (12, 120, 11),
    "PickPlaceCan": (4, 200, 4),
    "NutAssemblyRound": (4, 200, 4),
    "TwoArmLift": (6, 120, 6),
    "TwoArmPegInHole": (8, 100, 8),
    "TwoArmHandover": (6, 250, 5),
}


@pytest.mark.parametrize("name", SOLVED)
def test_script_solves_its_task(name):
    episodes, steps, least = SOLVED[name]
    envs = VectorEnv(make_task(name), episodes, observation="dict", dtype="float64")
    policy = envs.task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    for _ in range(steps):
        observation, rewards, _, _, info = envs.step(policy(observation))
        if info["success_once"].sum() >= least:
            break
    assert info["success_once"].sum() >= least
    depth_counts = name == "TwoArmPegInHole"  # whose reward is 1 at the deepest alone
    assert rewards[info["success"]] == pytest.approx(1, abs=0.1 if depth_counts else 1e-6)
    envs.close()


@pytest.mark.parametrize("robot", ["Sawyer", "IIWA", "UR5e", "Kinova3", "XArm7"])
def test_script_lifts_with_other_robots(robot):
    """By the same law with another arm and another gripper, whose grasp is noticed as well."""
    envs = VectorEnv(make_task("Lift", robot=robot), 4, observation="dict", dtype="float64")
    policy = envs.task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    grasped = np.zeros(4)
    for _ in range(80):
        observation, _, _, _, info = envs.step(policy(observation))
        grasped = np.maximum(grasped, info["terms/grasp"])
    assert info["success_once"].all()
    assert (grasped > 0).all()
    envs.close()


def test_script_drives_one_environment_as_many():
    task = make_task("Lift")
    envs = VectorEnv(task, 2, observation="dict", dtype="float64")
    env = Env(task, observation="dict", dtype="float64")
    policies = task.scripted_policy(), task.scripted_policy()
    many, _ = envs.reset(seed=3)
    one, _ = env.reset(seed=4)
    for _ in range(30):
        actions, action = policies[0](many), policies[1](one)
        np.testing.assert_array_equal(actions[1], action)
        many, one = envs.step(actions)[0], env.step(action)[0]
    envs.close()


def test_script_begins_anew_where_it_is_told_to():
    task = make_task("Lift")
    envs = VectorEnv(task, 2, observation="dict", dtype="float64")
    policy = task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    for _ in range(25):
        action = policy(observation)
        observation = envs.step(action)[0]
    assert (action[:, 6] == 1).all()  # both hands close
    policy.restart(np.array([False, True]))
    assert policy(observation)[:, 6].tolist() == [1, -1]
    policy.restart()
    assert policy(observation)[:, 6].tolist() == [-1, -1]
    envs.close()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"robot": "Baxter"}, r"moves 1 arm\(s\), not 'Baxter'"),
        ({"robot": "Jaco"}, "grasps with two parallel fingers"),
        ({"controller": "JOINT_POSITION"}, "moves arms by OSC_POSE, not 'JOINT_POSITION'"),
        ({"grouped": True}, "reads the single observation entries"),
        ({"object_entries": False}, "reads the single observation entries"),
    ],
    ids=str,
)
def test_script_refuses_what_it_cannot_drive(fields, reason):
    with pytest.raises(ValueError, match=reason):
        make_task("Lift", **fields).scripted_policy()


def test_script_of_a_task_without_one():
    assert Walker().scripted_policy() is None
