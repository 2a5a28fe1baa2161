"""robosuite's interface over the tabletop tasks."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from helpers.compiling import nothing_compiled
from helpers.lanes import mostly_nightly
from helpers.robosuite_records import FOLDER, Record
from mjgym_compat.robosuite import (
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym_compat.robosuite.environment import IDS

FACTS = json.loads((FOLDER / "interface.json").read_text())
BLIND = {"use_camera_obs": False, "has_offscreen_renderer": False}


# The loops of the documentation, with the import changed.


def test_random_actions_in_lift():
    env = suite.make(
        env_name="Lift",
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
    )
    env.reset()
    for _ in range(5):
        action = np.random.default_rng(0).normal(size=env.action_spec[0].shape) * 0.1
        obs, reward, done, _ = env.step(action)
        env.render()
    assert obs["object-state"].shape == (10,)
    assert isinstance(reward, float)
    assert done is False
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_pictures_are_upside_down_unless_asked():
    """In a process of its own, where OpenGL ends with it."""
    code = """
import numpy as np, mjgym_compat.robosuite as suite
asked = dict(robots="Panda", camera_names=["agentview", "all-eye_in_hand"], camera_heights=48,
             camera_widths=[64, 32], camera_depths=[True, False], camera_segmentations="element",
             initialization_noise=None, seed=1)
below = suite.make("Lift", **asked).reset()
env = suite.make("Lift", image_convention="opencv", **asked)
above = env.reset()
names = list(below)
assert names.index("agentview_image") == names.index("robot0_gripper_qvel") + 1, names
assert names.index("robot0_eye_in_hand_segmentation_element") == names.index("cube_pos") - 1, names
assert below["agentview_image"].shape == (48, 64, 3), below["agentview_image"].shape
assert below["agentview_depth"].shape == (48, 64, 1) and "robot0_eye_in_hand_depth" not in below
for name in ("agentview_image", "agentview_depth", "agentview_segmentation_element"):
    np.testing.assert_array_equal(below[name][::-1], above[name])
np.testing.assert_array_equal(
    above["agentview_image"], env.env.camera("agentview", width=64, height=48))
metres = env.env.camera("agentview", kind="depth", width=64, height=48)
scale, depth = env.sim.model.stat.extent, above["agentview_depth"].astype(float)
near, far = (scale * x for x in (env.sim.model.vis.map.znear, env.sim.model.vis.map.zfar))
np.testing.assert_allclose(near / (1 - depth * (1 - near / far))[..., 0], metres, rtol=1e-3)
seen = set(np.unique(above["robot0_eye_in_hand_segmentation_element"]))
assert env.env.model.geom("cube_g0").id in seen or len(seen) > 2, seen
assert suite.make("Lift", "Panda").reset()["agentview_image"].shape == (256, 256, 3)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.weekly
@pytest.mark.display
@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs a display: apt-get install xvfb")
def test_render_opens_a_window():
    code = """
import mjgym_compat.robosuite as suite
env = suite.make("Lift", "Panda", has_renderer=True, use_camera_obs=False)
for _ in range(3):
    env.step([0.0] * 7)
    env.render()
env.close()
"""
    subprocess.run(
        ["xvfb-run", "-a", sys.executable, "-c", code],
        check=True,
        env={**os.environ, "MUJOCO_GL": "glfw"},
        timeout=120,
    )


# What an observation has.


@pytest.mark.parametrize("published", mostly_nightly(FACTS["published"], quick=["Lift/Panda"]))
def test_entries_are_the_published_ones_in_their_order(published):
    name, _, robots = published.partition("/")
    facts = FACTS["published"][published]
    env = suite.make(name, robots=robots.split("+"), seed=0, **BLIND)
    seen = env.reset()
    shapes = {key: list(np.shape(value)) for key, value in seen.items()}
    drawn = {"PickPlaceSingle": "obj", "NutAssemblySingle": "nut"}.get(name)
    expected = {key: size for key, size in facts["observations"].items() if size != [0]}
    if drawn:  # the recorded one's name was the drawn object's
        kept = {key: s for key, s in expected.items() if "_to_robot0" not in key}
        assert {key for key in shapes if key.startswith("robot0")} <= set(kept)
        assert shapes["object-state"] == expected["object-state"]
    else:
        assert shapes == expected
        assert list(shapes) == list(expected)
    assert env.action_dim == facts["action_dim"]
    low, high = env.action_spec
    np.testing.assert_array_equal(low, -np.ones(env.action_dim))
    np.testing.assert_array_equal(high, np.ones(env.action_dim))
    assert {key: list(np.shape(x)) for key, x in env.observation_spec().items()} == shapes


def test_groups_are_the_entries_in_a_row():
    env = suite.make("Door", robots="Panda", seed=0, **BLIND)
    seen = env.reset()
    rows = [np.ravel(x) for name, x in seen.items() if not name.endswith("-state")]
    joined = np.concatenate([seen["robot0_proprio-state"], seen["object-state"]])
    np.testing.assert_array_equal(joined, np.concatenate(rows))
    assert np.shape(seen["hinge_qpos"]) == ()
    blind = suite.make("Door", robots="Panda", use_object_obs=False, **BLIND).reset()
    assert "object-state" not in blind


# Reward and success.


def test_rewards_and_successes_are_the_recorded_ones():
    record = Record("Lift")
    for shaping, paid in ((True, "shaped"), (False, "sparse")):
        env = suite.make("Lift", robots="Panda", reward_shaping=shaping, **BLIND)
        for i in range(0, len(record), 10):
            env.sim.set_state(record.state(i))
            assert env.reward() == pytest.approx(record.arrays[paid][i], abs=1e-6)
            assert env._check_success() == record.arrays["success"][i]
            env.sim.data.qpos = record.arrays["qpos"][i]
            env.sim.forward()
            assert env.reward(np.zeros(7)) == pytest.approx(record.arrays[paid][i], abs=1e-6)
    raw = suite.make("Lift", robots="Panda", reward_shaping=True, reward_scale=None, **BLIND)
    raw.sim.set_state(record.state(0))
    assert raw.reward() == pytest.approx(2.25 * record.arrays["shaped"][0], abs=1e-5)


def test_horizon_may_be_ignored():
    env = suite.make("Lift", robots="Panda", horizon=2, ignore_done=True, **BLIND)
    assert [env.step(np.zeros(7))[2] for _ in range(4)] == [False] * 4
    assert env.timestep == 4


def test_a_seed_repeats_the_episodes():
    first, again = (suite.make("Stack", robots="Panda", seed=3, **BLIND) for _ in range(2))
    for _ in range(2):
        one, other = first.reset(), again.reset()
        np.testing.assert_array_equal(one["object-state"], other["object-state"])
    assert not np.array_equal(first.reset()["object-state"], one["object-state"])


def test_success_ends_nothing_but_wiping_does():
    env = suite.make("Wipe", robots="Panda", task_config={"num_markers": 1}, **BLIND)
    assert env.reset()["robot0_proprio-state"].shape == (47,)
    assert env.env.task.reward_type == "dense"  # as published: the only one that is shaped
    assert suite.make("Lift", robots="Panda", **BLIND).env.task.reward_type == "sparse"


# Keyword arguments.


@pytest.mark.slow
def test_arguments_become_the_tasks():
    env = suite.make(
        "NutAssembly",
        robots="Sawyer",
        env_configuration="single-robot",
        gripper_types="PandaGripper",
        base_types="default",
        initialization_noise={"magnitude": 0.1, "type": "uniform"},
        controller_configs=load_part_controller_config(default_controller="JOINT_POSITION"),
        table_friction=[0.5, 0.005, 0.0001],
        reward_scale=None,
        control_freq=50,
        single_object_mode=2,
        nut_type="round",
        hard_reset=False,
        lite_physics=False,
        render_gpu_device_id=0,
        **BLIND,
    )
    task = env.env.task
    assert (task.robot, task.gripper, task.nut_type) == ("Sawyer", "PandaGripper", "round")
    assert (task.start_noise, task.start_noise_type) == (0.1, "uniform")
    assert task.table_friction == (0.5, 0.005, 0.0001)
    assert task.reward_scale is None
    assert task.control_frequency == env.control_freq == 50
    assert task.robots[0].manipulators[0].controller.kp == 50
    assert env.action_dim == 8
    still = suite.make(
        "Door", robots=["Panda"], initialization_noise=None, use_latch=False, **BLIND
    )
    assert still.env.task.start_noise == 0
    assert "handle_qpos" not in still.reset()


@pytest.mark.parametrize("name", mostly_nightly(FACTS["arguments"], quick=8))
def test_published_defaults_are_the_tasks_own(name):
    """All published keyword arguments with their published values, as one task."""
    asked = dict(FACTS["arguments"][name])
    arms = ["Panda", "Panda"] if name.startswith("TwoArm") else "Panda"
    if name == "Wipe":
        asked["task_config"] = FACTS["wiping"]
    if not name.endswith(("PickPlace", "NutAssembly")):  # the name says which object
        for argument in ("single_object_mode", "object_type", "nut_type"):
            asked.pop(argument, None)
    given = {**asked, "robots": arms, "use_camera_obs": False}
    env = suite.make(name, **given)
    assert env.env.task == suite.make(name, robots=arms, **BLIND).env.task


@pytest.mark.parametrize(
    ("name", "asked", "error", "message"),
    [
        ("Lft", {}, ValueError, "did you mean Lift"),
        ("Lift", {"robots": "Pandah"}, ValueError, "did you mean Panda"),
        ("Lift", {"gripper_type": None}, TypeError, "did you mean gripper_types"),
        ("Lift", {"camera_name": "agentview"}, TypeError, "did you mean camera_names"),
        ("Lift", {"use_latch": True}, TypeError, "no argument 'use_latch'"),
        ("Lift", {"horizon": 2.5}, ValueError, "horizon"),
        ("Lift", {"env_configuration": "oposed"}, ValueError, "did you mean opposed"),
        ("Lift", {"render_collision_mesh": True}, ValueError, "only False here"),
        ("Lift", {"initialization_noise": 0.1}, ValueError, "magnitude"),
        ("Lift", {"controller_configs": 3}, TypeError, "expected a dict"),
        ("Lift", {"controller_configs": [None, None]}, ValueError, "2 of them for 1"),
        ("Lift", {"controller_configs": {"type": "OSC_POS"}}, ValueError, "OSC_POSE"),
        (
            "Lift",
            {"controller_configs": {"type": "OSC_POSE", "control_delta": False}},
            TypeError,
            "input_type",
        ),
        (
            "Lift",
            {"controller_configs": {"type": "HYBRID_MOBIL_BASE", "body_parts": {}}},
            ValueError,
            "HYBRID_MOBILE_BASE",
        ),
        ("Lift", {"controller_configs": {"body_parts": {"rigth": {}}}}, ValueError, "right"),
        ("Lift", {"controller_configs": {"body_parts": {}}}, ValueError, "nothing for right"),
        ("Lift", {"image_convention": "opencl"}, ValueError, "opencv"),
        ("PickPlace", {"single_object_mode": 3}, ValueError, "0, 1 or 2"),
        ("PickPlace", {"single_object_mode": 2}, ValueError, "needs object_type"),
        ("PickPlaceCan", {"object_type": "can"}, TypeError, "no argument"),
        ("Wipe", {"task_config": {"num_marker": 3}}, TypeError, "did you mean num_markers"),
        ("Wipe", {"task_config": {"unit_wiped_reward": 3}}, ValueError, "only 50"),
        ("TwoArmHandover", {"prehensile": False}, ValueError, "prehensile"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(name, asked, error, message):
    with nothing_compiled(), pytest.raises(error, match=message):
        suite.make(name, **{"robots": "Panda", **BLIND, **asked})


# Controllers' configurations.


def test_configurations_of_controllers(tmp_path):
    part = load_part_controller_config(default_controller="osc_pose")
    assert part["type"] == "OSC_POSE"
    assert part["kp"] == 150
    assert "substeps" not in part
    whole = load_composite_controller_config(robot="Baxter")
    assert list(whole["body_parts"]) == ["right", "left"]
    assert list(load_composite_controller_config(robot="Panda")["body_parts"]) == ["right"]
    assert whole["body_parts"]["left"]["gripper"] == {"type": "GRIP"}
    file = tmp_path / "whole.json"
    file.write_text(json.dumps(whole))
    assert load_composite_controller_config(controller=str(file)) == whole
    assert load_part_controller_config(custom_fpath=str(file)) == whole
    assert refactor_composite_controller_config(part, "Panda", ["right"]) == (
        load_composite_controller_config(robot="Panda")
    )
    assert refactor_composite_controller_config(whole, "Panda", ["right"]) is whole
    for load, asked in (
        (load_composite_controller_config, {"controller": "BASICS"}),
        (load_composite_controller_config, {}),
        (load_part_controller_config, {}),
        (load_part_controller_config, {"default_controller": "OSC"}),
    ):
        with pytest.raises(ValueError, match=r"BASIC|give|OSC_POSE"):
            load(**asked)


def test_changed_configuration_reaches_the_law():
    config = load_composite_controller_config(controller="BASIC", robot="Panda")
    config["body_parts"] = {"arms": config["body_parts"], "torso": {"type": "JOINT_POSITION"}}
    config["body_parts"]["arms"]["right"] |= {"kp": 300, "interpolation": "null"}
    env = suite.make("Lift", "Panda", controller_configs=config, **BLIND)
    assert env.env.task.robots[0].manipulators[0].controller.kp == 300
    both = load_composite_controller_config(robot="Baxter")
    both["body_parts"]["left"]["kp"] = 10
    with pytest.raises(ValueError, match="both arms"):
        suite.make("TwoArmLift", "Baxter", controller_configs=both, **BLIND)


# Robots and the simulation.


@pytest.mark.slow
def test_robots_know_their_part_of_an_action(capsys):
    env = suite.make("TwoArmLift", robots="Baxter", seed=0, **BLIND)
    robot = env.robots[0]
    assert robot.arms == ("right", "left")
    assert (robot.dof, robot.action_dim) == (14, 14)
    parts = {"left": np.arange(6) / 10, "left_gripper": [1], "right_gripper": [-1]}
    vector = robot.create_action_vector(parts)
    np.testing.assert_allclose(vector[6:12], np.arange(6) / 10)
    assert vector[12:].tolist() == [-1, 1]
    assert not vector[:6].any()
    np.testing.assert_array_equal(robot.action_limits[0], -np.ones(14))
    seen = env.observation_spec()
    np.testing.assert_array_equal(robot._joint_positions, seen["robot0_joint_pos"])
    np.testing.assert_array_equal(robot._joint_velocities, np.zeros(14))
    assert np.abs(robot._joint_positions - robot.init_qpos).max() < 0.2
    for side, site in robot.eef_site_id.items():
        tool = env.sim.data.site_xpos[site]
        np.testing.assert_array_equal(tool, seen[f"robot0_{side}_eef_pos"])
    robot.print_action_info()
    assert "right_gripper: [-1, 1] x half strokes" in capsys.readouterr().out
    for wrong in ({"rigth": np.zeros(6)}, {"right": np.zeros(5)}):
        with pytest.raises(ValueError, match="right"):
            robot.create_action_vector(wrong)


@pytest.mark.slow
def test_second_robot_has_its_own_part():
    env = suite.make("TwoArmHandover", robots=["Panda", "Sawyer"], **BLIND)
    for robot in env.robots:
        assert robot.action_dim == 7
        assert robot.create_action_vector({"right_gripper": [1]}).tolist() == [0] * 6 + [1]


def test_elements_of_the_simulation_by_name():
    env = suite.make("Lift", robots="Panda", seed=0, **BLIND)
    sim, seen = env.sim, env.observation_spec()
    cube = sim.model.body_name2id("cube_main")
    assert sim.model.body_id2name(cube) == "cube_main"
    assert "cube_main" in sim.model.body_names
    assert sim.model.joint_names[0] == "robot0_joint1"
    assert sim.model.nq == env.env.model.nq
    assert sim.model.geom_size.shape[0] == env.env.model.ngeom
    np.testing.assert_array_equal(sim.data.body_xpos[cube], seen["cube_pos"])
    np.testing.assert_array_equal(sim.data.get_body_xpos("cube_main"), seen["cube_pos"])
    assert sim.data.get_body_xmat("cube_main").shape == (3, 3)
    sim.data.set_joint_qpos("robot0_joint1", 0.5)
    assert sim.data.get_joint_qpos("robot0_joint1") == 0.5
    sim.forward()
    assert not np.allclose(env.observation_spec()["robot0_eef_pos"], seen["robot0_eef_pos"])
    with pytest.raises(AttributeError):
        _ = sim.data.get_nothing
    before = sim.get_state()
    env.step(np.ones(7))
    sim.set_state(before)
    np.testing.assert_array_equal(sim.data.qpos, before.qpos)


def test_names_of_what_there_is():
    assert len(IDS) == 19
    assert set(IDS) <= set(suite.ALL_ENVIRONMENTS)
    assert set(suite.ALL_ROBOTS) >= {"Panda", "Sawyer", "IIWA", "UR5e", "Kinova3", "Jaco", "Baxter"}
    assert "jaco_6_joints" not in suite.ALL_ROBOTS
    assert "PandaGripper" in suite.ALL_GRIPPERS
    assert "OSC_POSE" in suite.ALL_PART_CONTROLLERS
