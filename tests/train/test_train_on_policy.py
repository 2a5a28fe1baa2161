"""PPO and A2C: advantages against brute force, updates, runs that stop and go on, the commands."""

import json
import math

import gymnasium
import numpy as np
import pytest
import torch

from helpers import training_runs
from helpers.lanes import mostly_nightly
from helpers.training_runs import ID, SMALL, assert_equal, interrupted, mjgym_, weights
from mjgym.cli.policy_option import load_policy
from mjgym.policies.run_errors import ConfigError, DivergedError
from mjgym.util.packaged import assets
from mjgym_train import config, evaluation, metrics
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.a2c import A2C, A2CConfig
from mjgym_train.learn.algorithms.ppo import PPO, PPOConfig
from mjgym_train.learn.mirror import Mirror
from mjgym_train.learn.rollout import Rollout, advantages

pytestmark = pytest.mark.torch


def rollout(agent, steps=6, n=3, reward=None):
    """A rollout of the agent over observations that depend on nothing."""
    observation = torch.randn(steps, n, 1, agent.inputs)
    latent, log_density = agent.draw(observation)
    ended = torch.rand(steps, n) < 0.3
    return Rollout(
        observation=observation,
        latent=latent,
        log_density=log_density,
        reward=torch.randn(steps, n) if reward is None else reward(latent),
        following=torch.randn(steps, n, 1, agent.inputs),
        terminated=ended & (torch.rand(steps, n) < 0.5),
        ended=ended,
    )


class TestAdvantages:
    @pytest.mark.parametrize("gae_lambda", [0.0, 0.9, 1.0])
    def test_against_the_sums(self, gae_lambda):
        discount = 0.97
        made = rollout(PPO(PPOConfig(hidden=(4,)), 2, 1), steps=12)
        assert made.terminated.any()
        assert (made.ended & ~made.terminated).any()
        value, following = torch.randn(12, 3), torch.randn(12, 3)
        found = advantages(made, value, following, discount, gae_lambda)
        for i in range(3):
            for t in range(12):
                wanted, k = 0.0, t
                while k < 12:
                    after = 0.0 if made.terminated[k, i] else float(following[k, i])
                    delta = float(made.reward[k, i]) + discount * after - float(value[k, i])
                    wanted += (discount * gae_lambda) ** (k - t) * delta
                    if made.ended[k, i]:
                        break
                    k += 1
                assert float(found[t, i]) == pytest.approx(wanted, abs=1e-5)

    def test_of_whole_returns(self):
        """Closed form: with lambda = 1, rewards of one and values of 1 / (1 - discount), none."""
        discount, value = 0.9, torch.full((5, 2), 10.0)
        made = rollout(PPO(PPOConfig(hidden=(4,)), 2, 1), steps=5, n=2)
        made = Rollout(**{**vars(made), "reward": torch.ones(5, 2)})
        going = Rollout(**{**vars(made), "terminated": torch.zeros(5, 2, dtype=torch.bool)})
        found = advantages(going, value, value, discount, 1.0)
        torch.testing.assert_close(found, torch.zeros(5, 2), atol=1e-5, rtol=0)
        over = torch.ones(5, 2, dtype=torch.bool)
        ends = Rollout(**{**vars(made), "terminated": over, "ended": over})
        torch.testing.assert_close(advantages(ends, value, value, discount, 1.0), 1 - value)


class TestUpdates:
    def test_the_density_is_that_of_the_gaussian(self):
        agent = PPO(PPOConfig(hidden=(8,), deviation=0.7), 3, 2)
        observation = torch.randn(5, 1, 3)
        latent, log_density = agent.draw(observation)
        with torch.no_grad():
            policy = torch.distributions.Normal(agent.distribution(observation).mean, 0.7)
        torch.testing.assert_close(log_density, policy.log_prob(latent).sum(-1))
        torch.testing.assert_close(
            agent.distribution(observation).entropy(), policy.entropy()[0].sum()
        )

    def test_the_first_minibatch_is_of_the_same_policy(self):
        agent = PPO(PPOConfig(hidden=(8,), epochs=2, minibatch_size=9), 3, 2)
        losses = list(agent.update(rollout(agent)))
        assert len(losses) == 4  # 18 transitions in minibatches of 9, twice
        assert float(losses[0]["divergence"]) == pytest.approx(0, abs=1e-6)
        assert float(losses[0]["clipped"]) == 0
        assert float(losses[-1]["divergence"]) > 0

    @pytest.mark.parametrize("advantage", [1.0, -1.0])
    @pytest.mark.parametrize("ratio", [0.5, 0.9, 1.1, 1.5])
    def test_the_surrogate_is_clipped_where_it_would_gain(self, advantage, ratio):
        """The gradient of a ratio that has gone far enough to the better side is none."""
        settings = PPOConfig(hidden=(8,), value_weight=0.0, max_gradient_norm=1e9)
        agent = PPO(settings, 3, 1)
        observation = torch.randn(2, 1, 3)
        latent, log_density = agent.draw(observation)
        with torch.no_grad():
            z = (latent - agent.distribution(observation).mean) / settings.deviation
        ratios, advantages_ = torch.tensor([ratio, 1.0]), torch.tensor([advantage, -advantage])
        one = torch.ones(2)
        agent.minibatch(observation, latent, log_density - ratios.log(), advantages_, one, one)
        gains = (advantage > 0) == (ratio > 1)
        counts = torch.tensor([not (gains and abs(ratio - 1) > settings.clip), True])
        # The log density's derivative by the log deviation is z^2 - 1.
        wanted = -(counts * ratios * advantages_ * (z.square()[:, 0] - 1)).mean()
        torch.testing.assert_close(agent.log_deviation.grad[0], wanted)

    def test_the_gradient_of_a2c_is_the_paper_s(self):
        settings = A2CConfig(hidden=(8,), entropy_weight=0.1, value_weight=0.25, discount=0.9,
                             max_gradient_norm=1e9)  # fmt: skip
        agent = A2C(settings, 3, 1)
        made = rollout(agent)
        value, following = agent.value(made.observation), agent.value(made.following)
        gain = advantages(made, value, following, 0.9, 1.0).detach()
        loss = torch.zeros(())
        for t in range(6):
            for i in range(3):
                log_density = agent.distribution(made.observation[t, i]).log_density(
                    made.latent[t, i]
                )
                target = gain[t, i] + value[t, i].detach()
                error = (value[t, i] - target) * 0.1
                entropy = 0.5 * math.log(2 * math.pi * math.e) + agent.log_deviation[0]
                loss = loss - log_density * gain[t, i] + 0.25 * error.square() - 0.1 * entropy
        wanted = torch.autograd.grad(loss / 18, list(agent.parameters()))
        (losses,) = agent.update(made)
        assert float(losses["loss"]) == pytest.approx(float(loss.detach()) / 18, rel=1e-4)
        for parameter, gradient in zip(agent.parameters(), wanted, strict=True):
            torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-4)

    @pytest.mark.parametrize(("change", "target"), [(0.5, 2.0), (0.5, -1.0), (0.05, 2.0)])
    def test_values_change_by_at_most_epsilon_of_their_unit(self, change, target):
        """The gradient of a value that has gone far enough towards the target is none."""
        settings = PPOConfig(hidden=(8,), clip_value=True, value_scale=1.0, max_gradient_norm=1e9)
        agent = PPO(settings, 3, 1)
        observation = torch.randn(2, 1, 3)
        latent, log_density = agent.draw(observation)
        with torch.no_grad():
            value = agent.value(observation)
        targets, none = torch.full((2,), target), torch.zeros(2)
        agent.minibatch(observation, latent, log_density, none, value + targets, value - change)
        far = change > settings.clip and target > 0
        gradient = agent.critic[-1].bias.grad
        wanted = torch.tensor([0.0 if far else -target])  # c1 = 0.5, of the squared error
        torch.testing.assert_close(gradient, wanted)

    @pytest.mark.slow
    def test_the_learning_rate_follows_the_divergence(self):
        settings = PPOConfig(hidden=(8,), target_divergence=0.01, learning_rate=1e-3)
        agent = PPO(settings, 3, 1)
        made = rollout(agent)
        next(agent.update(made))  # of the same policy
        rate = agent.optimizer.param_groups[0]["lr"]
        assert rate == pytest.approx(1.5e-3)
        far = Rollout(**{**vars(made), "log_density": made.log_density + 1})
        next(agent.update(far))
        assert agent.optimizer.param_groups[0]["lr"] == pytest.approx(1e-3)
        for _ in range(10):
            for _ in agent.update(far):
                pass
        assert agent.optimizer.param_groups[0]["lr"] >= 1e-5 * (1 - 1e-9)
        other = PPO(settings, 3, 1)
        other.restore(agent.checkpoint())
        assert other.rate_share == agent.rate_share

    def test_images_are_learned_from_as_if_they_had_been_drawn(self):
        settings = PPOConfig(hidden=(8,), epochs=1, minibatch_size=100)
        agent, plain = PPO(settings, 3, 2), PPO(settings, 3, 2)
        plain.load_state_dict(agent.state_dict())
        sides = Mirror(torch.tensor([1, 0, 2]), torch.tensor([1.0, 1, -1]))
        agent.reflect(sides, hands := Mirror(torch.tensor([1, 0]), torch.ones(2)))
        made = rollout(agent)
        value = made.reward.flatten()
        parts = [made.observation.flatten(0, 1), made.latent.flatten(0, 1)]
        rest = [made.log_density.flatten(), value, value + 1, value - 1]
        agent.minibatch(*parts, *rest)
        both = [torch.cat([part, f(part)]) for part, f in zip(parts, (sides, hands), strict=True)]
        plain.minibatch(*both, *(part.repeat(2) for part in rest))
        for one, other in zip(agent.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(one, other)

    def test_images_count_in_the_statistics_of_observations(self):
        agent = PPO(PPOConfig(hidden=(8,)), 3, 2)
        sides = Mirror(torch.tensor([1, 0, 2]), torch.tensor([1.0, 1, -1]))
        agent.reflect(sides, sides)
        seen = torch.randn(50, 3)
        agent.normalizer.update(seen)
        torch.testing.assert_close(agent.normalizer(sides(seen)), sides(agent.normalizer(seen)))

    def test_a_policy_does_not_see_the_critics_entries(self):
        agent = PPO(PPOConfig(hidden=(8,), history=2), 5, 2, 3)
        observation = torch.randn(4, 2, 5)
        changed = observation.clone()
        changed[..., 2:] += 1
        assert agent.outputs(changed).equal(agent.outputs(observation))
        assert not agent.value(changed).equal(agent.value(observation))
        low = np.full(2, -1.0, np.float32)
        acting = agent.policy(low, -low)
        assert acting.mean.shape == (2,)
        seen = observation[..., :2].numpy()
        acting(seen[:, 0])
        wanted = agent.mean_action(observation).numpy()
        first = acting(seen[:, 1])
        once = np.repeat(seen[:, :1], 2, axis=1)
        acting.begin()
        assert np.allclose(
            acting(once[:, 0]),
            agent.mean_action(
                torch.from_numpy(np.concatenate([once, np.zeros((4, 2, 3), np.float32)], -1))
            ).numpy(),
            atol=1e-6,
        )
        assert np.allclose(first, wanted, atol=1e-6)

    @pytest.mark.parametrize("name", mostly_nightly(["ppo", "a2c"], 2))
    def test_learns_which_action_pays(self, name):
        """A bandit: the reward is the lower the further the action is from 0.6, -0.3."""
        cls = algorithms.find(name)
        small = {"hidden": (16,), "learning_rate": 1e-2, "discount": 0.1}
        agent = cls(cls.Config(**small), 2, 2)
        best = torch.tensor([0.6, -0.3])

        def reward(latent):
            return -(torch.tanh(latent) - best).square().sum(-1)

        for _ in range(30 if name == "ppo" else 400):
            for _ in agent.update(rollout(agent, 32, 4, reward)):
                pass
        low = np.full(2, -1.0, np.float32)
        acting = agent.policy(low, -low)
        actions = acting(np.random.default_rng(0).normal(size=(20, 2)))
        assert np.abs(actions - best.numpy()).max() < 0.15

    def test_a_loss_that_is_not_finite_changes_nothing(self):
        agent = PPO(PPOConfig(hidden=(8,)), 3, 1)
        made = rollout(agent)
        before = {name: value.clone() for name, value in agent.state_dict().items()}
        broken = Rollout(**{**vars(made), "reward": made.reward * float("nan")})
        with pytest.raises(DivergedError, match="nan"):
            next(agent.update(broken))
        assert_equal(before, agent.state_dict())


class TestSettings:
    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("buffer_size=100", "no setting 'buffer_size'"),
            ("rollout_step=9", "did you mean rollout_steps"),
            ("gae_lambda=1.5", "gae_lambda: must be at most 1"),
            ("clip=0", "clip: must be positive"),
            ("minibatch_size=1", "minibatch_size: must be at least 2"),
            ("deviation=0", "deviation: must be positive"),
            ("discount=1", "discount: must lie between 0 and 1"),
            ("value_scale=0", "value_scale: must be positive"),
        ],
    )
    def test_a_mistake_is_named(self, setting, message):
        with pytest.raises(ConfigError, match=message):
            config.read(PPOConfig, (), [setting])

    def test_a_rate_follows_either_the_budget_or_the_divergence(self):
        both = ["target_divergence=0.01", "learning_rate_left=0.5"]
        with pytest.raises(ConfigError, match="learning_rate_left must be 1"):
            config.read(PPOConfig, (), both)

    def test_symmetry_wants_a_robot_with_two_sides(self, tmp_path):
        with pytest.raises(ConfigError, match=r"symmetry: .* image on the other side is unknown"):
            trainer(tmp_path, "symmetry=true")

    def test_off_policy_ones_have_no_rollouts(self):
        with pytest.raises(ConfigError, match="no setting 'rollout_steps'"):
            config.read(algorithms.find("td3").Config, (), ["rollout_steps=9"])


ROLLOUTS = ("rollout_steps=15",)


def trainer(folder, *settings, algorithm="ppo", **given):
    more = ("minibatch_size=20", "epochs=2") if algorithm == "ppo" else ()
    return training_runs.trainer(folder, *ROLLOUTS, *more, *settings, algorithm=algorithm, **given)


ENTRIES = ("foot_height", "foot_air_time", "foot_contact", "foot_contact_forces")


@pytest.mark.slow
class TestRuns:
    @pytest.mark.weekly
    def test_the_settings_for_legged_robots(self, tmp_path):
        settings = ("rollout_steps=10", "minibatch_size=20", "evaluations=1")
        file = assets() / "training" / "legged_ppo.yaml"
        made = training_runs.trainer(
            tmp_path / "run", *settings, algorithm="ppo", id="legged/go1-velocity-v0", files=[file],
            steps=80,
        )  # fmt: skip
        assert made.agent.seen == 48
        assert made.agent.inputs == 72
        assert made.train().updates == 20
        assert made.run_folder.policy().mean.shape == (48,)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (["critic_entries=[height]"], "must be the last of the entries, .*; got height"),
            (["critic_entries=[velocity]"], "evaluation_env: must leave out the critic_entries"),
        ],
    )
    def test_entries_of_the_critic_that_do_not_fit_are_named(self, settings, message, tmp_path):
        with pytest.raises(ConfigError, match=message):
            trainer(tmp_path / "run", *settings)

    @pytest.mark.parametrize(
        ("algorithm", "settings"),
        [("a2c", ()), ("ppo", ("history=3", "layer_norm=false", "stagger=false"))],
    )
    def test_trains(self, algorithm, settings, tmp_path):
        made = trainer(tmp_path / "run", *settings, algorithm=algorithm)
        before = weights(made)
        end = made.train()
        assert end.env_step == 240
        # Four rollouts of 15 steps of 4: PPO takes 60 / 20 minibatches of each, twice.
        assert end.updates == (24 if algorithm == "ppo" else 4)
        after = weights(made)
        changed = {name.partition(".")[0] for name in before if not before[name].equal(after[name])}
        assert {"actor", "critic", "log_deviation"} <= changed
        rows = made.run_folder.metrics()
        assert {"training/entropy", metrics.RETURN, metrics.TRAINING_RETURN} <= {
            row.metric for row in rows
        }
        assert all(np.isfinite(row.value) for row in rows)

    @pytest.mark.weekly
    def test_an_interrupted_run_ends_as_one_that_was_not(self, tmp_path):
        """Bit for bit, also when it is stopped in the middle of a rollout."""
        interrupted(tmp_path, "history=2", algorithm="ppo", at=140, make=trainer)

    def test_what_a_time_limit_led_to_is_the_last_observation(self, tmp_path):
        made = trainer(tmp_path / "run", "stagger=false", "normalize_observations=false",
                       "rollout_steps=100")  # fmt: skip
        for _ in range(32):
            made.step()
        steps = made.rollout
        assert [k for k, step in enumerate(steps) if step["ended"].any()] == [29]
        assert not any(step["terminated"].any() for step in steps)
        assert torch.equal(steps[28]["following"], steps[29]["observation"])
        assert not torch.equal(steps[29]["following"], steps[30]["observation"])
        made.close()

    @pytest.mark.weekly
    def test_the_commands(self, tmp_path):
        folder = tmp_path / "run"
        words = [*SMALL, *ROLLOUTS, "--steps", 120]
        for k, name in enumerate(("ppo", "a2c")):
            mjgym_("train", name, "cartpole-balance", *words, "--out", folder / str(k))
        found = json.loads(mjgym_("evaluate", folder / "0", "--json").stdout)
        assert len(found["returns"]) == len(evaluation.SEEDS)
        table = mjgym_("compare", folder / "0", folder / "1").output
        assert "ppo" in table
        assert "a2c" in table
        mjgym_("train", "ppo", "cartpole-balance", "--steps", 180, "--resume", "--out",
               folder / "0")  # fmt: skip
        env = gymnasium.make(ID)
        action = load_policy(str(folder / "0"), env)(env.reset(seed=0)[0])
        assert env.action_space.contains(action.astype(env.action_space.dtype))
        env.close()
        done = mjgym_("train", "ppo", ID, "buffer_size=9", code=2)
        assert "no setting 'buffer_size'" in " ".join(done.stderr.split())
