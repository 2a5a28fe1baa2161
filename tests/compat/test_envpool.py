"""EnvPool's loops over these environments."""

import gymnasium
import numpy as np
import pytest

from mjgym_compat import envpool


def test_names():
    known = envpool.task_ids()
    assert len(known) == 51
    assert known["BallInCupCatch-v1"] == "dmc/ball_in_cup-catch-v0"
    assert known["HumanoidCMURun-v1"] == "dmc/humanoid_CMU-run-v0"
    with pytest.raises(ValueError, match="did you mean WalkerWalk-v1"):
        envpool.make_gymnasium("WalkerWalc-v1")
    with pytest.raises(ValueError, match="4 does not divide num_envs, 6"):
        envpool.make_gymnasium("WalkerWalk-v1", num_envs=6, batch_size=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs: must be at least 1"),
        ({"num_envs": 2.5}, "num_envs: must be a whole number"),
        ({"num_envs": "8"}, "num_envs: must be a whole number"),
        ({"num_envs": 4, "batch_size": 0}, "batch_size: must be at least 1"),
    ],
)
def test_numbers_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        envpool.make_gymnasium("WalkerWalk-v1", **options)


def test_actions_of_other_environments_are_refused():
    """They would go to the wrong ones without a word."""
    pool = envpool.make_gymnasium("ReacherEasy-v1", num_envs=3)
    pool.reset()
    actions = np.zeros((3, 2))
    for ids in ([2, 1, 0], [0, 1], [0, 1, 3]):
        with pytest.raises(ValueError, match="env_id: expected 0 to 2 in order"):
            pool.send(actions, np.array(ids))
    with pytest.raises(RuntimeError, match="send"):
        pool.recv()
    assert pool.step(actions, np.arange(3))[0].shape[0] == 3
    pool.close()


def test_the_synchronous_loop():
    pool = envpool.make_gymnasium("ReacherEasy-v1", num_envs=3, seed=5)
    batch = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=3)
    assert np.array_equal(pool.reset()[0], batch.reset(seed=5)[0])
    actions = np.full((3, 2), 0.3)
    for ours, theirs in zip(pool.step(actions)[:4], batch.step(actions)[:4], strict=True):
        assert np.array_equal(ours, theirs.astype(ours.dtype))
    pool.close()


@pytest.mark.parametrize("batch_size", [None, 2])
def test_infos_have_the_steps_of_each_episode(batch_size):
    options = {"num_envs": 4, "batch_size": batch_size, "max_episode_steps": 3}
    pool = envpool.make("WalkerWalk-v1", **options)
    assert pool.reset()[1]["elapsed_step"].tolist() == [0] * 4
    seen = {i: [] for i in range(4)}
    pool.async_reset()
    for _ in range(6 * (4 // (batch_size or 4))):
        _, rewards, _, truncated, info = pool.recv()
        assert rewards.dtype == np.float32
        assert np.array_equal(truncated, info["elapsed_step"] == 3)
        for i, count in zip(info["env_id"], info["elapsed_step"], strict=True):
            seen[int(i)].append(int(count))
        pool.send(np.zeros((len(rewards), 6)), info["env_id"])
    assert list(seen.values()) == [[0, 1, 2, 3, 0, 1]] * 4
    pool.close()


def test_other_interfaces_are_refused():
    with pytest.raises(ValueError, match="env_type: only 'gymnasium'"):
        envpool.make("WalkerWalk-v1", env_type="gym")


def test_the_asynchronous_loop():
    pool = envpool.make_gymnasium("ReacherEasy-v1", num_envs=6, batch_size=2, max_episode_steps=5)
    batch = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=6, max_episode_steps=5)
    expected = [batch.reset(seed=42)[0]]
    expected += [batch.step(np.full((6, 2), 0.1 * k))[0] for k in range(8)]
    pool.async_reset()
    steps = np.zeros(6, dtype=int)
    for _ in range(3 * 9):
        observations, rewards, terminated, truncated, info = pool.recv()
        ids = info["env_id"]
        assert len(ids) == len(rewards) == len(terminated) == len(truncated) == 2
        assert np.array_equal(observations, expected[steps[ids[0]]][ids])
        pool.send(np.full((2, 2), 0.1 * steps[ids[0]]), ids)
        steps[ids] += 1
    assert (steps == 9).all()
    pool.close()


def test_results_have_the_form_of_envpools_own():
    published = pytest.importorskip(
        "envpool", reason="needs EnvPool, whose 1.2.7 wants Python 3.12"
    )
    pools = [make("WalkerWalk-v1", num_envs=3) for make in (published.make_gymnasium, envpool.make)]
    forms = []
    for pool in pools:
        pool.reset()
        observations, rewards, terminated, truncated, info = pool.step(np.zeros((3, 6)))
        entries = observations.values() if isinstance(observations, dict) else [observations]
        numbers = sum(np.reshape(entry, (3, -1)).shape[1] for entry in entries)
        forms.append((numbers, rewards.dtype, terminated.dtype, truncated.dtype, rewards.shape))
        assert info["env_id"].tolist() == [0, 1, 2]
        assert info["elapsed_step"].tolist() == [1, 1, 1]
    assert forms[0] == forms[1]
