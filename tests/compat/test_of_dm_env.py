"""Environments of dm_env under Gymnasium's interface."""

import functools
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

dm_env = pytest.importorskip("dm_env", reason='needs pip install -e ".[dm_env]"')
from dm_env import specs  # noqa: E402

import mjgym_compat  # noqa: E402
from mjgym_compat.dm_control import composer, suite  # noqa: E402
from mjgym_compat.dm_control.composer.observation import observable  # noqa: E402
from mjgym_compat.dm_control.composer.variation import distributions  # noqa: E402
from mjgym_compat.dm_control.entities import props  # noqa: E402
from mjgym_compat.dm_control.suite.wrappers import action_scale  # noqa: E402


class Roll(composer.Task):
    """A pushed ball, which starts somewhere and must not leave the unit disc."""

    def __init__(self):
        self.arena = composer.Arena()
        self.ball = props.Primitive(geom_type="sphere", size=[0.1])
        frame = self.arena.attach(self.ball)
        self.joint = frame.add("joint", type="slide", axis=[1, 0, 0])
        self.arena.mjcf_model.actuator.add(
            "motor", joint=self.joint, ctrllimited=True, ctrlrange=[-1, 1], gear=[500]
        )
        self.ball.observables.enable_all()
        self.set_timesteps(0.02, 0.01)

    @property
    def root_entity(self):
        return self.arena

    @property
    def task_observables(self):
        speed = observable.MJCFFeature("qvel", self.joint)
        speed.enabled = True
        return {"speed": speed}

    def initialize_episode(self, physics, random_state):
        physics.bind(self.joint).qpos = distributions.Uniform(-0.5, 0.5)(random_state=random_state)

    def get_reward(self, physics):
        return 1.0 - abs(physics.bind(self.joint).qpos.item())

    def should_terminate_episode(self, physics):
        return abs(physics.bind(self.joint).qpos.item()) > 1

    def get_discount(self, physics):
        return float(not self.should_terminate_episode(physics))


def make(**options):
    return mjgym_compat.gymnasium(composer.Environment(Roll(), time_limit=0.2), **options)


def test_it_passes_gymnasiums_own_check():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bounds of observations are infinite
        check_env(make(), skip_render_check=True)


def test_spaces_are_those_of_the_specifications():
    env = make()
    assert env.action_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    entries = env.observation_space.spaces
    assert entries["unnamed_model/orientation"].shape == (1, 4)
    assert entries["speed"].dtype == np.float64


def test_seeds():
    env = make()
    first = env.reset(seed=3)[0]["unnamed_model/position"]
    assert np.array_equal(env.reset(seed=3)[0]["unnamed_model/position"], first)
    assert not np.array_equal(env.reset()[0]["unnamed_model/position"], first)


@pytest.mark.parametrize(("push", "ends"), [(0.0, (False, True)), (1.0, (True, False))])
def test_a_time_limit_truncates_and_discount_0_terminates(push, ends):
    env = make()
    env.reset(seed=0)
    steps = [env.step(np.array([push]))]
    while not any(steps[-1][2:4]):
        steps.append(env.step(np.array([push])))
    assert steps[-1][2:4] == ends
    assert steps[-1][4]["discount"] == float(ends[1])
    assert not any(any(step[2:4]) for step in steps[:-1])


@pytest.mark.slow
def test_it_runs_in_processes_of_its_own():
    envs = gymnasium.vector.AsyncVectorEnv([functools.partial(make)] * 2, context="spawn")
    try:
        observation, _ = envs.reset(seed=5)
        alone = [make().reset(seed=5 + i)[0]["speed"] for i in range(2)]
        assert np.array_equal(observation["speed"], alone)
        _, reward, *_ = envs.step(np.zeros((2, 1)))
        assert reward.shape == (2,)
    finally:
        envs.close()


class Coin(dm_env.Environment):
    """Heads or tails, without a generator."""

    def reset(self):
        return dm_env.restart([np.int64(1), np.zeros(2, bool)])

    def step(self, action):
        return dm_env.transition(reward=None, observation=[np.int64(action), np.ones(2, bool)])

    def observation_spec(self):
        return [specs.DiscreteArray(2), specs.Array((2,), bool)]

    def action_spec(self):
        return specs.DiscreteArray(2)


def test_discrete_and_nested_specifications():
    env = mjgym_compat.gymnasium(Coin())
    assert env.action_space == gymnasium.spaces.Discrete(2, dtype=np.int32)
    assert env.observation_space.contains(env.reset()[0])
    observation, reward, *_ = env.step(0)
    assert env.observation_space.contains(observation)
    assert (observation[0], reward) == (0, 0.0)
    with pytest.raises(ValueError, match=r"no np\.random\.RandomState"):
        env.reset(seed=1)


def test_an_environment_of_this_package_is_itself():
    from mjgym_compat import dm_env as adapter

    env = gymnasium.make("dmc/cartpole-swingup-v0", observation="dict")
    assert mjgym_compat.gymnasium(adapter.from_env(env)) is env
    assert mjgym_compat.gymnasium(env) is env


def test_wrappers_of_the_suite_act_and_seeds_reach_it():
    env = suite.load("cartpole", "swingup", task_kwargs={"random": 7})
    env = mjgym_compat.gymnasium(action_scale.Wrapper(env, minimum=-3, maximum=3))
    assert env.action_space.high == 3
    starts = [env.reset(seed=seed)[0]["position"] for seed in (0, 1, 0)]
    assert np.array_equal(starts[0], starts[2])
    assert not np.array_equal(starts[0], starts[1])
    assert not np.array_equal(env.reset()[0]["position"], starts[2])
    plain = gymnasium.make("dmc/cartpole-swingup-v0", dtype="float64", observation="dict")
    assert np.array_equal(plain.reset(seed=0)[0]["position"], starts[0])


@pytest.mark.gl
def test_a_render_mode_is_kept():
    env = suite.load("cartpole", "swingup")
    env = mjgym_compat.gymnasium(env, render_mode="rgb_array", width=32, height=24)
    env.reset(seed=0)
    assert env.render().shape == (24, 32, 3)


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"no dm_env\.Environment.*'observation_spec'"):
        mjgym_compat.gymnasium(type("Half", (), {"reset": 0, "step": 0})())
    coin = Coin()
    coin.reward_spec = lambda: [specs.Array((), float)] * 2
    with pytest.raises(TypeError, match="each player"):
        mjgym_compat.gymnasium(coin)
    with pytest.raises(ValueError, match="rgb_array"):
        mjgym_compat.gymnasium(Coin(), render_mode="human")
