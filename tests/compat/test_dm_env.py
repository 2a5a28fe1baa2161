"""The dm_env adapter."""

import copy
import pickle

import dm_env
import gymnasium
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import test_utils

import mjgym
from helpers.lanes import mostly_nightly
from helpers.manipulation_records import NAMES
from helpers.manipulation_records import tasks as manipulation_tasks
from helpers.suite import TASKS, transitions
from helpers.toys import Cart
from mjgym_compat import dm_env as adapter


class ConformsTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """dm_env's own conformance test."""

    def make_object_under_test(self):
        return adapter.load("cartpole", "swingup", task_kwargs={"random": 0, "time_limit": 0.5})


class TerminatingConformsTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        return adapter.load("lqr", "lqr_2_1", task_kwargs={"random": 0})


class FlatConformsTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        env = gymnasium.make("dmc/quadruped-walk-v0", max_episode_steps=20)
        return adapter.from_env(env, seed=1)


def test_random_states_draw_the_seeds():
    def start(seed):
        return adapter.load("cartpole", "swingup", {"random": seed}).reset().observation["position"]

    state = np.random.RandomState(3)
    first, second = start(state), start(state)
    assert not np.array_equal(first, second)  # its next number
    np.testing.assert_array_equal(start(np.random.RandomState(3)), first)
    arm = [
        adapter.load_manipulation("reach_site_features", np.random.RandomState(3)).reset()
        for _ in range(2)
    ]
    for name, value in arm[0].observation.items():
        np.testing.assert_array_equal(arm[1].observation[name], value)


@pytest.mark.parametrize(
    "name", ["walker-walk", "quadruped-fetch", "finger-turn_hard", "fish-swim"]
)
def test_specs_are_the_published_ones(name):
    facts = TASKS[name]
    env = adapter.load(*name.split("-"))
    assert {k: list(s.shape) for k, s in env.observation_spec().items()} == facts["observation"]
    assert list(env.observation_spec()) == list(facts["observation"])
    assert env.action_spec().minimum.tolist() == facts["action"]["minimum"]
    assert env.action_spec().maximum.tolist() == facts["action"]["maximum"]
    assert env.action_spec().dtype == np.float64


def test_time_limit_ends_with_discount_one():
    env = adapter.load("pendulum", "swingup", task_kwargs={"random": 1})
    steps = 0
    timestep = env.reset()
    while not timestep.last():
        timestep = env.step([0.5])
        steps += 1
    assert steps == TASKS["pendulum-swingup"]["step_limit"]
    assert timestep.discount == 1.0
    assert env.step([0.5]).first()


def test_a_divergence_names_its_warning_alone():
    """Though the engine resets the counts of all warnings."""
    env = adapter.load("cartpole", "swingup")
    env.reset()
    env.physics.data.qvel[:] = np.nan
    with pytest.raises(adapter.PhysicsError, match=r"warned: mjWARN_BADQVEL$"):
        env.physics.step()


def test_termination_ends_with_discount_zero():
    env = adapter.load("lqr", "lqr_2_1", task_kwargs={"random": 0})
    env.reset()
    env.env.unwrapped.set_state({"qpos": np.zeros(2), "qvel": np.zeros(2)})
    timestep = env.step([0.0])
    assert timestep.last()
    assert timestep.discount == 0.0


def test_observations_and_rewards_are_the_recorded_ones():
    record = transitions("walker-run", "random")
    env = adapter.load("walker", "run")
    env.reset()
    env.env.unwrapped.set_state(
        {k: record[f"before_{k}"][3] for k in ("qpos", "qvel", "qacc_warmstart")}
    )
    timestep = env.step(record["action"][3])
    assert timestep.reward == pytest.approx(record["reward"][3], abs=1e-12)
    np.testing.assert_allclose(timestep.observation["velocity"], record["obs_velocity"][3], 1e-9)


def test_flat_observation_joins_the_entries():
    flat = adapter.load("hopper", "hop", {"random": 3}, {"flat_observation": True}).reset()
    entries = adapter.load("hopper", "hop", {"random": 3}).reset()
    joined = np.concatenate([np.ravel(x) for x in entries.observation.values()])
    assert (flat.observation["observations"] == joined).all()


def test_one_number_goes_to_all_actuators():
    env = adapter.load("cheetah", "run", {"random": 3})
    env.reset()
    env.step(0.25)
    assert (env.env.unwrapped.data.ctrl == 0.25).all()


@pytest.mark.parametrize("limit", [0, -3, float("nan")])
def test_a_time_limit_is_positive(limit):
    with pytest.raises(ValueError, match="time_limit: must be positive"):
        adapter.load("cartpole", "balance", {"time_limit": limit})


def test_infinite_time_limit():
    env = adapter.load("cartpole", "balance", {"random": 3, "time_limit": float("inf")})
    env.reset()
    for _ in range(1100):
        assert env.step([0.0]).step_type == dm_env.StepType.MID


def test_errors_name_the_nearest():
    with pytest.raises(ValueError, match=r"cartpole.*swingup"):
        adapter.load("cartpole", "swing_up")
    with pytest.raises(TypeError, match="did you mean sparse"):
        adapter.load("cartpole", "swingup", {"sprse": True})
    with pytest.raises(TypeError, match="flat_observation"):
        adapter.load("cartpole", "swingup", environment_kwargs={"flat": True})


class ManipulationConformsTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        return adapter.load_manipulation("reach_site_features", seed=0)


@pytest.mark.parametrize("name", mostly_nightly(NAMES, quick=5))
def test_manipulation_is_as_published(name):
    published = manipulation_tasks()[name]
    env = adapter.load_manipulation(f"{name}_features", seed=3)
    timestep = env.reset()
    shapes = [[key, list(spec.shape)] for key, spec in env.observation_spec().items()]
    assert shapes == [[key, [1, *shape]] for key, shape in published["observation"]]
    for key, value in timestep.observation.items():
        env.observation_spec()[key].validate(value)
    np.testing.assert_allclose(env.action_spec().minimum, published["action"]["minimum"], rtol=1e-6)
    own = gymnasium.make(f"manipulation/{name}_features-v0", observation="dict", dtype="float64")
    for key, value in own.reset(seed=3)[0].items():
        np.testing.assert_array_equal(timestep.observation[key], value[None])
    assert env.step(np.zeros(9)).discount == 1.0
    env.close()
    own.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_vision_of_manipulation_begins_with_the_picture():
    env = adapter.load_manipulation("place_brick_vision", seed=0)
    observation = env.reset().observation
    assert list(observation) == list(env.observation_spec())
    assert next(iter(observation)) == "front_close"
    assert observation["front_close"].shape == (1, 84, 84, 3)
    assert observation["front_close"].dtype == np.uint8
    assert all(key.startswith("jaco_arm/") for key in list(observation)[1:])
    env.close()


def test_locomotion_has_the_published_names():
    env = adapter.load_locomotion("cmu_humanoid_go_to_target", seed=0)
    own = gymnasium.make(
        "locomotion/cmu_humanoid-go_to_target-v0", observation="dict", dtype="float64"
    )
    timestep = env.reset()
    for key, value in own.reset(seed=0)[0].items():
        np.testing.assert_array_equal(timestep.observation[key], value)
    env.close()
    own.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_locomotion_sees_what_the_walker_sees():
    env = adapter.load_locomotion("rodent_escape_bowl", seed=0)
    observation = env.reset().observation
    assert observation["walker/egocentric_camera"].shape == (64, 64, 3)
    assert list(observation) == list(env.observation_spec())
    env.close()


def test_names_of_the_families_name_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean .*stack_3_bricks_features"):
        adapter.load_manipulation("stack_3_brick_features")
    with pytest.raises(ValueError, match=r"did you mean .*rodent_run_gaps"):
        adapter.load_locomotion("rodent_run_gap")


def test_sets_are_those_of_the_published_suite():
    assert len(adapter.ALL_TASKS) == 51
    assert len(adapter.BENCHMARKING) == 28
    assert set(adapter.EXTRA) == set(adapter.ALL_TASKS) - set(adapter.BENCHMARKING)
    assert set(adapter.EASY) == {
        ("ball_in_cup", "catch"), ("point_mass", "easy"), ("reacher", "easy"),
    }  # fmt: skip
    assert {domain for domain, _ in adapter.HARD} == {"dog", "manipulator", "stacker"}
    assert {domain for domain, _ in adapter.NO_REWARD_VIZ} == {"dog"}
    assert set(adapter.REWARD_VIZ) == set(adapter.ALL_TASKS) - set(adapter.NO_REWARD_VIZ)
    assert adapter.TASKS_BY_DOMAIN["walker"] == ("run", "stand", "walk")
    assert sum(map(len, adapter.TASKS_BY_DOMAIN.values())) == 51
    assert {f"{d}-{t}" for d, t in adapter.ALL_TASKS} == set(TASKS)


def test_every_task_of_a_set_loads():
    for domain, task in adapter.EASY:
        assert adapter.load(domain, task, {"random": 0}).reset().first()


def test_physics_has_the_names_of_analysis_code():
    env = adapter.load("walker", "walk", {"random": 0})
    env.reset()
    env.step(np.full(6, 0.5))
    physics, data, model = env.physics, env.physics.data, env.physics.model
    assert data.ptr is env.env.unwrapped.data
    assert model.ptr is env.env.unwrapped.model
    assert physics.timestep() == 0.0025
    assert physics.time() == pytest.approx(0.025)
    assert env.control_timestep() == 0.025
    assert env.task.speed == 1.0
    assert (physics.control() == 0.5).all()
    assert np.array_equal(physics.position(), data.qpos)
    assert np.array_equal(physics.velocity(), data.qvel)
    named = physics.named
    torso = data.body("torso")
    assert np.array_equal(named.data.xpos["torso"], torso.xpos)
    assert named.data.xpos["torso", "z"] == torso.xpos[2]
    assert named.data.xmat["torso", "zz"] == torso.xmat[8]
    assert np.array_equal(named.data.xmat["torso", ["zx", "zz"]], torso.xmat[[6, 8]])
    feet = ["left_foot", "right_foot"]
    expected = np.stack([data.body(name).xpos for name in feet])
    assert np.array_equal(named.data.xpos[feet], expected)
    assert np.array_equal(named.data.xpos[feet, "x"], expected[:, 0])
    assert np.array_equal(named.data.xpos[feet, ["z", "x"]], expected[[0, 1], [2, 0]])
    assert np.array_equal(named.data.xpos[:, "z"], data.xpos[:, 2])
    assert named.data.qpos["right_knee"].shape == (1,)
    assert named.data.qpos["right_knee"][0] == data.joint("right_knee").qpos[0]
    assert named.data.sensordata["torso_subtreelinvel"].shape == (3,)
    assert named.data.ctrl["left_hip"] == 0.5
    assert named.model.geom_size["floor"].shape == (3,)
    assert np.array_equal(np.asarray(named.model.body_mass), model.body_mass)


def test_physics_writes():
    env = adapter.load("cartpole", "swingup", {"random": 0})
    env.reset()
    physics = env.physics
    physics.named.data.qpos["hinge_1"] = 1.0
    physics.forward()
    assert physics.named.data.xmat["pole_1", "zz"] == pytest.approx(np.cos(1.0))
    state = physics.get_state()
    env.step([1.0])
    physics.set_state(state)
    assert np.array_equal(physics.get_state(), state)
    with pytest.raises(ValueError, match=r"expected shape \(4,\)"):
        physics.set_state(state[:3])


def test_unknown_names_in_physics_name_the_nearest():
    physics = adapter.load("walker", "walk").physics
    with pytest.raises(KeyError, match="torso"):
        physics.named.data.xpos["torzo"]
    with pytest.raises(KeyError, match="no column 'w'"):
        physics.named.data.xpos["torso", "w"]
    with pytest.raises(AttributeError, match="xpos"):
        _ = physics.named.data.xposs
    with pytest.raises(ValueError, match="one of them"):
        physics.render(depth=True, segmentation=True)


@pytest.mark.weekly
@pytest.mark.gl
def test_physics_renders_and_the_reward_shows():
    pictures = []
    for shown in (False, True):
        env = adapter.load("pendulum", "swingup", {"random": 0}, visualize_reward=shown)
        env.reset()
        env.env.unwrapped.set_state({"qpos": np.zeros(1), "qvel": np.zeros(1)})
        env.step([0.0])
        pictures.append(env.physics.render(48, 64, camera_id=0))
        assert env.physics.render(24, 32, depth=True).shape == (24, 32)
        assert env.physics.render(24, 32, segmentation=True).shape == (24, 32, 2)
    assert pictures[0].shape == (48, 64, 3)
    assert not np.array_equal(*pictures)


def test_visualize_reward_is_a_bool():
    with pytest.raises(ValueError, match="visualize_reward"):
        adapter.load("pendulum", "swingup", visualize_reward=1)


class Lost(Cart):
    """A cart that has failed from the start."""

    def terminated(self, v):
        return v.qpos[..., 0] < 1e6


@pytest.mark.parametrize(("limit", "discount"), [(1, 1.0), (2, 0.0)])
def test_a_time_limit_wins_over_a_termination_in_the_same_step(limit, discount):
    env = adapter.from_env(mjgym.Env(Lost(), max_episode_steps=limit))
    env.reset()
    timestep = env.step([0.0])
    assert timestep.last()
    assert timestep.discount == discount


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_an_environment_and_its_physics_go_on(duplicate):
    env = adapter.load("cartpole", "swingup", task_kwargs={"random": 0})
    env.reset()
    for _ in range(3):
        env.step([0.5])
    other, physics = duplicate(env), duplicate(env.physics)
    assert np.array_equal(physics.get_state(), env.physics.get_state())
    assert np.array_equal(physics.data.qacc, env.physics.data.qacc)
    for _ in range(5):
        seen, again = env.step([0.1]).observation, other.step([0.1]).observation
        assert all(np.array_equal(again[name], value) for name, value in seen.items())
    assert np.array_equal(other.physics.get_state(), env.physics.get_state())
    assert not np.array_equal(physics.get_state(), env.physics.get_state())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_model_by_itself_go_on(duplicate):
    xml = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    physics = adapter.Physics.from_xml_string(xml)
    physics.step(5)
    other = duplicate(physics)
    for each in (physics, other):
        each.step(3)
    assert np.array_equal(physics.get_state(), other.get_state())
    assert type(duplicate(physics.model)) is type(physics.model)
    assert type(duplicate(physics.data)) is type(physics.data)
