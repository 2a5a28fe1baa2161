"""Agents with a memory: actions in the history, a recurrent unit before the networks."""

import numpy as np
import pytest
import torch

from helpers.lanes import lane
from helpers.training_runs import ID, SMALL, SMALL_REPLAY, interrupted, trainer
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Collector
from mjgym_train.learn.rollout import Rollout

pytestmark = pytest.mark.torch

MEMORY = ("history_actions=true", "network=gru", "history=3", "hidden=[12, 8]")
LOW, HIGH = np.array([-1.0, 0.0], np.float32), np.array([1.0, 5.0], np.float32)


def test_an_observation_has_the_action_before_it():
    """Zero at the start of each episode; what was done last is in `following` at its end."""
    settings = [*SMALL, "history_actions=true", "history=2", "stagger=false"]
    read = config.read(algorithms.find("td3").Config, (), settings, algorithm="td3", id=ID, steps=9)
    collector, plain = (
        Collector(read),
        Collector(config.changed(type(read), vars(read), {"history_actions": False}, "")),
    )
    assert collector.observation_size == plain.observation_size + 1
    assert not collector.begin()[:, -1].any()
    plain.begin()
    before = torch.zeros(4, 1)
    for _ in range(70):  # more than two episodes
        action = torch.rand(4, 1) * 2 - 1
        found, wanted = collector.step(action), plain.step(action)
        assert torch.equal(found.observation, torch.cat([wanted.observation, before], 1))
        assert torch.equal(found.following, torch.cat([wanted.following, action], 1))
        before = torch.where(found.ended[:, None], 0.0, action)
        assert torch.equal(collector.observation[:, -1:], before)
    assert collector.stack.shape == (4, 2, 6)
    collector.close()
    plain.close()


@pytest.mark.parametrize("network", ["gru", "perceptron"])
@pytest.mark.parametrize("algorithm", ["td3", "sac", "ppo"])
def test_the_policy_of_numpy_remembers_as_the_networks_do(algorithm, network, tmp_path):
    cls = algorithms.find(algorithm)
    read = config.read(cls.Config, (), [*MEMORY, f"network={network}", "num_envs=5"])
    agent = cls(read, 4 + 2, 2)
    agent.normalizer.update(3 + torch.randn(20, 6))
    with torch.no_grad():  # actors at their start act all alike
        agent.actor_body()[-1].weight.add_(torch.randn_like(agent.actor_body()[-1].weight))
    agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
    loaded = policy.load(tmp_path / "policy.npz")
    assert loaded.mean.shape == (4,)
    for _ in range(2):  # the second time after `begin`
        loaded.begin()
        past, action = [], torch.zeros(5, 2)
        for now in torch.randn(6, 5, 4):
            past.append(torch.cat([now, action], 1))
            stack = torch.stack([past[max(k, 0)] for k in range(len(past) - 3, len(past))], 1)
            action = agent.mean_action(stack)
            wanted = LOW + (action.numpy() + 1) / 2 * (HIGH - LOW)
            np.testing.assert_allclose(loaded(now.numpy()), wanted, atol=1e-4)


def rollout(agent, steps=6, n=4):
    observation = torch.randn(steps, n, 3, 2)
    latent, log_density = agent.draw(observation)
    ends = torch.zeros(steps, n, dtype=torch.bool)
    reward = latent[..., 0] * observation[:, :, 0, 0].sign()
    return Rollout(observation, latent, log_density, reward, observation, ends, ends)


@pytest.mark.parametrize("algorithm", ["td3", "sac", "ppo", "a2c"])
def test_an_update_teaches_the_recurrent_unit(algorithm):
    cls = algorithms.find(algorithm)
    agent = cls(config.read(cls.Config, (), ["network=gru", "history=3", "hidden=[16]"]), 2, 1)
    before = agent.memory.weight_hh_l0.clone()
    if algorithm in ("ppo", "a2c"):
        for _ in agent.update(rollout(agent)):
            pass
    else:
        seen, action = torch.randn(32, 3, 2), torch.rand(32, 1) * 2 - 1
        one, ends = torch.ones(32, agent.config.n_step), torch.zeros(32, dtype=torch.bool)
        batch = Batch(seen, action, one, torch.ones(32), torch.randn(32, 3, 2), ends)
        for _ in range(2):  # the actor learns in the second
            agent.update(agent.preprocess(batch))
    assert (agent.memory.weight_hh_l0 - before).abs().max() > 1e-4


@lane(2, 5)
@pytest.mark.parametrize("algorithm", ["sac", "ppo"])
def test_a_run_goes_on_bit_for_bit(algorithm, tmp_path):
    small = ("rollout_steps=15", "minibatch_size=20", "epochs=2")
    settings = (*MEMORY, *(SMALL_REPLAY if algorithm == "sac" else small), "hidden=[12, 8]")
    whole, _ = interrupted(tmp_path, *settings, algorithm=algorithm, at=120)
    assert whole.run_folder.policy().memory["weight_hh_l0"].shape == (36, 12)


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        ("td3", ["history_actions=true", "ensemble=[{}, {}]"], "history_actions: goes without ens"),
        ("sac", ["history_actions=true", "data=x"], "history_actions: goes without data"),
        ("ppo", ["network=lstm"], "network must be one of perceptron, gru"),
    ],
)
def test_mistakes_are_named(algorithm, settings, message):
    with pytest.raises(ConfigError, match=message):
        config.read(algorithms.find(algorithm).Config, (), settings)


def test_pictures_have_none(tmp_path):
    with pytest.raises(ConfigError, match="gru sees vectors"):
        algorithms.find("sac")(algorithms.find("sac").Config(network="gru"), (40, 40, 3), 2)
    with pytest.raises(ConfigError, match="with vectors, not with pictures"):
        trainer(tmp_path, "history_actions=true", "env.observation=pixels", algorithm="sac")
