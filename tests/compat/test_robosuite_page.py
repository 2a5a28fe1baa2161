"""The code of robosuite's page "Environments", and every argument of `make` that it names."""

import importlib
import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from lxml import etree

import mjgym_compat
import mjgym_compat.robosuite as robosuite
from helpers.lanes import mostly_nightly
from helpers.robosuite_records import FOLDER
from mjgym_compat.robosuite import macros
from mjgym_compat.robosuite.controllers import load_composite_controller_config
from mjgym_compat.robosuite.wrappers import GymWrapper, Wrapper
from mjgym_compat.robosuite_hdf5 import RecordedModel

SCRIPTS = Path(__file__).parents[2] / "scripts"
CASES = json.loads((FOLDER / "argument_cases.json").read_text())
THEIRS = json.loads((FOLDER / "arguments.json").read_text())["outcomes"]
BLIND = {"use_camera_obs": False, "has_offscreen_renderer": False}
SEEING = {"use_camera_obs": True, "has_offscreen_renderer": True}
# What robosuite accepts and this package refuses, with a part of the reason.
REFUSED = {
    "Lift render_collision_mesh=True": "collision shapes",
    "TwoArmTransport tables_boundary=(0.8, 1.0, 0.05)": "the bins stand",
    "TwoArmTransport bin_size=(0.3, 0.3, 0.2)": "the lid and the payload",
}
# Entries are named there after the object that is drawn, and here "obj" and "nut"; an arm other
# than Baxter stands 62 mm lower there on Baxter's mount; inverse kinematics differs as the guide
# says; entries of a base that drives are one physics step old there; the mode above 0 starts from
# the goal of a start that is drawn.
DIFFERENT = (
    "Lift controller_configs=load_composite_controller_config(controller='HYBRID_MOBILE_BASE')",
    "Lift robots='PandaOmron'",
    "PickPlace single_object_mode=1",
    "NutAssembly single_object_mode=1",
    "Stack base_types='RethinkMinimalMount'",
    "Lift controller_configs=part('IK_POSE')",
)


def make(task="Lift", robots="Panda", **asked):
    return robosuite.make(task, robots=robots, **{**BLIND, **asked})


def law_of(env, robot=0):
    return env.env.task.robots[robot].manipulators[0].controller


# The page's blocks, with the import changed.


def get_policy_action(env, obs):
    low, high = env.action_spec
    return np.random.default_rng(0).uniform(low, high)


def rollout(env):
    obs = env.reset()
    done = False
    ret = 0.0
    while not done:
        action = get_policy_action(env, obs)
        obs, reward, done, _ = env.step(action)
        ret += reward
    return ret


@pytest.mark.slow
def test_environment_to_visualize_on_screen():
    env = robosuite.make(
        "TwoArmLift",
        robots=["Sawyer", "Panda"],
        gripper_types="default",
        controller_configs=load_composite_controller_config(controller="BASIC"),
        env_configuration="opposed",
        has_renderer=True,
        render_camera="frontview",
        has_offscreen_renderer=False,
        control_freq=20,
        horizon=200,
        use_object_obs=False,
        use_camera_obs=False,
    )
    assert list(env.reset())[-2:] == ["robot0_proprio-state", "robot1_proprio-state"]


def test_environment_for_learning_from_low_dimensional_observations():
    env = robosuite.make(
        "TwoArmLift",
        robots=["Sawyer", "Panda"],
        gripper_types="default",
        controller_configs=load_composite_controller_config(controller="BASIC"),
        env_configuration="opposed",
        has_renderer=False,
        has_offscreen_renderer=False,
        control_freq=20,
        horizon=5,
        use_object_obs=True,
        use_camera_obs=False,
        reward_shaping=True,
    )
    assert rollout(env) > 0
    assert env.timestep == env.horizon == 5
    assert env.observation_spec()["robot1_proprio-state"].shape == (50,)
    assert [robot.name for robot in env.robots] == ["Sawyer", "Panda"]
    with pytest.raises(ValueError, match="terminated episode"):
        env.step(env.action_spec[0])
    env.reset()
    assert not env.step(env.action_spec[0])[2]
    env.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_environment_for_learning_from_pixels():
    env = robosuite.make(
        "TwoArmLift",
        robots=["Sawyer", "Panda"],
        gripper_types="default",
        controller_configs=load_composite_controller_config(controller="BASIC"),
        env_configuration="opposed",
        has_renderer=False,
        has_offscreen_renderer=True,
        control_freq=20,
        horizon=2,
        use_object_obs=False,
        use_camera_obs=True,
        camera_names="agentview",
        camera_heights=84,
        camera_widths=84,
        reward_shaping=True,
    )
    assert env.reset()["agentview_image"].shape == (84, 84, 3)
    assert rollout(env) > 0


# Arguments: the outcomes of robosuite 1.5.2, recorded by scripts/robosuite_arguments.py.


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("robosuite_arguments")
    finally:
        sys.path.remove(str(SCRIPTS))


def by_argument(pictures):
    names = {case["argument"]: None for case in CASES}
    begin = ("camera_", "render_collision", "render_visual")
    return [name for name in names if name.startswith(begin) == pictures]


def check_argument(script, argument):
    if argument == "placement_initializer":
        pytest.importorskip("robosuite.macros", reason="the samplers are robosuite's")
    for case in CASES:
        if case["argument"] != argument:
            continue
        title = script.title(case)
        theirs = THEIRS[title]
        ours = script.outcome("mjgym_compat.robosuite", case, theirs)
        if title in REFUSED:
            assert "error" not in theirs, title
            assert REFUSED[title] in ours["error"], title
        elif "error" not in theirs:
            verdict = script.compare(theirs, ours)
            assert verdict.startswith("differs" if title in DIFFERENT else "same"), (title, verdict)


SLOW = ("gripper_types", "robots", "controller_configs", "table_full_size", "initialization_noise",
        "placement_initializer", "base_types", "z_rotation", "env_configuration")  # fmt: skip


@pytest.mark.parametrize(
    "argument",
    mostly_nightly(
        names := by_argument(pictures=False), quick=[n for n in names if n not in SLOW][::4]
    ),
)
def test_argument_does_as_published(script, argument):
    check_argument(script, argument)


@pytest.mark.gl
@pytest.mark.parametrize("argument", mostly_nightly(by_argument(pictures=True), 5))
def test_argument_of_pictures_does_as_published(script, argument):
    check_argument(script, argument)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"renderer": "nvisii"}, "mjviewer"),
        ({"renderer_config": {"cam_config": None}}, "renderer_config"),
        ({"use_camera_obs": True}, "has_offscreen_renderer"),
        ({"render_camera": "frontvew"}, "did you mean frontview"),
        ({"render_camera": ["frontview", "agentview"]}, "one camera"),
        ({"control_freq": 0}, "above 0"),
        ({"control_freq": 700}, "at most 500 Hz"),
        ({"base_types": "SpotFlotingBase"}, "did you mean SpotFloating"),
        ({"initialization_noise": [None, None]}, "2 of them for 1"),
        ({"initialization_noise": {"type": "normal"}}, "type: 'normal' is none"),
        ({"placement_initializer": "nowhere"}, "nowhere"),
        ({**SEEING, "camera_names": "agentvew"}, "did you mean agentview"),
        ({**SEEING, "camera_names": ["agentview"], "camera_heights": [1, 2]}, "2 of them for 1"),
        ({**SEEING, "camera_segmentations": "instanse"}, "did you mean instance"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_its_reason(asked, message):
    with pytest.raises(ValueError, match=message):
        make(**asked)


def test_horizon_of_nothing_ends_with_the_first_step():
    env = make(horizon=0)
    assert env.step(np.zeros(7))[2]


def test_soft_resets_keep_the_sizes():
    env = make(hard_reset=False, seed=0)
    size = env.env.model.geom("cube_g0").size.copy()
    heights = [env.reset()["cube_pos"][2] + env.cube.bottom_offset[2] for _ in range(3)]
    np.testing.assert_array_equal(env.env.model.geom("cube_g0").size, size)
    np.testing.assert_allclose(heights, heights[0], atol=1e-12)
    hard = make(seed=0)
    hard.reset()
    assert not np.array_equal(hard.env.model.geom("cube_g0").size, size)


def test_noise_of_each_robot():
    env = make(
        "TwoArmLift",
        ["Panda", "Panda"],
        initialization_noise=[None, {"magnitude": 0.5, "type": "uniform"}],
    )
    away = [np.abs(robot._joint_positions - robot.init_qpos).max() for robot in env.robots]
    assert away[0] == 0
    assert 0.1 < away[1] <= 0.5


# Cameras.


@pytest.mark.weekly
@pytest.mark.gl
def test_segmentation_depth_and_points(monkeypatch):
    monkeypatch.setattr(macros, "IMAGE_CONVENTION", "opencv")
    monkeypatch.setattr(macros, "CONCATENATE_IMAGES", True)
    size = {"camera_heights": 64, "camera_widths": 96}
    env = robosuite.make(
        "Lift", robots="Panda", camera_names="agentview", camera_depths=True,
        camera_segmentations=["instance", "class", "element"], seed=0, **size,
    )  # fmt: skip
    seen = env.reset()
    assert seen["image-state"].shape == (64, 96, 3 + 1 + 3)
    cube = 1 + list(env.model.instances_to_ids).index("cube")
    instances = seen["agentview_segmentation_instance"]
    assert instances.shape == (64, 96, 1)
    assert set(np.unique(instances)) <= set(range(len(env.model.instances_to_ids) + 1))
    geoms = seen["agentview_segmentation_element"][instances == cube]
    assert set(geoms.tolist()) <= set(env.cube.geom_ids)
    model, depth = env.sim.model, seen["agentview_depth"]
    near, far = (model.stat.extent * x for x in (model.vis.map.znear, model.vis.map.zfar))
    metres = near / (1 - depth * (1 - near / far))  # as robosuite's camera_utils read it
    camera = env.sim.data.get_camera_xpos("agentview")
    away = np.linalg.norm(camera - seen["cube_pos"])
    assert np.abs(metres[instances == cube] - away).max() < 0.1


# The environment, its simulation and its robots.


def test_state_as_a_vector():
    env = make(seed=0)
    for _ in range(3):
        env.step(np.full(7, 0.2))
    state, seen = env.sim.get_state(), env._get_observations(force_update=True)
    flat = state.flatten()
    assert flat.shape == (1 + env.sim.model.nq + env.sim.model.nv,)
    env.reset()
    env.sim.set_state_from_flattened(flat)
    env.sim.forward()
    again = env._get_observations(force_update=True)
    np.testing.assert_array_equal(again["robot0_joint_pos"], seen["robot0_joint_pos"])
    np.testing.assert_allclose(again["cube_pos"], seen["cube_pos"], atol=1e-12)
    with pytest.raises(ValueError, match="shape"):
        env.sim.set_state_from_flattened(flat[1:])


@pytest.mark.parametrize("task", mostly_nightly(["Lift", "Door", "TwoArmHandover"], quick=3))
def test_xml_holds_what_an_episode_has_drawn(task):
    robots = ["Panda", "Panda"] if task.startswith("TwoArm") else "Panda"
    env, other = make(task, robots, seed=0), make(task, robots, seed=1)
    xml = env.sim.model.get_xml()
    other.reset_from_xml_string(xml)
    for name in env.env.task.varies:
        np.testing.assert_array_equal(other.env.get_state()[name], env.env.get_state()[name])
    with pytest.raises(ValueError, match="another model"):
        make("Stack").reset_from_xml_string(xml)
    with pytest.raises(ValueError, match="xml"):
        other.reset_from_xml_string("<mujoco/>")


@pytest.mark.weekly
@pytest.mark.parametrize("told", [True, False], ids=["whole", "without memory"])
def test_actions_lead_from_a_recorded_state_to_the_recorded_ones(told):
    env, other = make(seed=0), make(seed=1)
    xml, start = env.sim.model.get_xml(), env.sim.get_state().flatten()
    if not told:  # robosuite's controllers begin at the published start then
        root = etree.fromstring(xml)
        for number in root.iterfind("custom/numeric"):
            if number.get("name").startswith("episode/memory."):
                number.getparent().remove(number)
        xml = etree.tostring(root, encoding="unicode")
    actions = np.random.default_rng(0).uniform(-1, 1, (100, env.action_dim))

    def states(env):
        for action in actions:
            env.step(action)
            yield env.sim.get_state().flatten()

    first = list(states(env))
    for _ in range(2):
        other.reset_from_xml_string(xml)
        other.sim.set_state_from_flattened(start)
        other.sim.forward()
        again = list(states(other))
        if not told:
            assert not np.array_equal(first, again)  # it does not know the drawn start
            first, told = again, True
        np.testing.assert_array_equal(again, first)


def test_reset_after_close_begins_an_episode():
    env = make(seed=0)
    env.close()
    env.reset()
    assert np.isfinite(env.step(np.zeros(7))[1])
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.step(np.zeros(7))


@pytest.mark.parametrize(
    ("frequency", "steps"),
    mostly_nightly([(15, 33), (30, 16), (60, 8), (17, 29), (500, 1)], quick=3),
)
def test_control_step_simulates_whole_physics_steps(frequency, steps):
    """Simulated times of robosuite 1.5.2, where `control_timestep` and `cur_time` are nominal."""
    env = make(control_freq=frequency)
    env.step(np.zeros(7))
    assert env.sim.data.time == pytest.approx(steps * 0.002)
    assert env.control_timestep == env.cur_time == 1 / frequency
    assert env.control_freq == frequency


@pytest.mark.weekly
@pytest.mark.parametrize("task", ["TwoArmTransport", "ToolHang"])
def test_reward_shaping_of_sparse_tasks_warns(task):
    robots = ["Panda", "Panda"] if task.startswith("TwoArm") else "Panda"
    with pytest.warns(UserWarning, match=f"{task} pays for success alone"):
        env = make(task, robots, reward_shaping=True)
    assert env.step(np.zeros(env.action_dim))[1] == 0.0
    assert not env.reward_shaping


@pytest.mark.slow
def test_whole_body_ik_names_the_tools_of_each_robot():
    config = load_composite_controller_config(controller="WHOLE_BODY_IK")
    pair = make("TwoArmLift", ["Sawyer", "Panda"], controller_configs=config)
    each = [
        load_composite_controller_config(controller="WHOLE_BODY_IK", robot=robot)
        for robot in ("Sawyer", "Panda")
    ]
    alike = make("TwoArmLift", ["Sawyer", "Panda"], controller_configs=each)
    assert pair.action_dim == alike.action_dim == 14
    laws = [law_of(each, robot=1) for each in (pair, alike)]
    assert laws[0] == laws[1]
    config["composite_controller_specific_configs"]["ref_name"] = ["gripper2_right_grip_site"]
    with pytest.raises(ValueError, match="gripper2"):
        make("TwoArmLift", ["Sawyer", "Panda"], controller_configs=config)


def test_notes_of_an_episode():
    env = make()
    env.set_ep_meta({"layout": 3})
    assert env.get_ep_meta() == {"layout": 3}
    env.unset_ep_meta()
    assert env.get_ep_meta() == {}


def test_vary_and_observables_of_this_package():
    from mjgym import Observable as Reading
    from mjgym.variation import Uniform, factor

    env = make(
        seed=0,
        vary={"body_mass[robot0_link4]": factor(Uniform(2, 3))},
        observables={"cube_quat": Reading(enabled=False)},
    )
    plain = make(seed=0)
    share = env.env.model.body("robot0_link4").mass / plain.env.model.body("robot0_link4").mass
    assert 2 <= share <= 3
    assert "cube_quat" not in env.reset()


# Wrappers.


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_gymnasium_wrapper():
    env = GymWrapper(make(horizon=5, seed=0))
    first, _ = env.reset(seed=3)
    again, _ = env.reset(seed=3)
    np.testing.assert_array_equal(first, again)
    assert isinstance(env, gymnasium.Env)
    check_env(env, skip_render_check=True)
    env.reset()
    ends = [env.step(np.zeros(7, np.float32))[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(True, False)]  # as robosuite 1.5.2 says it
    whole = GymWrapper(make(), keys=["robot0_eef_pos"], flatten_obs=False)
    assert whole.observation_space["robot0_eef_pos"].shape == (3,)
    with pytest.raises(ValueError, match="robot1"):
        GymWrapper(make(), keys=["robot1_eef_pos"])


@pytest.fixture
def theirs():
    """The published wrappers, which wrap environments of `make`, too."""
    pytest.importorskip("robosuite.macros", reason='needs pip install -e ".[robosuite]"')
    mjgym_compat.install("robosuite")
    return importlib.import_module("robosuite.wrappers")


def test_demonstrations_on_disk(tmp_path, theirs):
    env = theirs.DataCollectionWrapper(make(seed=0), str(tmp_path), flush_freq=4)
    for _ in range(2):
        env.reset()
        for _ in range(6):
            seen = env.step(np.full(7, 0.1))[0]
    env.close()
    episodes = sorted(tmp_path.iterdir())
    assert len(episodes) == 2
    parts = [np.load(file, allow_pickle=True) for file in sorted(episodes[1].glob("*.npz"))]
    states = np.concatenate([part["states"] for part in parts])
    assert len(states) == 7
    assert sum(len(part["action_infos"]) for part in parts) == 6
    assert str(parts[0]["env"]) == "Lift"
    other = make()
    other.reset_from_xml_string((episodes[1] / "model.xml").read_text())
    other.sim.set_state_from_flattened(states[-1])
    other.sim.forward()
    replayed = other._get_observations(force_update=True)
    np.testing.assert_allclose(replayed["cube_pos"], seen["cube_pos"], atol=1e-12)


def test_visualization_settings(theirs):
    env = theirs.VisualizationWrapper(make())
    assert sorted(env.get_visualization_settings()) == ["env", "grippers", "robots"]
    env.set_visualization_setting("grippers", False)
    env.step(np.zeros(7))
    sites = [name for name in env.sim.model.site_names if name.startswith("robot0_")]
    assert {env.sim.model._model.site(name).rgba[3] for name in sites} == {0.5}
    assert env.sim.model._model.site("gripper0_right_grip_site").rgba[3] == 0


class Halved(Wrapper):
    """A wrapper of one's own, which calls the methods of its base class."""

    def reset(self):
        self.steps = 0
        return super().reset()

    def step(self, action):
        self.steps += 1
        return super().step(np.asarray(action) / 2)

    @property
    def action_spec(self):
        low, high = super().action_spec
        return 2 * low, 2 * high


def test_a_wrapper_of_ones_own():
    env, plain = Halved(make(seed=0)), make(seed=0)
    assert env.class_name() == "Halved"
    assert env.action_spec[1][0] == 2
    assert env.observation_spec().keys() == plain.observation_spec().keys()
    env.reset(), plain.reset()
    seen, expected = env.step(np.full(7, 0.5))[0], plain.step(np.full(7, 0.25))[0]
    assert env.steps == 1
    assert type(env.unwrapped) is type(plain)
    np.testing.assert_array_equal(seen["robot0_proprio-state"], expected["robot0_proprio-state"])


# Controllers and names.


@pytest.mark.weekly
def test_whole_body_ik_moves_joints_as_published():
    """Recorded with contacts of an arm with its own base switched off, as shapes differ there."""
    record = np.load(FOLDER / "whole_body_ik.npz")
    for title in sorted({name.partition("/")[0] for name in record.files}):
        task, robot, _ = title.split()
        config = load_composite_controller_config(controller="WHOLE_BODY_IK")
        env = make(task, robot, controller_configs=config, initialization_noise=None)
        assert env.action_spec[0][0] < -1e9  # there is no bound
        for wanted in record[f"{title}/qpos"][1:]:
            env.step(record[f"{title}/action"])
            np.testing.assert_allclose(env.robots[0]._joint_positions, wanted, atol=1e-5)


@pytest.mark.parametrize(
    "robots", mostly_nightly(["Panda,Panda", "Sawyer,Panda", "Baxter"], quick=3)
)
def test_two_arms_move_as_published(robots):
    """OSC_POSE; recorded with contacts of Sawyer's first link with its base switched off."""
    record = np.load(FOLDER / "two_arm_osc.npz")
    env = make(
        "TwoArmLift",
        robots.split(","),
        env_configuration="parallel" if robots == "Panda,Panda" else "default",
        initialization_noise=None,
    )
    actions, joints = record[f"{robots}/action"], record[f"{robots}/qpos"]
    for action, wanted in zip(actions, joints[1:], strict=True):
        env.step(action)
        found = np.concatenate([robot._joint_positions for robot in env.robots])
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.slow
def test_whole_body_ik_runs_in_batches():
    controller = {"type": "WHOLE_BODY_IK", "max_dq": 0.5}
    options = {"robot": "Baxter", "controller": controller, "dtype": "float64"}
    envs = gymnasium.make_vec("robosuite/TwoArmLift-v0", num_envs=2, **options)
    env = gymnasium.make("robosuite/TwoArmLift-v0", **options)
    envs.reset(seed=0)
    env.reset(seed=0)
    action = np.concatenate([[0.3, -0.2, 1.1, 2, 0, 0, 0.2, 0.3, 1.2, 2, 0, 0], [0, 0]])
    for _ in range(3):
        together = envs.step(np.stack([action, action]))[0]
        alone = env.step(action)[0]
    np.testing.assert_array_equal(together[0], alone)


@pytest.mark.parametrize(
    ("part", "asked", "message"),
    [
        ("law", {"ik_input_type": "relative"}, "'absolute' here"),
        ("law", {"ik_max_qd": 1}, "did you mean ik_max_dq"),
        ("law", {"ref_name": ["gripper0_right_grip"]}, "did you mean gripper0_right_grip_site"),
        ("law", {"ref_name": ["gripper0_left_grip_site"]}, "in this order"),
        ("law", {"actuation_part_names": ["torso"]}, "expected .'right'. in this order"),
        ("arm", {"interpolation": "linear"}, "interpolation is None here"),
        ("arm", {"impedance_mode": "variable"}, "'fixed' here"),
        ("arm", {"dampin_ratio": 1}, "did you mean damping_ratio"),
    ],
)
def test_whole_body_configurations_that_cannot_be(part, asked, message):
    config = load_composite_controller_config(controller="WHOLE_BODY_IK", robot="Panda")
    law, arm = config["composite_controller_specific_configs"], config["body_parts"]["right"]
    {"law": law, "arm": arm}[part].update(asked)
    with pytest.raises(ValueError, match=message):
        make(controller_configs=config)


def test_whole_body_weights_and_gains_reach_the_law():
    config = load_composite_controller_config(controller="WHOLE_BODY_IK", robot="Panda")
    weights = {"robot0_joint2": 5.0, "robot0_torso_waist_yaw": 100.0}
    config["composite_controller_specific_configs"]["nullspace_joint_weights"] = weights
    del config["body_parts"]["right"]["kd"]
    law = law_of(make(controller_configs=config))
    assert law.posture_gain == (1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert law.kd == pytest.approx(2 * np.sqrt(1000))

    config = load_composite_controller_config(controller="WHOLE_BODY_IK", robot="Baxter")
    weights = {"robot0_right_s0": 5.0}
    config["composite_controller_specific_configs"]["nullspace_joint_weights"] = weights
    with pytest.raises(ValueError, match="same weights"):
        make("TwoArmLift", "Baxter", controller_configs=config)


def test_ik_pose_takes_the_input_type_that_works():
    make(controller_configs={"type": "IK_POSE", "input_type": "absolute"})
    with pytest.raises(ValueError, match="runs away"):
        make(controller_configs={"type": "IK_POSE", "input_type": "delta"})


def test_xml_of_a_stranger_reads_no_files(tmp_path):
    (tmp_path / "part.xml").write_text("<mujoco/>")
    env = make(seed=0)
    xml = env.sim.model.get_xml()
    for part in (
        f'<include file="{tmp_path}/part.xml"/>',
        f'<asset><model name="a" file="{tmp_path}/part.xml"/></asset>',
        f'<asset><mesh name="a" file="{tmp_path}/part.obj"/></asset>',
    ):
        with pytest.raises(ValueError, match=str(tmp_path)):
            env.reset_from_xml_string(xml.replace("</mujoco>", f"{part}</mujoco>"))
    with pytest.raises(ValueError, match="xml"):  # the engine's parser would take it
        env.reset_from_xml_string(xml.replace("</mujoco>", "<custom>&b;</custom></mujoco>"))
    env.reset_from_xml_string(xml)


def test_a_recorded_door_moves_no_robot():
    """robosuite's files have other frames of robots and bases, which are not drawn."""
    env = make("Door", seed=0)
    root = etree.fromstring(env.sim.model.get_xml())
    for name in ("robot0_base", "Door_main"):
        root.find(f".//body[@name='{name}']").set("pos", "1 2 3")
    drawn = RecordedModel(etree.tostring(root, encoding="unicode")).drawn(env.env)["body_pos"]
    model = env.env.model
    np.testing.assert_array_equal(drawn[model.body("Door_main").id], [1, 2, 3])
    base = model.body("robot0_base").id
    np.testing.assert_allclose(drawn[base], model.body_pos[base])


def test_a_task_has_what_it_reads_of_its_objects():
    """The members on which the page's own task is written, as they are now."""
    env = make("TwoArmLift", ["Panda", "Panda"], seed=3)
    seen = env.reset()
    names = ("handle0_xpos", "handle1_xpos", "pot_quat", "gripper0_to_handle0")
    for _ in range(2):
        for name in (*names, "gripper1_to_handle1"):
            np.testing.assert_array_equal(getattr(env, f"_{name}"), seen[name])
        seen, *_ = env.step(np.zeros(env.action_dim))
    with pytest.raises(AttributeError, match="has no '_pot_qat'"):
        _ = env._pot_qat
    env.close()


@pytest.mark.slow
def test_each_robot_has_its_configuration():
    """As robosuite 1.5.2 has it."""
    usual = {
        "composite_controller_config": None,
        "base_type": "default",
        "initialization_noise": "default",
        "control_freq": 20,
        "lite_physics": True,
        "gripper_type": "default",
    }
    noise = {"type": "gaussian", "magnitude": 0.01}
    asked = {"control_freq": 10, "initialization_noise": [None, noise]}
    env = make("TwoArmLift", ["Panda", "Sawyer"], **asked)
    one, two = env.robot_configs
    assert one == {**usual, "control_freq": 10, "initialization_noise": None}
    assert two == {**usual, "control_freq": 10, "initialization_noise": noise}
    assert list(one) == list(usual)
    env.close()
    for name, gripper in {"Wipe": "WipingGripper", "Lift": "default"}.items():
        env = make(name)
        assert env.robot_configs == [{**usual, "gripper_type": gripper}]
        env.close()
