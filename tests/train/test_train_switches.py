"""Optimisers, schedulers, networks and actors that settings name."""

import math

import numpy as np
import pytest
import torch

from helpers.guide_code import write_modules
from helpers.places import ROOT
from helpers.training_runs import SMALL_REPLAY, interrupted, trainer
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym.util.packaged import assets
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.rollout import Rollout

pytestmark = pytest.mark.torch

LOW, HIGH = np.array([-1.0, 0.0], np.float32), np.array([1.0, 5.0], np.float32)


def made(algorithm, *settings, sizes=(3, 2), files=()):
    cls = algorithms.find(algorithm)
    return cls(config.read(cls.Config, files, ["hidden=[8, 6]", *settings]), *sizes)


def rollout(agent, steps=5, n=4):
    observation = torch.randn(steps, n, 1, 3)
    latent, log_density = agent.draw(observation)
    ends = torch.zeros(steps, n, dtype=torch.bool)
    return Rollout(observation, latent, log_density, torch.randn(steps, n), observation, ends, ends)


class TestA3COfTheReport:
    FILE = assets() / "training" / "a3c_2018.yaml"

    def test_policy_and_value_share_all_but_their_last_layers(self, tmp_path):
        agent = made("a3c", files=[self.FILE])
        assert agent.critic[0] is agent.actor.body[0]
        assert [m.out_features for m in agent.critic if hasattr(m, "out_features")] == [8, 6, 1]
        layers = 2 * (2 + 1 + 1)  # weights and biases of the common ones, and of both heads
        assert len(list(agent.parameters())) == layers
        (group,) = agent.optimizer.param_groups
        assert (type(agent.optimizer).__name__, group["alpha"], group["eps"]) == (
            "RMSprop",
            0.99,
            0.1,
        )
        agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
        seen = torch.randn(7, 1, 3)
        wanted = LOW + (agent.mean_action(seen).numpy() + 1) / 2 * (HIGH - LOW)
        found = policy.load(tmp_path / "policy.npz")(seen[:, 0].numpy())
        np.testing.assert_allclose(found, wanted, atol=1e-5)

    def test_deviations_are_outputs(self):
        agent = made("a3c", files=[self.FILE])
        observation = torch.randn(9, 1, 3)
        outputs = agent.outputs(observation)
        started = math.log(math.expm1(0.5))  # so that the softplus of an output near 0 is 0.5
        wanted = torch.distributions.Normal(
            outputs[:, :2], (outputs[:, 2:] + started).exp().log1p()
        )
        found = agent.distribution(observation)
        latent = found.draw()
        torch.testing.assert_close(found.log_density(latent), wanted.log_prob(latent).sum(-1))
        torch.testing.assert_close(found.entropy(), wanted.entropy().sum(-1))
        assert float(found.log_deviation.detach().exp().mean()) == pytest.approx(0.5, abs=0.05)
        before = found.log_deviation.clone()
        for _ in range(20):
            for _ in agent.update(rollout(agent)):
                pass
        assert not torch.allclose(agent.distribution(observation).log_deviation, before)

    def test_a_run(self, tmp_path):
        settings = ("evaluations=1", "num_envs=2", "rollout_steps=5", "log_every=20")
        end = trainer(tmp_path, *settings, algorithm="a3c", files=[self.FILE], steps=40).train()
        assert (end.env_step, end.updates) == (40, 4)


class TestSchedules:
    SETTINGS = ("scheduler={name: StepLR, step_size: 2, gamma: 0.5}", "learning_rate=0.01")

    def rates(self, agent):
        return {name: o.param_groups[0]["lr"] for name, o in agent._optimizers().items()}

    @pytest.mark.parametrize("algorithm", ["td3", "ppo"])
    def test_step_with_each_update(self, algorithm):
        agent = made(
            algorithm, *self.SETTINGS, *(["actor_learning_rate=0.1"] * (algorithm == "td3"))
        )
        agent.begin_schedule()
        agent.schedule(5)
        wanted = (
            {"optimizer": 0.0025}
            if algorithm == "ppo"
            else {"critic_optimizer": 0.0025, "actor_optimizer": 0.025}
        )
        assert self.rates(agent) == pytest.approx(wanted)

    def test_go_on_from_a_checkpoint(self):
        agent, again, plain = (made("sac", *self.SETTINGS) for _ in range(3))
        for each in (agent, again, plain):
            each.begin_schedule()
        agent.schedule(3)
        again.restore(agent.checkpoint())
        assert self.rates(again) == self.rates(agent) != self.rates(plain)
        for each in (agent, again):
            each.schedule(1)
        assert set(self.rates(again).values()) == {0.0025}

    @pytest.mark.weekly
    def test_a_run_goes_on_bit_for_bit(self, tmp_path):
        settings = (*SMALL_REPLAY, *self.SETTINGS)
        whole, _ = interrupted(tmp_path, *settings, algorithm="td3", at=120)
        assert set(self.rates(whole.agent).values()) == {0.01 * 0.5 ** (whole.updates // 2)}

    @pytest.mark.slow
    def test_of_an_ensemble_step_too(self, tmp_path):
        settings = (*SMALL_REPLAY, *self.SETTINGS, "ensemble=[{}, {algorithm: sac}]")
        done = trainer(tmp_path, *settings, algorithm="td3", steps=80)
        done.train()
        for agent in done.agent.members:
            assert set(self.rates(agent).values()) == {0.01 * 0.5 ** (done.updates // 2)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["optimizer={name: Adm}"],
            "optimizer: there is no 'Adm' in torch.optim; did you mean Adam",
        ),
        (["optimizer={lr: 3}"], "optimizer: there is no '' in torch.optim"),
        (["optimizer={name: SGD, alpha: 3}"], "optimizer: .*unexpected keyword argument 'alpha'"),
        (["scheduler={name: StepLR}"], "scheduler: .*step_size"),
        (["scheduler={name: ReduceLROnPlateau}"], "scheduler: ReduceLROnPlateau follows a metric"),
        (["scheduler={name: Step}", "learning_rate_left=0.5"], "leave out learning_rate_left"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        made("sac", *settings).begin_schedule()


class TestActorOfOnesOwn:
    @pytest.fixture
    def flow(self, tmp_path, monkeypatch):
        write_modules(tmp_path, ROOT / "assets" / "guides" / "own_algorithm.md")
        monkeypatch.syspath_prepend(str(tmp_path))
        agent = made("sac", "actor=coupling_flow:Flow", "layer_norm=false", sizes=(3, 2))
        with torch.no_grad():
            for parameter in agent.actor.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        return agent

    def test_its_density_is_that_of_the_change_of_variables(self, flow):
        seen, noise = torch.randn(6, 1, 3).double(), torch.randn(6, 2).double()
        actor = flow.actor.double()
        log_density = actor(seen, noise)[1]
        for k in range(6):
            jacobian = torch.autograd.functional.jacobian(
                lambda n, k=k: actor(seen[k : k + 1], n[None])[0][0], noise[k]
            )
            base = torch.distributions.Normal(0, 1).log_prob(noise[k]).sum()
            wanted = base - torch.linalg.slogdet(jacobian).logabsdet
            assert float(log_density[k].detach()) == pytest.approx(float(wanted), rel=1e-3)
            assert (
                jacobian[1, 0].abs() + jacobian[0, 1].abs() > 1e-3
            )  # numbers depend on each other

    def test_without_noise_it_is_the_tanh_of_its_body(self, flow):
        seen = torch.randn(6, 1, 3)
        still, _ = flow.actor(seen, torch.zeros(6, 2))
        torch.testing.assert_close(still, flow.mean_action(seen))

    @pytest.mark.slow
    def test_a_run_learns_with_it_and_asks_for_trust(self, flow, tmp_path):
        done = trainer(tmp_path / "run", *SMALL_REPLAY, "actor=coupling_flow:Flow", algorithm="sac")
        before = done.agent.actor.couplings[1][0].weight.clone()
        done.train()
        assert not torch.equal(before, done.agent.actor.couplings[1][0].weight)
        assert (tmp_path / "run" / "source" / "coupling_flow.py").exists()

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("gausian", "actor: there is no 'gausian'; did you mean gaussian"),
            ("torch.nn:Identity", "actor: torch.nn:Identity has no body"),
        ],
    )
    def test_mistakes_are_named(self, name, message):
        with pytest.raises(ConfigError, match=message):
            made("sac", f"actor={name}")
