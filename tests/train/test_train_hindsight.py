"""Hindsight experience replay: goals that are achieved later, their rewards, and learning."""

import importlib
import sys

import numpy as np
import pytest
import torch

from helpers.lanes import lane, mostly_nightly
from helpers.places import SCRIPTS
from helpers.stories import Story, assert_same_batch, samples
from helpers.training_runs import assert_equal, interrupted, trainer
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config, evaluation
from mjgym_train.learn import algorithms
from mjgym_train.learn.hindsight import HindsightBuffer, Relabelling

pytestmark = pytest.mark.torch

REACHER = "dmc/reacher-easy-v0"
GOAL = -1.0  # both numbers of the goals that are set


def distance(achieved, desired, info):
    """The reward of the stories: which of them, and how far apart."""
    assert info == {}
    return -100.0 * (achieved[..., 0] != desired[..., 0]) - abs(achieved[..., 1] - desired[..., 1])


class Aiming:
    """A buffer whose observations (env, episode, step) get a goal, an (episode, step)."""

    def __init__(self, buffer):
        self._buffer = buffer

    def add(self, observation, following, **step):
        goal = torch.full((len(observation), 2), GOAL)
        self._buffer.add(
            observation=torch.cat([observation, goal], 1),
            following=torch.cat([following, goal], 1),
            **step,
        )


class TestBuffer:
    def filled(self, size=1200, envs=6, steps=100, **drawn):
        buffer = HindsightBuffer(
            size, envs, 5, 1, relabelling=Relabelling(slice(1, 3), slice(3, 5), distance), **drawn
        )
        return buffer, Story(Aiming(buffer), envs, steps, np.random.default_rng(0))

    @pytest.mark.parametrize(
        "size", mostly_nightly([1200, 120], quick=2), ids=["all", "the last alone"]
    )
    @pytest.mark.parametrize(
        "drawn", mostly_nightly([{}, {"n_step": 3, "shorter": (1,), "history": 2}], quick=2)
    )
    def test_goals_are_achieved_later_in_the_same_episode(self, drawn, size):
        buffer, story = self.filled(size, **drawn)
        whole = buffer.sample(1500)
        for batch in (whole, *whole.shorter):
            aims, others = batch.observation[:, -1, 3:], 0
            for i, (env, episode, step) in enumerate(batch.observation[:, -1, :3].int().tolist()):
                rewards, _ = story.episodes[env, episode]
                count = int(batch.steps[i])
                assert (batch.observation[i, :, 3:] == aims[i]).all()
                assert (batch.following[i, :, 3:] == aims[i]).all()
                if (aims[i] == GOAL).all():
                    wanted = rewards[step : step + count]
                else:
                    others += 1
                    aim_episode, aim_step = aims[i].int().tolist()
                    assert aim_episode == episode
                    assert step < aim_step <= len(rewards)
                    wanted = [-abs(step + k + 1 - aim_step) for k in range(count)]
                np.testing.assert_allclose(batch.rewards[i, :count], wanted, rtol=1e-6)
                assert (batch.rewards[i, count:] == 0).all()
            assert 0.77 < others / len(batch.steps) < 0.83

    def test_every_later_step_is_drawn(self):
        buffer, story = self.filled()
        batch = buffer.sample(200_000)
        (env, episode), rewards = max(
            ((k, v[0]) for k, v in story.episodes.items()), key=lambda item: len(item[1])
        )
        of_it = (batch.observation[:, 0, :3] == torch.tensor([env, episode, 0])).all(1)
        aims = batch.observation[of_it][:, 0, 4].int()
        assert set(aims.tolist()) == {GOAL, *range(1, len(rewards) + 1)}

    def test_what_is_stored_stays(self):
        buffer, _ = self.filled()
        before = {name: x.clone() for name, x in buffer.state_dict()["arrays"].items()}
        buffer.sample(500)
        assert_equal(before, buffer.state_dict()["arrays"])

    def test_a_cut_ends_the_episodes(self):
        buffer, _ = self.filled(steps=20)
        buffer.cut()
        assert (buffer.state_dict()["arrays"]["last"] >= 0).all()

    def test_goes_on_from_a_checkpoint(self):
        buffer, _ = self.filled(size=240)
        again, _ = self.filled(size=240, steps=0)
        again.load_state_dict(buffer.state_dict())
        assert_same_batch(*samples(200, buffer, again))


HER = ("her=true", "n_step=3")


@pytest.mark.slow
@pytest.mark.parametrize("memory", [(), ("history=2", "history_actions=true")])
def test_relabelled_rewards_are_those_of_the_environment(memory, tmp_path):
    made = trainer(tmp_path / "run", *HER, *memory, algorithm="td3", id=REACHER)
    made.train()
    envs = evaluation.make(REACHER, 2, 1, observation="goal")
    observed, achieved, desired = (
        int(part.shape[0]) for part in envs.single_observation_space.spaces.values()
    )
    torch.manual_seed(0)
    batch = made.buffer.sample(400)
    after = batch.following[:, -1].numpy()
    goals = np.split(after, np.cumsum([observed, achieved, desired]), axis=1)[1:3]
    wanted = envs.unwrapped.compute_reward(*goals, {})
    last = batch.rewards.gather(1, batch.steps[:, None] - 1)[:, 0]
    np.testing.assert_array_equal(last.numpy(), wanted)
    assert 0.2 < (wanted == 0).mean() < 0.9
    result = evaluation.evaluate(made.run_folder.policy(), envs, evaluation.SEEDS[:2])
    assert np.isfinite(result.returns).all()
    seen, _ = envs.reset(seed=0)
    policy = made.run_folder.policy()
    action = policy(seen)
    policy.begin()
    turned = {name: seen[name] for name in reversed(list(seen))}
    np.testing.assert_array_equal(action, policy(turned))


@pytest.mark.slow
def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path):
    whole, resumed = interrupted(tmp_path, *HER, at=140, algorithm="sac", id=REACHER)
    assert_equal(*(each.buffer.state_dict()["arrays"] for each in (whole, resumed)))


@pytest.mark.slow
def test_goals_that_never_vary_have_a_deviation(tmp_path):
    """Those of hindsight do vary, and would be clipped."""
    made = trainer(tmp_path / "run", "her=true", algorithm="sac", id="dmc/point_mass-easy-v0")
    made.train()
    _, deviation = made.agent.normalizer.scale()
    assert (deviation[-3:-1] > 0.03).all()


@lane(3, 5)
@pytest.mark.usefixtures("own_ids")
def test_learns_a_sparse_reach(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS / "examples")
    sys.modules.pop("reach_and_push", None)
    id = importlib.import_module("reach_and_push").REACH
    settings = (
        *("her=true", "n_step=1", "critic=mean", "discount=0.95", "env.max_episode_steps=25"),
        *("num_envs=8", "hidden=[64,64]", "batch_size=128", "learning_starts=800"),
        *("updates_per_step=0.25", "evaluations=1"),
    )
    made = trainer(tmp_path / "run", *settings, algorithm="sac", id=id, steps=6000)
    envs = evaluation.make(id, 50, 1, observation="goal", max_episode_steps=25)

    def returns():
        policy = made.agent.policy(made.low, made.high)
        return evaluation.evaluate(policy, envs, evaluation.SEEDS[:50]).returns.mean()

    before = returns()
    made.train()
    assert before < -20
    assert returns() > -12
    envs.close()


class TestSettings:
    def read(self, *settings):
        cls = algorithms.find("sac").Config
        return config.read(cls, (), settings, algorithm="sac", id=REACHER)

    def test_the_environments_show_goals(self):
        assert self.read("her=true", "env.max_episode_steps=50").env == {
            "max_episode_steps": 50,
            "observation": "goal",
        }
        assert self.read("her=false").env == {}

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ("env.observation=flat", "env.observation=goal, not flat"),
            ("action_repeat=2", "repeated actions"),
            ("data=some", "recorded episodes"),
        ],
    )
    def test_what_does_not_go_with_it_is_refused(self, other, message):
        with pytest.raises(ConfigError, match=message):
            self.read("her=true", other)

    def test_a_task_without_goals_is_refused(self, tmp_path):
        with pytest.raises(ConfigError, match="Cartpole is not"):
            trainer(tmp_path / "run", "her=true", algorithm="sac")
