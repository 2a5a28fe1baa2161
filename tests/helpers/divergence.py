"""Ends of simulations that diverge, alone and in a batch."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from helpers.rollouts import actions_for, equal, rollout


def assert_divergence_truncates_with_the_last_finite_observation(id, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    env = gymnasium.make(id, dtype="float64").unwrapped
    env.reset(seed=0)
    env.step(env.action_space.sample() * 0)
    last = env.observe()
    env.data.qvel[:] = 1e30
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample() * 0)
    joined = np.concatenate([np.ravel(x) for x in last.values()])
    assert np.array_equal(observation, joined)
    assert (reward, terminated, truncated, info["diverged"]) == (0.0, False, True, True)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    env.reset(seed=1)
    other = gymnasium.make(id, dtype="float64").unwrapped
    other.reset(seed=1)
    assert equal(rollout(env, 5), rollout(other, 5))


def assert_a_diverging_slot_ends_alone(id, mode, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    kwargs = {"num_envs": 4, "dtype": "float64", "autoreset_mode": mode}
    envs, calm = gymnasium.make_vec(id, **kwargs), gymnasium.make_vec(id, **kwargs)
    envs.reset(seed=0)
    calm.reset(seed=0)
    others = np.array([0, 1, 3])
    for k, actions in enumerate(actions_for(envs, 12)):
        if k == 4:
            last = envs.set_state({"qvel": np.full((1, envs.model.nv), 9e9)}, ids=[2])[0]
        observations, rewards, terminations, truncations, info = envs.step(actions)
        expected = calm.step(actions)
        assert np.isfinite(observations).all()
        assert np.array_equal(observations[others], expected[0][others])
        assert np.array_equal(rewards[others], expected[1][others])
        assert not terminations.any()
        assert truncations.tolist() == [False, False, k == 4, False]
        if k == 4:
            if mode == AutoresetMode.SAME_STEP:
                assert np.array_equal(info["final_obs"][2], last)
                assert info["final_info"]["diverged"].tolist() == [False, False, True, False]
            else:
                assert np.array_equal(observations[2], last)
                assert info["diverged"].tolist() == [False, False, True, False]
            assert rewards[2] == 0.0
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
