"""Scripted policies of tasks with the Jaco arm solve them."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.registered import registered_task
from helpers.scripted import assert_drives_one_as_many, assert_solves
from mjgym import Env, VectorEnv
from mjgym.robots import JacoArm, JacoHand
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import HELD
from mjgym.tasks.manipulation.scripted_policies.stacking import floors
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm


def make_task(name, **fields):
    return registered_task(f"manipulation/{name}_features-v0", **fields)


# Episodes, control steps, and how many of them are solved at least: the table of the guide on
# demonstrations has the shares of 200.
SOLVED = {
    "reach_site": (8, 120, 8),
    "reach_duplo": (8, 120, 8),
    "lift_brick": (6, 150, 6),
    "place_brick": (6, 200, 5),
    "place_cradle": (6, 200, 5),
    "stack_2_bricks": (6, 200, 5),
    "stack_2_bricks_moveable_base": (6, 200, 5),
    "stack_3_bricks": (6, 250, 2),
    "stack_2_of_3_bricks_random_order": (6, 250, 4),
}


@pytest.mark.parametrize("name", mostly_nightly(SOLVED, 5))
def test_script_solves_its_task(name):
    rewards = assert_solves(make_task(name), *SOLVED[name])
    assert rewards == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_script_drives_one_environment_as_many():
    assert_drives_one_as_many(make_task("stack_2_bricks"), steps=30)


@pytest.mark.slow
def test_script_stays_within_the_bounds_of_actions():
    envs = VectorEnv(make_task("reach_site"), 8, observation="dict", dtype="float64")
    policy = envs.task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    for _ in range(20):
        action = policy(observation)
        assert envs.action_space.contains(action)
        observation = envs.step(action)[0]
    envs.close()


def test_grasp_keeps_clear_of_another_brick():
    """A brick beside the place of a finger has the hand grasp elsewhere."""
    task = make_task("stack_2_bricks")
    env = Env(task, observation="dict", dtype="float64")
    observation = dict(env.reset(seed=0)[0])
    hand = "jaco_arm/jaco_hand"
    observation[f"{hand}/pinch_site_rmat"] = np.array([1.0, 0, 0, 0, -1, 0, 0, 0, -1])
    observation["duplo2x4_2/position"] = np.array([0.0, 0.0, 0.0119])
    for name in ("duplo2x4", "duplo2x4_2"):
        observation[f"{name}/orientation"] = np.array([1.0, 0, 0, 0])
    observation[f"{hand}/pinch_site_pos"] = np.array([0.0, 0.0, 0.2])
    (jaco_hand,) = velocity_arm(task, HELD).tools(observation)
    grips = []
    for other in (0.3, 0.034):  # m, along x: far away, and 2 mm from the brick
        observation["duplo2x4/position"] = np.array([other, -0.045, 0.0119])
        _, upper = floors(task, observation, jaco_hand)
        grips.append(upper.grip()[0])
    assert np.linalg.norm(grips[0] - grips[1]) > 0.005
    env.close()


@dataclass(frozen=True)
class DullArm(JacoArm):
    """The arm without sensors of torque."""

    torques: tuple[str, ...] = ()


@dataclass(frozen=True)
class OtherHand(JacoHand):
    """A hand of another name."""


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("reach_site", {"vision": True}, "poses of objects, which are not observed"),
        ("reach_site", {"arm": f"{__name__}:DullArm"}, "velocity servos and senses their torques"),
        ("reach_site", {"arm": "Panda", "hand": "PandaGripper"}, "velocity servos"),
        ("lift_brick", {"hand": f"{__name__}:OtherHand"}, "how 'jaco_3_fingers' holds a brick"),
    ],
    ids=str,
)
def test_script_refuses_what_it_cannot_drive(name, fields, reason):
    with pytest.raises(ValueError, match=reason):
        make_task(name, **fields).scripted_policy()


@pytest.mark.parametrize(
    "name",
    ["lift_large_box", "reassemble_3_bricks_fixed_order", "reassemble_5_bricks_random_order"],
)
def test_tasks_without_a_script(name):
    assert make_task(name).scripted_policy() is None
