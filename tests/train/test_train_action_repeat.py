"""Actions taken for several control steps: in training, evaluations, and saved policies."""

import itertools
import json

import gymnasium
import numpy as np
import pytest
import torch

from helpers import training_runs
from helpers.lanes import mostly_nightly
from helpers.training_runs import SMALL_REPLAY, interrupted, mjgym_
from mjgym.policies import network as policy
from mjgym_train import config, evaluation
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.td3 import TD3Config
from mjgym_train.learn.collector import Collector
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

ID, REPEAT = training_runs.ID, 4
WALKER = "l2m/walk_planar-fast-v0"
# It falls forward, and has fallen after 22 or 23 control steps.
FALLING = {"init_pose": [3.0, 0, 0.9, 1.2, *[0] * 8], "max_episode_steps": 26}


def collector(n, id=WALKER, repeat=REPEAT, **env):
    settings = {"num_envs": n, "action_repeat": repeat, "stagger": False, "threads": 1, "env": env}
    return Collector(config.read(TD3Config, algorithm="td3", id=id, steps=1, **settings))


@pytest.mark.parametrize(
    ("repeat", "limit"),
    mostly_nightly(itertools.product((1, REPEAT), (21, 26)), quick=[(REPEAT, 26)]),
)
def test_is_that_of_single_environments(repeat, limit):
    """Bit for bit, rewards summed: also where an episode ends between two decisions."""
    n, given_env = 4, {**FALLING, "max_episode_steps": limit}
    batch = collector(n, repeat=repeat, **given_env)
    seen = batch.begin().numpy()
    seeds = np.random.SeedSequence(0).generate_state(n).tolist()
    envs = [gymnasium.make(WALKER, **given_env) for _ in range(n)]
    assert np.array_equal(seen, [env.reset(seed=s)[0] for env, s in zip(envs, seeds, strict=True)])
    draw = torch.Generator().manual_seed(0)
    returns, lengths = np.zeros(n), []
    for _ in range(80 // repeat):
        action = torch.rand(n, 22, generator=draw) * 2 - 1
        made = batch.step(action)
        given = ((action + 1) / 2).numpy()
        for i, env in enumerate(envs):
            total = 0.0
            for _ in range(repeat):
                observation, reward, terminated, truncated, _ = env.step(given[i])
                total += float(reward)
                if terminated or truncated:
                    break
            returns[i] += total
            assert made.reward[i] == np.float32(total)
            assert made.terminated[i] == terminated
            assert made.ended[i] == (terminated or truncated)
            assert np.array_equal(made.following[i], observation)
            if terminated or truncated:
                lengths.append(int(env.unwrapped.get_state()["steps"]))
                assert any(abs(returns[i] - r) < 1e-9 for r in batch.returns)
                returns[i] = 0
                observation, _ = env.reset()
            assert np.array_equal(batch.observation[i], observation)
    assert len(lengths) > n
    assert set(lengths) <= ({21} if limit == 21 else {22, 23})
    batch.close()


@pytest.mark.slow
def test_decisions_are_counted_where_transitions_are_and_steps_elsewhere(tmp_path):
    settings = ("action_repeat=3", "learning_starts=40", "updates_per_step=0.1")
    made = training_runs.trainer(
        tmp_path / "run", *SMALL_REPLAY, *settings, algorithm="td3", steps=240
    )
    end = made.train()
    assert end.env_step == 240  # 20 decisions of 4 sub-environments, 3 steps each
    assert len(made.buffer) == 80
    assert end.updates == 4  # 0.1 of the 40 transitions after the first 40
    ages = made.buffer.state_dict()["arrays"]["age"]
    assert ages.max() == 9  # of an episode of 30 steps
    assert made.run_folder.policy().repeat == 3


@pytest.mark.slow
def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path):
    settings = [*SMALL_REPLAY, "action_repeat=4", "history=2", "evaluations=3"]
    interrupted(tmp_path, *settings, algorithm="td3", steps=480, at=208)


@pytest.mark.slow
def test_a_policy_acts_as_in_training(tmp_path):
    """The file knows for how long an action is taken, and evaluations need nothing else."""
    settings = TD3Config(hidden=(16,), history=2, action_repeat=REPEAT)
    agent = algorithms.find("td3")(settings, 339, 22)
    agent.normalizer.update(torch.randn(50, 339))
    agent.policy(np.zeros(22, np.float32), np.ones(22, np.float32)).save(tmp_path / "policy.npz")
    acting = policy.load(tmp_path / "policy.npz")
    envs = evaluation.make(WALKER, 3, 1, **FALLING)
    found = evaluation.evaluate(acting, envs, [5, 6, 7, 8])  # two rounds
    envs.close()
    for seed, total, length in zip((5, 6, 7, 8), found.returns, found.lengths, strict=True):
        env = gymnasium.make(WALKER, **FALLING)
        observation, _ = env.reset(seed=seed)
        mine, steps, over = 0.0, 0, False
        before = observation
        while not over:
            with torch.no_grad():
                stack = torch.from_numpy(np.stack([before, observation]))[None]
                action = (agent.actor(agent.normalizer(stack))[0] + 1) / 2
            before = observation
            for _ in range(REPEAT):
                observation, reward, terminated, truncated, _ = env.step(action.numpy())
                mine, steps, over = mine + float(reward), steps + 1, terminated or truncated
                if over:
                    break
        assert steps == length
        assert mine == pytest.approx(total, rel=1e-5)


def test_an_action_is_held_until_an_episode_begins():
    agent = algorithms.find("td3")(TD3Config(hidden=(16,), action_repeat=3), 4, 2)
    acting = agent.policy(np.full(2, -1.0, np.float32), np.ones(2, np.float32))
    rows = np.random.default_rng(0).normal(size=(8, 5, 4)).astype(np.float32)
    taken = [acting(row) for row in rows]
    decided = [acting.decided(row) for row in rows]
    for t, action in enumerate(taken):
        assert np.array_equal(action, decided[t - t % 3])
    taken[7][:] = 9.0  # the caller's own
    assert np.array_equal(acting(rows[0]), decided[6])
    acting.begin()
    assert np.array_equal(acting(rows[1]), decided[1])
    assert np.array_equal(acting(rows[1][0]), decided[1][0])  # one, where there were many


@pytest.mark.slow
def test_agents_together_take_each_action_as_long(tmp_path):
    settings = ["ensemble=[{history: 1}, {history: 3}]", "action_repeat=2", *SMALL_REPLAY]
    made = training_runs.trainer(tmp_path / "run", *settings, algorithm="td3", steps=160)
    made.train()
    acting = made.run_folder.policy()
    rows = np.random.default_rng(0).normal(size=(4, 3, 5))
    one, again, other, last = (acting(row) for row in rows)
    assert np.array_equal(one, again)
    assert np.array_equal(other, last)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("value", [0, -2])
def test_a_file_with_a_wrong_repeat_is_refused(value, tmp_path):
    agent = algorithms.find("td3")(TD3Config(hidden=(16,)), 4, 2)
    acting = agent.policy(np.full(2, -1.0, np.float32), np.ones(2, np.float32))
    np.savez(tmp_path / "policy.npz", **acting.arrays(), repeat=value)
    with pytest.raises(
        policy.PolicyError, match=f"repeat must be a whole number from 1 to 10,000, not {value}"
    ):
        policy.load(tmp_path / "policy.npz")


class TestRewardOfEvaluations:
    @pytest.mark.weekly
    def test_it_is_not_that_of_training(self, tmp_path):
        settings = ["num_envs=2", "evaluations=1", "evaluation_episodes=1", "action_repeat=4",
                    "env.dense_reward=2.0", "evaluation_env.dense_reward=0.0"]  # fmt: skip
        settings += ["env.max_episode_steps=12", "stagger=false"]
        settings += [f"env.init_pose={[1.4, 0, 0.94, *[0] * 9]}"]  # at the target velocity
        made = training_runs.trainer(
            tmp_path / "run", *SMALL_REPLAY, *settings, algorithm="td3", id=WALKER, steps=160
        )
        made.train()
        assert made.progress().score == pytest.approx(0.1 * 12)  # `alive`, and no `pace`
        shaped = [m.value for m in Run(tmp_path / "run").metrics() if m.metric == "training/return"]
        assert max(shaped) > 0.1 * 12 + 12
        found = json.loads(mjgym_("evaluate", tmp_path / "run", "--json", "--episodes", 1).stdout)
        assert found["mean"] == pytest.approx(made.progress().score)


def test_recorded_actions_are_not_repeated():
    with pytest.raises(config.ConfigError, match="action_repeat: recorded actions"):
        TD3Config(action_repeat=2, data="somewhere")
