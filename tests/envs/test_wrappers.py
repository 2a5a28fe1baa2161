"""Action noise, and Gymnasium's own rescaling of actions on our environments."""

import gymnasium
import numpy as np
import pytest

from mjgym.envs.wrappers import ActionNoise


def test_noise_has_its_scale_and_stays_in_bounds():
    env = ActionNoise(gymnasium.make("dmc/quadruped-walk-v0"), scale=0.02)
    env.reset(seed=0)
    middle = (env.action_space.high + env.action_space.low) / 2
    noisy = np.stack([env.action(middle) for _ in range(4000)])
    width = env.action_space.high - env.action_space.low
    assert np.allclose(noisy.std(axis=0), 0.02 * width, rtol=0.06)
    assert np.abs(noisy.mean(axis=0) - middle).max() < 5 * 0.02 * width.max() / 4000**0.5
    extreme = np.stack([env.action(env.action_space.high) for _ in range(100)])
    assert (extreme <= env.action_space.high).all()
    assert (extreme == env.action_space.high).any()


def test_noise_repeats_under_a_seed():
    plain = gymnasium.make("dmc/reacher-easy-v0")
    runs = []
    for env in (ActionNoise(plain), ActionNoise(plain), plain):
        env.reset(seed=5)
        runs.append([env.step(np.zeros(2))[0] for _ in range(5)])
    first, again, without = runs
    assert np.array_equal(first, again)
    assert not np.array_equal(first, without)


def test_the_spec_recreates_the_wrapper():
    env = ActionNoise(gymnasium.make("dmc/reacher-easy-v0"), scale=0.3)
    again = gymnasium.make(env.spec)
    assert isinstance(again, ActionNoise)
    assert np.array_equal(env.action(np.zeros(2)).shape, again.action(np.zeros(2)).shape)


@pytest.mark.parametrize("scale", [-0.1, float("nan")])
def test_wrong_scales(scale):
    with pytest.raises(ValueError, match="scale"):
        ActionNoise(gymnasium.make("dmc/reacher-easy-v0"), scale=scale)


def test_unbounded_actions():
    env = gymnasium.make("dmc/reacher-easy-v0")
    env.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    with pytest.raises(ValueError, match="unbounded"):
        ActionNoise(env)


def test_gymnasiums_rescaling():
    env = gymnasium.make("dmc/quadruped-walk-v0")
    scaled = gymnasium.wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    scaled.reset(seed=0)
    scaled.step(np.ones(12, dtype=np.float32))
    assert np.allclose(env.unwrapped.data.ctrl, env.action_space.high)
