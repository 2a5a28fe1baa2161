"""Environments of dm_env under Gymnasium's interface."""

import functools
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

dm_env = pytest.importorskip("dm_env", reason='needs pip install -e ".[dm-env]"')
from dm_env import specs  # noqa: E402

import mjgym_compat  # noqa: E402
from mjgym_compat import dm_env as adapter  # noqa: E402


class Roll(dm_env.Environment):
    """A pushed ball, which starts somewhere and must not leave the unit disc."""

    random_state = np.random.RandomState(0)
    limit = 10  # steps

    def reset(self):
        self.count, self.velocity = 0, np.zeros(1)
        self.place = self.random_state.uniform(-0.5, 0.5, 1)
        return dm_env.restart(self.observe())

    def observe(self):
        return {"place": self.place, "velocity": self.velocity}

    def step(self, action):
        self.count += 1
        self.velocity = self.velocity + 0.1 * action
        self.place = self.place + self.velocity
        reward = 1.0 - abs(self.place[0])
        if reward < 0:
            return dm_env.termination(reward, self.observe())
        ends = dm_env.truncation if self.count == self.limit else dm_env.transition
        return ends(reward, self.observe())

    def observation_spec(self):
        return {name: specs.Array((1,), float, name) for name in ("place", "velocity")}

    def action_spec(self):
        return specs.BoundedArray((1,), float, -1, 1)

    def control_timestep(self):
        return 0.02


def make(**options):
    return mjgym_compat.gymnasium(Roll(), **options)


def test_it_passes_gymnasiums_own_check():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bounds of observations are infinite
        check_env(make(), skip_render_check=True)


def test_spaces_are_those_of_the_specifications():
    env = make()
    assert env.action_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    entries = env.observation_space.spaces
    assert entries["place"].shape == (1,)
    assert entries["velocity"].dtype == np.float64
    assert env.metadata["render_fps"] == 50


def test_seeds():
    env = make()
    first = env.reset(seed=3)[0]["place"]
    assert np.array_equal(env.reset(seed=3)[0]["place"], first)
    assert not np.array_equal(env.reset()[0]["place"], first)


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


@pytest.mark.weekly
def test_it_runs_in_processes_of_its_own():
    envs = gymnasium.vector.AsyncVectorEnv([functools.partial(make)] * 2, context="spawn")
    try:
        observation, _ = envs.reset(seed=5)
        alone = [make().reset(seed=5 + i)[0]["place"] for i in range(2)]
        assert np.array_equal(observation["place"], alone)
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
    env = gymnasium.make("dmc/cartpole-swingup-v0", observation="dict")
    assert mjgym_compat.gymnasium(adapter.from_env(env)) is env
    assert mjgym_compat.gymnasium(env) is env


def test_seeds_reach_an_environment_of_this_package_through_a_wrapper():
    class Wrapper:
        def __init__(self, env):
            self._env = env

        def __getattr__(self, name):
            return getattr(self._env, name)

    env = mjgym_compat.gymnasium(Wrapper(adapter.load("cartpole", "swingup", {"random": 7})))
    starts = [env.reset(seed=seed)[0]["position"] for seed in (0, 1, 0)]
    assert np.array_equal(starts[0], starts[2])
    assert not np.array_equal(starts[0], starts[1])
    assert not np.array_equal(env.reset()[0]["position"], starts[2])
    plain = gymnasium.make("dmc/cartpole-swingup-v0", dtype="float64", observation="dict")
    assert np.array_equal(plain.reset(seed=0)[0]["position"], starts[0])


@pytest.mark.gl
def test_a_render_mode_is_kept():
    env = adapter.load("cartpole", "swingup")
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
