"""Parts of training against closed forms and brute force: settings, replay, critics, discounts."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from helpers.lanes import mostly_nightly
from helpers.stories import Story, assert_same_batch, samples
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config
from mjgym_train.learn import algorithms, critics, discounts
from mjgym_train.learn.algorithms.td3 import TD3Config
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.learn.normalization import FLOOR, Normalizer

pytestmark = pytest.mark.torch


class TestSettings:
    def test_later_ones_win(self, tmp_path):
        first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
        first.write_text("n_step: 5\nbatch_size: 64\nhidden: [32, 16]\n")
        second.write_text("batch_size: 128\nenv: {speed: 2.0}\n")
        read = config.read(TD3Config, [first, second], ["n_step=1", "env.time_limit=3"], seed=4)
        assert (read.n_step, read.batch_size, read.hidden, read.seed) == (1, 128, (32, 16), 4)
        assert read.env == {"speed": 2.0, "time_limit": 3}

    def test_what_is_written_is_read_again(self, tmp_path):
        given = config.read(TD3Config, (), ["hidden=[8]", "minutes=1e-1", "steps=null"], id="dmc/x")
        (tmp_path / "c.yaml").write_text(config.to_yaml(given))
        assert config.read(TD3Config, [tmp_path / "c.yaml"]) == given
        short = ["lr=1e-2", "gamma=0.9", "tau=0.1", "batch=7"]
        found = config.read(TD3Config, (), short)
        assert (found.learning_rate, found.discount) == (1e-2, 0.9)
        assert (found.target_rate, found.batch_size) == (0.1, 7)

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ("batch_size: 64\nn_steps: 3\n", 2, "no setting 'n_steps'; did you mean n_step"),
            ("batch_size: 64\n\nn_step: many\n", 3, "n_step must be int, got 'many'"),
            ("num_envs: 2.5\n", 1, "num_envs must be int, got 2.5"),
            ("layer_norm: 1\n", 1, "layer_norm must be bool, got 1"),
            ("discounting: none\n", 1, "discounting must be"),
            ("hidden: 256\n", 1, "hidden must be a list, got 256"),
            ("speed: 2\n", 1, "an argument of the task is env.NAME"),
            ("exploration: gaussian\n", 1, "exploration must be a mapping"),
            ("a: [\n", 2, ""),
            ("seed: 0\nbatch_size: 0\n", 2, "batch_size: must be at least 1, got 0"),
            ("seed.x: 0\n", 1, "seed has no entries"),
        ],
    )
    def test_a_mistake_in_a_file_is_named_with_its_line(self, text, line, message, tmp_path):
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        with pytest.raises(ConfigError) as caught:
            config.read(TD3Config, [file])
        assert str(caught.value).startswith(f"{file}:{line}: ")
        assert message in str(caught.value)

    def test_a_mistake_on_the_command_line(self):
        with pytest.raises(ConfigError, match=r"'polcy_delay=1'.*did you mean policy_delay"):
            config.read(TD3Config, (), ["polcy_delay=1"])
        with pytest.raises(ConfigError, match="not of the form"):
            config.read(TD3Config, (), ["seed"])

    def test_an_unknown_algorithm_or_critic_names_the_nearest(self):
        with pytest.raises(ConfigError, match="did you mean td3"):
            algorithms.find("td")
        with pytest.raises(ConfigError, match="did you mean quantile"):
            critics.make_critic(TD3Config(critic="quantiles"))
        with pytest.raises(ConfigError, match="no_such_module"):
            critics.make_critic(TD3Config(critic="no_such_module:Critic"))

    def test_a_critic_that_lacks_something_is_refused_by_its_name(self):
        with pytest.raises(
            ConfigError, match=r"contextlib:nullcontext has no initial, value, backup, loss"
        ):
            critics.make_critic(TD3Config(critic="contextlib:nullcontext"))

    @pytest.mark.parametrize("critic", critics.CRITICS)
    @pytest.mark.parametrize("support", [(0, 100), (-20, 100), (-1000, 0)])
    def test_before_anything_is_learned_returns_are_near_zero(self, critic, support):
        low, high = support
        settings = TD3Config(critic=critic, value_min=low, value_max=high, hidden=(64, 64))
        agent = algorithms.find("td3")(settings, 5, 2)
        outputs = agent.critics(torch.randn(100, 1, 5), torch.rand(100, 2) * 2 - 1)
        assert agent.critic.value(outputs).abs().max() < 0.1 * (high - low)

    @pytest.mark.parametrize(
        ("algorithm", "learning", "target"),
        [
            *(("td3", 1e-3, 0.04), ("ddpg", 1e-3, 0.02), ("d4pg", 1e-3, 0.02), ("sac", 1e-3, 0.02)),
            *(("ppo", 3e-4, None), ("a2c", 7e-4, None)),
        ],
    )
    def test_rates_of_the_default_recipe(self, algorithm, learning, target):
        """Those that the guide states: settings are inherited along several classes."""
        settings = algorithms.find(algorithm).Config()
        assert settings.learning_rate == learning
        assert getattr(settings, "target_rate", None) == target


class TestReplay:
    @pytest.mark.parametrize("n_step", [1, 3])
    @pytest.mark.parametrize("history", mostly_nightly([4, 1], quick=2))
    @pytest.mark.parametrize("steps", mostly_nightly([15, 100], quick=2))
    def test_against_the_episodes(self, n_step, history, steps):
        """Rewards, ends, what follows and what was before, also after the ring has come around."""
        envs, length = 3, 40
        buffer = ReplayBuffer(envs * length, envs, 3, 1, n_step=n_step, history=history)
        story = Story(buffer, envs, steps, np.random.default_rng(0))
        assert len(buffer) == envs * min(steps, length)
        batch = buffer.sample(2_000)
        observation, following = batch.observation.numpy(), batch.following.numpy()
        drawn, counts, terminated = (
            x.numpy() for x in (batch.rewards, batch.steps, batch.terminated)
        )
        seen = set()
        for k in range(2_000):
            env, episode, age = observation[k, -1].astype(int).tolist()
            seen.add((env, episode, age))
            rewards, end = story.episodes[env, episode]
            left = rewards[age : age + n_step]
            assert drawn[k, : len(left)].tolist() == pytest.approx(left, rel=1e-6)
            assert not drawn[k, len(left) :].any()
            assert counts[k] == len(left)
            last = age + len(left) == len(rewards)
            assert terminated[k] == (last and end == [True])
            for stack, newest in ((observation, age), (following, age + len(left))):
                assert (stack[k, :, :2] == [env, episode]).all()
                ages = stack[k, :, 2].astype(int).tolist()
                assert ages[-1] == newest
                pairs = list(itertools.pairwise(ages))
                assert all(b - a in (0, 1) for a, b in pairs)
                # A step is repeated only at the beginning of the episode or of what is stored.
                repeated = [a for a, b in pairs if a == b]
                assert all(a == ages[0] for a in repeated)
                if ages[0] > 0 and repeated:
                    assert steps > length
        assert len(seen) == len(buffer)  # all that is stored is drawn

    def test_is_drawn_uniformly(self):
        buffer = ReplayBuffer(50, 2, 3, 1)
        Story(buffer, 2, 25, np.random.default_rng(0))
        drawn = buffer.sample(50_000).observation[:, -1]
        _, counts = torch.unique(drawn, dim=0, return_counts=True)
        assert len(counts) == 50
        assert (counts - 1_000).abs().max() < 5 * math.sqrt(1_000)

    def test_goes_on_from_its_state(self):
        one, other = (ReplayBuffer(60, 2, 3, 1, n_step=3) for _ in range(2))
        Story(one, 2, 47, np.random.default_rng(0))
        other.load_state_dict(one.state_dict())
        assert_same_batch(*samples(99, one, other))


def brute_force_projection(support, probabilities, reward, discount):
    """Bellemare et al. (2017), algorithm 1, one atom after the other."""
    low, high = support[0], support[-1]
    spacing = support[1] - support[0]
    m = np.zeros(len(support))
    for z, p in zip(support, probabilities, strict=True):
        b = (min(max(reward + discount * z, low), high) - low) / spacing
        lower, upper = math.floor(b), math.ceil(b)
        if lower == upper:
            m[lower] += p
        else:
            m[lower] += p * (upper - b)
            m[upper] += p * (b - lower)
    return m


class TestCritics:
    def test_a_projection_is_that_of_the_paper(self):
        critic = critics.Categorical(TD3Config(atoms=11, value_min=-2, value_max=8))
        outputs, reward = torch.randn(6, 4, 11), 6 * torch.randn(6, 4)
        discount = torch.rand(6, 4)
        target = critic.backup(outputs, reward, discount)
        support = np.linspace(-2, 8, 11)
        for i, h in itertools.product(range(6), range(4)):
            p = outputs[i, h].double().softmax(-1).numpy()
            wanted = brute_force_projection(support, p, float(reward[i, h]), float(discount[i, h]))
            np.testing.assert_allclose(target[i, h].numpy(), wanted, atol=1e-5)

    def test_a_projection_keeps_the_mean(self):
        """Closed form: reward + discount * mean, where nothing is cut off at the support's ends."""
        critic = critics.Categorical(TD3Config(atoms=101))
        outputs = torch.randn(50, 101)
        reward, discount = 1 - torch.rand(50), 0.99 * torch.rand(50)
        target = critic.backup(outputs, reward, discount)
        torch.testing.assert_close(target.sum(-1), torch.ones(50))
        mean = target @ torch.linspace(0, 100, 101)
        torch.testing.assert_close(mean, reward + discount * critic.value(outputs))

    def test_where_nothing_follows_the_reward_is_left(self):
        critic = critics.Categorical(TD3Config(atoms=101))
        target = critic.backup(torch.randn(1, 101), torch.tensor([2.25]), torch.zeros(1))
        wanted = torch.zeros(1, 101)
        wanted[0, 2], wanted[0, 3] = 0.75, 0.25
        torch.testing.assert_close(target, wanted)

    def test_the_cross_entropy(self):
        critic = critics.Categorical(TD3Config(atoms=5))
        outputs, target = torch.randn(7, 5), torch.rand(7, 5).softmax(-1)
        wanted = functional.cross_entropy(outputs, target, reduction="none")
        torch.testing.assert_close(critic.loss(outputs, target), wanted)

    def quantile_loss(self, outputs, target):
        """Dabney et al. (2018), equation 10, by all pairs; outputs and targets (..., size)."""
        error = target[..., None, :] - outputs[..., :, None]
        huber = functional.huber_loss(error, torch.zeros_like(error), reduction="none")
        levels = (torch.arange(outputs.shape[-1]) + 0.5) / outputs.shape[-1]
        weight = (levels[:, None] - (error < 0).to(error.dtype)).abs()
        return (weight * huber).mean(-1).sum(-1)

    @pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
    def test_the_quantile_loss_is_that_of_the_paper(self, scale):
        """Values and gradients, of two critics with three heads against one target."""
        critic = critics.Quantile(TD3Config(atoms=7))
        outputs = (80 + scale * torch.randn(2, 4, 3, 7)).requires_grad_()
        target = 80 + scale * torch.randn(4, 3, 9)
        target[0, 0, :4] = outputs.detach()[0, 0, 0, :4]  # where pieces meet
        loss, wanted = critic.loss(outputs, target), self.quantile_loss(outputs, target)
        torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6)
        slopes = [torch.autograd.grad(x.sum(), outputs)[0] for x in (loss, wanted)]
        torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-6)

    @pytest.mark.slow
    def test_quantiles_are_found(self):
        """Closed form: the middles of equal parts of a uniform distribution from 0 to 100."""
        critic = critics.Quantile(TD3Config(atoms=4))
        outputs = torch.zeros(1, 4, requires_grad=True)
        target = torch.linspace(0, 100, 2_001)[None]
        optimizer = torch.optim.SGD([outputs], lr=50)
        for _ in range(500):
            optimizer.zero_grad()
            critic.loss(outputs, target).sum().backward()
            optimizer.step()
        wanted = torch.tensor([[12.5, 37.5, 62.5, 87.5]])
        torch.testing.assert_close(outputs.detach(), wanted, atol=0.5, rtol=0)

    @pytest.mark.parametrize("name", ["mean", "quantile"])
    def test_a_backup_moves_the_value(self, name):
        critic = critics.make_critic(TD3Config(critic=name, atoms=7))
        outputs, reward, discount = torch.randn(9, critic.size), torch.randn(9), torch.rand(9)
        moved = critic.value(critic.backup(outputs, reward, discount))
        torch.testing.assert_close(moved, reward + discount * critic.value(outputs))


class TestDiscounts:
    def test_are_those_of_the_paper(self):
        heads, k, largest = 10, 0.01, 0.99
        found = discounts.hyperbolic_discounts(heads, k, largest)
        base = math.exp(math.log(1 - largest ** (1 / k)) / heads)
        np.testing.assert_allclose(found, [(1 - base**i) ** k for i in range(1, heads + 1)])
        assert found == sorted(found)
        assert found[-1] == pytest.approx(largest)

    @pytest.mark.parametrize("k", [0.05, 0.1, 0.5])
    def test_weighted_they_are_hyperbolic(self, k):
        largest = 0.9999
        gammas = np.array(discounts.hyperbolic_discounts(2_000, k, largest))
        weights = np.array(discounts.hyperbolic_weights(2_000, k, largest))
        assert weights.sum() == pytest.approx(1)
        for t in (0, 1, 3, 10, 30, 100):
            assert (weights * gammas**t).sum() == pytest.approx(1 / (1 + k * t), abs=2e-3)

    def test_what_the_actor_maximises(self):
        def of_heads(acting_value):
            return discounts.of_heads(replace(hyperbolic, acting_value=acting_value))[1]

        hyperbolic = TD3Config(discounting="hyperbolic", heads=4, hyperbolic_k=0.1)
        assert of_heads("largest") == [0, 0, 0, 1]
        assert of_heads("mean") == [0.25] * 4
        assert of_heads("hyperbolic") == discounts.hyperbolic_weights(4, 0.1, 0.99)
        assert discounts.of_heads(TD3Config(discount=0.9, heads=4)) == ([0.9], [1.0])

    def test_heads_that_are_all_alike_are_refused(self):
        with pytest.raises(ConfigError, match="hyperbolic_k"):
            discounts.of_heads(
                TD3Config(discounting="hyperbolic", discount=0.5, hyperbolic_k=0.001)
            )


class TestNormalizer:
    def test_has_the_statistics_of_all_observations(self):
        normalizer, parts = Normalizer(3), [5 + 2 * torch.randn(n, 3) for n in (4, 1, 30)]
        for part in parts:
            normalizer.update(part)
        whole = torch.cat(parts).double()
        mean, deviation = normalizer.scale()
        torch.testing.assert_close(mean, whole.mean(0).float())
        torch.testing.assert_close(deviation, whole.std(0, correction=0).float() + FLOOR)

    def test_weights_multiply_what_is_normalised(self):
        normalizer, plain = Normalizer(3, limit=1.0), Normalizer(3)
        weights, x = torch.tensor([1.0, 0.5, 2.0]), torch.randn(9, 3)
        normalizer.weigh(weights)
        for each in (normalizer, plain):
            each.update(x)
        torch.testing.assert_close(normalizer(x), (plain(x) * weights).clamp(-1, 1))
        again = Normalizer(3, limit=1.0)
        again.load_state_dict(normalizer.state_dict())
        assert torch.equal(again(x), normalizer(x))

    def test_without_it_observations_stay(self):
        normalizer = Normalizer(3, enabled=False)
        normalizer.update(torch.randn(9, 3))
        x = torch.randn(2, 3)
        assert torch.equal(normalizer(x), x)


class TestPolicy:
    @pytest.mark.parametrize("layer_norm", [True, False])
    @pytest.mark.parametrize("history", [1, 3])
    def test_acts_as_the_network(self, layer_norm, history, tmp_path):
        settings = TD3Config(hidden=(16, 8), layer_norm=layer_norm, history=history, num_envs=5)
        agent = algorithms.find("td3")(settings, 4, 2)
        agent.normalizer.update(3 + torch.randn(20, 4))
        low, high = np.array([-1.0, 0.0], np.float32), np.array([1.0, 5.0], np.float32)
        agent.policy(low, high).save(tmp_path / "policy.npz")
        loaded = policy.load(tmp_path / "policy.npz")
        seen = [torch.randn(5, 4) for _ in range(4)]
        for k, now in enumerate(seen):
            found = loaded(now.numpy())
            stack = torch.stack([seen[max(i, 0)] for i in range(k - history + 1, k + 1)], 1)
            with torch.no_grad():
                action = agent.actor(agent.normalizer(stack)).numpy()
            np.testing.assert_allclose(found, low + (action + 1) / 2 * (high - low), atol=1e-5)
        loaded.begin()
        again = loaded(seen[0].numpy())
        loaded.begin()
        assert np.array_equal(loaded(seen[0].numpy()), again)
        loaded.begin()
        assert np.array_equal(loaded(seen[0][2].numpy()), again[2])

    def test_a_row_does_not_depend_on_the_others(self):
        agent = algorithms.find("td3")(TD3Config(), 24, 6)
        acting = agent.policy(np.full(6, -1.0, np.float32), np.ones(6, np.float32))
        rows = np.random.default_rng(0).normal(size=(100, 24)).astype(np.float32)
        whole = acting(rows)
        assert np.array_equal(whole, np.concatenate([acting(rows[:37]), acting(rows[37:])]))
        assert np.array_equal(whole, np.stack([acting(row) for row in rows]))


def test_observations_far_from_their_mean_are_clipped_in_both():
    """A number that hardly varied in training and then moves does not drown the others."""
    agent = algorithms.find("td3")(TD3Config(hidden=(8,)), 3, 2)
    agent.normalizer.update(torch.randn(500, 3) * torch.tensor([1.0, 2.0, 0.0]))
    observation = torch.tensor([[0.5, 30.0, 50.0]])
    encoded = agent.encode(observation[:, None])
    assert encoded.abs().max() == 10
    acting = agent.policy(-np.ones(2, np.float32), np.ones(2, np.float32))
    np.testing.assert_allclose(
        acting(observation.numpy()), agent.actor(encoded).detach().numpy(), atol=1e-6
    )


def _updated(algorithm, **settings):
    """An agent after an update, and how far its critics' weights moved by plain descent."""
    from mjgym_train.learn.buffer import Batch

    torch.manual_seed(0)
    cls = algorithms.find(algorithm)
    agent = cls(cls.Config(hidden=(8,), **settings), 3, 2)
    batch = Batch(
        torch.randn(16, 1, 3),
        torch.rand(16, 2),
        100 * torch.rand(16, 1),
        torch.ones(16, dtype=torch.int64),
        torch.randn(16, 1, 3),
        torch.zeros(16, dtype=torch.bool),
    )
    agent.critic_optimizer = torch.optim.SGD(agent.critics.parameters(), 1.0)
    before = torch.nn.utils.parameters_to_vector(agent.critics.parameters()).detach().clone()
    agent.update(agent.preprocess(batch))
    after = torch.nn.utils.parameters_to_vector(agent.critics.parameters()).detach()
    return agent, float((after - before).norm())


def test_gradients_are_clipped_by_their_norm():
    assert _updated("ddpg")[1] > 1
    assert _updated("ddpg", max_gradient_norm=0.25)[1] == pytest.approx(0.25, rel=1e-3)


@pytest.mark.parametrize("adapts", [True, False])
def test_a_temperature_adapts_or_stays(adapts):
    agent, _ = _updated("sac", adapt_temperature=adapts, temperature=0.2)
    assert (float(agent.alpha) == pytest.approx(0.2, rel=1e-6)) != adapts
