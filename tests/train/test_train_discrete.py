"""DQN, Rainbow and REINFORCE against updates by hand, and prioritised replay."""

import numpy as np
import pytest
import torch

from helpers.lanes import mostly_nightly
from helpers.stories import Story, assert_same_batch, samples
from mjgym.policies import network
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.action_distributions import Categorical, bins_of, values_of
from mjgym_train.learn.algorithms.dqn import DQN, DQNConfig
from mjgym_train.learn.algorithms.rainbow import Rainbow, RainbowConfig
from mjgym_train.learn.algorithms.reinforce import Reinforce, ReinforceConfig
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.networks import NoisyLinear
from mjgym_train.learn.prioritized import FLOOR, PrioritizedBuffer, SumTree
from mjgym_train.learn.rollout import Rollout

pytestmark = pytest.mark.torch

B, M, SIZE, N = 7, 2, 4, 3


def batch(bins, weight=None):
    """Random transitions over up to three steps."""
    steps = torch.randint(1, N + 1, (B,))
    rewards = torch.randn(B, N) * (torch.arange(N) < steps[:, None])
    action = values_of(torch.randint(bins, (B, M)), bins)
    place = None if weight is None else torch.arange(B)
    return Batch(
        torch.randn(B, 1, SIZE), action, rewards, steps, torch.randn(B, 1, SIZE),
        torch.rand(B) < 0.4, weight=weight, place=place,
    )  # fmt: skip


def q_of(agent, critics, observation):
    """Mean utilities of a plain network, (M, bins), for one observation."""
    outputs = critics.bodies[0](observation.flatten())
    outputs = outputs.view(M, -1)
    if agent.config.dueling:
        outputs = outputs[:, :1] + outputs[:, 1:] - outputs[:, 1:].mean(1, keepdim=True)
    return outputs


class TestDQN:
    @pytest.mark.parametrize("dueling", [False, True])
    @pytest.mark.parametrize("double", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_an_update_by_hand(self, double, dueling, weighted):
        settings = DQNConfig(
            hidden=(8,), bins=5, double=double, dueling=dueling, discount=0.9, target_rate=0.1
        )
        agent = DQN(settings, SIZE, M)
        for parameter in agent.target_critics.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        weight = torch.rand(B) if weighted else None
        made = batch(5, weight)
        losses, errors = [], []
        for k in range(B):
            later = q_of(agent, agent.target_critics, made.following[k])
            choosing = q_of(agent, agent.critics, made.following[k]) if double else later
            best = choosing.argmax(1)
            n = int(made.steps[k])
            y = sum(0.9**i * made.rewards[k, i] for i in range(n))
            if not made.terminated[k]:
                y = y + 0.9**n * sum(later[j, best[j]] for j in range(M)).detach() / M
            now = q_of(agent, agent.critics, made.observation[k])
            index = [round(float(a + 1) / 2 * 4) for a in made.action[k]]
            q = sum(now[j, index[j]] for j in range(M)) / M
            errors.append(abs(float((q - y).detach())))
            losses.append((1.0 if weight is None else weight[k]) * (q - y) ** 2)
        loss = sum(losses) / B
        wanted = torch.autograd.grad(loss, list(agent.critics.parameters()))
        before = [p.clone() for p in agent.target_critics.parameters()]
        found = agent.update(made)
        assert float(found["critic_loss"]) == pytest.approx(float(loss.detach()), rel=1e-5)
        for parameter, gradient in zip(agent.critics.parameters(), wanted, strict=True):
            torch.testing.assert_close(parameter.grad, gradient, atol=1e-6, rtol=1e-4)
        for target, old, new in zip(
            agent.target_critics.parameters(), before, agent.critics.parameters(), strict=True
        ):
            torch.testing.assert_close(target, old + 0.1 * (new - old))
        if weighted:
            torch.testing.assert_close(agent.losses, torch.tensor(errors))

    def test_the_mixture_of_distributions_has_the_mean_utility(self):
        agent = Rainbow(RainbowConfig(hidden=(8,), noisy=False, atoms=11), SIZE, M)
        observation = torch.randn(B, 1, SIZE)
        utilities = agent.utilities(agent.critics, observation) + torch.randn(B, M, 3, 11)
        index = torch.randint(3, (B, M))
        outputs = agent.joint(utilities, index)
        torch.testing.assert_close(outputs.exp().sum(-1), torch.ones(B, 1))
        means = agent.critic.value(utilities).gather(2, index[..., None])[..., 0]
        torch.testing.assert_close(agent.critic.value(outputs)[:, 0], means.mean(1))

    def test_targets_are_copied_once_in_a_period(self):
        agent = DQN(DQNConfig(hidden=(8,), target_period=3), SIZE, M)
        same = []
        for _ in range(6):
            agent.update(batch(3))
            pairs = zip(agent.target_critics.parameters(), agent.critics.parameters(), strict=True)
            same.append(all(torch.equal(*pair) for pair in pairs))
        assert same == [False, False, True] * 2

    @pytest.mark.parametrize("critic", mostly_nightly(["mean", "categorical", "quantile"], quick=3))
    @pytest.mark.parametrize("dueling", [False, True])
    def test_the_kept_policy_acts_alike(self, critic, dueling, tmp_path):
        settings = DQNConfig(hidden=(8, 8), bins=4, critic=critic, atoms=7, dueling=dueling)
        agent = DQN(settings, SIZE, M)
        for _ in range(20):
            agent.update(batch(4))
        low, high = np.array([0.0, -2.0], np.float32), np.array([1.0, 2.0], np.float32)
        agent.policy(low, high).save(tmp_path / "policy.npz")
        policy = network.load(tmp_path / "policy.npz")
        observation = torch.randn(100, 1, SIZE)
        action = agent.mean_action(observation).numpy()
        wanted = low + (action + 1) / 2 * (high - low)
        np.testing.assert_allclose(policy(observation[:, 0].numpy()), wanted, atol=1e-6)
        assert len(np.unique(wanted[:, 1])) > 1

    def test_the_share_of_random_actions(self):
        agent = DQN(DQNConfig(hidden=(8,), epsilon=0.3), SIZE, M)
        seen = torch.randn(1, 1, SIZE).expand(5000, -1, -1)
        differ = (agent.act(seen) != agent.mean_action(seen)).any(1).float().mean()
        assert float(differ) == pytest.approx(0.3 * (1 - 1 / 9), abs=0.03)
        numbers = agent.random_action(3000)
        assert sorted(set(numbers.flatten().tolist())) == [-1, 0, 1]

    def test_bins_are_the_nearest_values(self):
        assert bins_of(torch.tensor([-1.0, -0.6, -0.1, 0.9]), 5).tolist() == [0, 1, 2, 4]
        assert values_of(torch.arange(5), 5).tolist() == [-1, -0.5, 0, 0.5, 1]
        with pytest.raises(ConfigError, match="bins: must be at least 2"):
            config.read(algorithms.find("dqn").Config, (), ["bins=1"])


def test_noisy_layers_by_hand():
    layer = NoisyLinear(3, 2)
    with torch.no_grad():
        layer.weight_sigma.uniform_()
        layer.bias_sigma.uniform_()
    x = torch.randn(4, 3)
    torch.manual_seed(1)
    found = layer(x)
    torch.manual_seed(1)
    inward, outward = torch.randn(4, 3), torch.randn(4, 2)
    for k in range(4):
        f, g = (e[k].sign() * e[k].abs().sqrt() for e in (inward, outward))
        weight = layer.weight + layer.weight_sigma * torch.outer(g, f)
        torch.testing.assert_close(found[k], weight @ x[k] + layer.bias + layer.bias_sigma * g)
    torch.testing.assert_close(layer.eval()(x), x @ layer.weight.T + layer.bias)


class TestReinforce:
    def test_an_update_by_hand(self):
        settings = ReinforceConfig(hidden=(8,), discount=0.9, entropy_weight=0.1,
                                   max_gradient_norm=1e9)  # fmt: skip
        agent = Reinforce(settings, SIZE, M)
        observation = torch.randn(6, 2, 1, SIZE)
        latent, log_density = agent.draw(observation)
        ended = torch.tensor([[0, 0], [0, 1], [1, 0], [0, 0], [1, 0], [0, 0]]).bool()
        reward = torch.randn(6, 2)
        made = Rollout(observation, latent, log_density, reward, observation, ended, ended)
        steps, returns = [], []
        for i, ends in enumerate(([2, 4], [1])):
            first = 0
            for end in ends:
                for t in range(first, end + 1):
                    steps.append((t, i))
                    returns.append(sum(0.9 ** (k - t) * reward[k, i] for k in range(t, end + 1)))
                first = end + 1
        gains = torch.stack(returns)
        gains = (gains - gains.mean()) / gains.std(correction=0)
        loss = torch.zeros(())
        for (t, i), gain in zip(steps, gains, strict=True):
            logits = agent.actor.body(observation[t, i].flatten()).view(M, 3)
            policy = torch.distributions.Categorical(logits=logits)
            density = policy.log_prob((latent[t, i] + 1).long()).sum()
            loss = loss - (density * gain + 0.1 * policy.entropy().sum()) / len(steps)
        wanted = torch.autograd.grad(loss, list(agent.actor.parameters()))
        (losses,) = agent.update(made)
        assert float(losses["loss"]) == pytest.approx(float(loss.detach()), rel=1e-4)
        for parameter, gradient in zip(agent.actor.parameters(), wanted, strict=True):
            torch.testing.assert_close(parameter.grad, gradient, atol=1e-6, rtol=1e-4)

    def test_choices_are_drawn_by_their_probabilities(self):
        logits = torch.tensor([[0.0, 1.0, 2.0]])
        drawn = Categorical(logits.expand(20_000, 1, 3)).draw()
        shares = torch.stack([(drawn == value).float().mean() for value in (-1, 0, 1)])
        torch.testing.assert_close(shares, logits[0].softmax(0), atol=0.02, rtol=0)


class TestPrioritizedReplay:
    def test_the_tree_draws_in_proportion(self):
        tree = SumTree(5)
        tree.set(np.array([0, 2, 3]), np.array([1.0, 3.0, 4.0]))
        tree.set(np.array([3]), 2.0)
        assert tree.total == 6
        drawn = tree.draw((np.arange(600) + 0.5) / 600)
        assert np.bincount(drawn, minlength=5).tolist() == [100, 0, 300, 200, 0]

    def filled(self, steps=30, size=40, eviction=0.0, exponent=0.6):
        buffer = PrioritizedBuffer(
            size, 2, 3, 1, exponent=exponent, importance=0.5, eviction=eviction, n_step=2
        )
        Story(buffer, 2, steps, np.random.default_rng(0))
        return buffer

    def test_new_ones_have_the_largest_priority_and_others_their_loss(self):
        buffer = self.filled(10)
        drawn = buffer.sample(2000)
        assert drawn.weight.eq(1).all()
        losses = torch.arange(20.0)
        buffer.prioritize(torch.arange(20), losses)
        drawn = buffer.sample(50_000)
        chance = (losses.double() + FLOOR) ** 0.6
        chance = (chance / chance.sum()).float()
        shares = drawn.place.bincount(minlength=20) / 50_000
        torch.testing.assert_close(shares, chance, atol=0.01, rtol=0.1)
        weight = (20 * chance[drawn.place]) ** -0.5
        torch.testing.assert_close(drawn.weight, weight / weight.max())

    def test_places_are_those_of_the_transitions(self):
        buffer = self.filled(70)  # the ring has gone round
        assert len(buffer) == 40
        drawn = buffer.sample(300)
        kept = buffer._arrays["observation"][drawn.place]
        assert torch.equal(drawn.observation[:, 0], kept)

    def test_a_full_one_forgets_what_has_little_loss(self):
        buffer = self.filled(20, eviction=2.0)
        assert len(buffer) == 40
        losses = torch.where(torch.arange(40) % 2 == 0, 10.0, 0.1)
        buffer.prioritize(torch.arange(40), losses)
        for _ in range(8):
            step = {name: array[:2] for name, array in buffer._arrays.items()}
            buffer.add(**step)
        assert len(buffer) == 40
        left = buffer._losses[:40] > 0
        assert left[0::2].all()
        assert left[1::2].sum() == 20 - 16

    def test_goes_on_from_its_state(self):
        buffer, other = self.filled(33, eviction=0.6), self.filled(5, eviction=0.6)
        buffer.prioritize(buffer.sample(16).place, torch.rand(16))
        other.load_state_dict(buffer.state_dict())
        assert_same_batch(*samples(50, buffer, other))

    def test_goes_with_neither_hindsight_nor_data_nor_ensembles(self):
        for other in ("her=true", "data=mine", "ensemble=[{}, {}]"):
            with pytest.raises(ConfigError, match="priority_exponent: goes with none of her"):
                config.read(algorithms.find("d4pg").Config, (), ["priority_exponent=1", other])
