"""Targets of critics, beside sums written out."""

import pytest
import torch

from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.buffer import Batch

pytestmark = pytest.mark.torch

SIZE, ACTIONS = 3, 2


def made(algorithm, *settings):
    cls = algorithms.find(algorithm)
    return cls(config.read(cls.Config, (), ["hidden=[8]", *settings]), SIZE, ACTIONS)


def batch_of(rewards, steps, terminated):
    torch.manual_seed(0)
    count = len(rewards)
    return Batch(
        observation=torch.randn(count, 1, SIZE),
        action=torch.rand(count, ACTIONS),
        rewards=torch.tensor(rewards),
        steps=torch.tensor(steps),
        following=torch.randn(count, 1, SIZE),
        terminated=torch.tensor(terminated),
    )


BATCH = batch_of(
    rewards=[[1.0, 2.0, 4.0], [3.0, 5.0, 0.0], [7.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
    steps=[3, 2, 1, 3],
    terminated=[False, False, True, True],
)


@pytest.mark.parametrize("settings", [(), ("discounting=hyperbolic", "heads=3")])
def test_returns_over_several_steps(settings):
    agent = made("td3", "discount=0.9", "n_step=3", *settings)
    rewards, following = agent.returns(BATCH)
    for row in range(4):
        for head, discount in enumerate(agent.discounts):
            steps, ended = BATCH.steps[row], BATCH.terminated[row]
            total = sum(BATCH.rewards[row, k] * discount**k for k in range(steps))
            assert rewards[row, head] == pytest.approx(total.item(), rel=1e-5)
            expected = 0.0 if ended else (discount**steps).item()
            assert following[row, head] == pytest.approx(expected, rel=1e-5)


def test_a_soft_value_has_the_entropy_of_what_follows():
    agent = made("sac", "critic=mean", "discount=0.9", "n_step=3")
    targets = []
    for alpha in (0.5, 1e-12):
        agent.log_alpha.data.fill_(alpha).log_()
        torch.manual_seed(1)
        targets.append(agent.target(BATCH)[..., 0])
    torch.manual_seed(1)
    _, log_density = agent.sample(BATCH.following)
    _, following = agent.returns(BATCH)
    more = targets[0] - targets[1]
    assert torch.allclose(more, -0.5 * following * log_density[:, None].detach(), atol=1e-5)
    assert more[:2].abs().min() > 1e-3
    assert (more[2:] == 0).all()  # nothing follows


@pytest.mark.parametrize("count", [1, 2, 3])
def test_targets_take_the_lowest_of_td3s_critics(count):
    agent = made("td3", f"critics={count}", "critic=mean", "n_step=3", "target_noise=0")
    outputs = agent.target_critics(BATCH.following, agent.target_actor(BATCH.following))
    assert len(outputs) == count
    rewards, following = agent.returns(BATCH)
    expected = rewards + following * outputs[..., 0].min(0).values
    assert torch.allclose(agent.target(BATCH)[..., 0], expected)
