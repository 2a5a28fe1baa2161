"""Scripted policies solve their tasks."""

import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.robosuite_records import make_task
from helpers.scripted import assert_drives_one_as_many, assert_solves
from mjgym import Env, VectorEnv
from mjgym.tasks.dmc.walker import Walker
from mjgym.tasks.robosuite.scripted_policies.tools import tools_of

# Episodes, control steps, and how many of them are solved at least: the table of the guide on
# demonstrations has the shares of 200.
SOLVED = {
    "Lift": (12, 60, 12),
    "Stack": (8, 320, 7),
    "Door": (8, 120, 7),
    "Wipe": (2, 600, 2),
    "PickPlace": (2, 800, 2),
    "PickPlaceCan": (2, 260, 2),
    "NutAssembly": (2, 500, 2),
    "NutAssemblyRound": (2, 200, 2),
    "ToolHang": (2, 520, 2),
    "TwoArmLift": (4, 120, 4),
    "TwoArmPegInHole": (4, 100, 4),
    "TwoArmHandover": (4, 250, 3),
    "TwoArmTransport": (2, 700, 2),
}


@pytest.mark.parametrize("name", mostly_nightly(SOLVED, 7))
def test_script_solves_its_task(name):
    rewards = assert_solves(make_task(name), *SOLVED[name])
    if name == "Wipe":  # whose last spot is paid besides the clean table
        assert (rewards > 1).all()
    else:
        depth_counts = name == "TwoArmPegInHole"  # whose reward is 1 at the deepest alone
        assert rewards == pytest.approx(1, abs=0.1 if depth_counts else 1e-6)


@pytest.mark.parametrize("robot", mostly_nightly(["Sawyer", "IIWA", "UR5e", "Kinova3", "XArm7"], 5))
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


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["Panda", "Sawyer", "IIWA", "UR5e", "Kinova3", "XArm7"])
def test_script_knows_along_which_axis_the_fingers_close(robot):
    task = make_task("Lift", robot=robot)
    env = Env(task, observation="dict", dtype="float64")
    observation, _ = env.reset(seed=0)
    (tool,) = tools_of(task, 1).tools(observation)
    arm = task.manipulators[0]
    first, second = (
        np.mean([env.data.geom(arm.hand_prefix + pad).xpos for pad in pads], axis=0)
        for pads in arm.hand.fingers
    )
    way = (second - first) / np.linalg.norm(second - first)
    assert abs(tool.rotation[0::3] @ way) == pytest.approx(1, abs=0.01)
    env.close()


@pytest.mark.parametrize("name", mostly_nightly(SOLVED, 6))
def test_script_drives_one_environment_as_many(name):
    # ToolHang turns its frame late.
    assert_drives_one_as_many(make_task(name), steps=160 if name == "ToolHang" else 30)


@pytest.mark.slow
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


def test_wiping_script_reads_the_circle_of_the_spots():
    with pytest.raises(ValueError, match="condensed: the script reads the circle"):
        make_task("Wipe", condensed=False).scripted_policy()


def test_script_of_a_task_without_one():
    assert Walker().scripted_policy() is None
