"""The support of a categorical critic follows the returns; what is cut off is logged."""

import pytest
import torch

from helpers.training_runs import SMALL_REPLAY, assert_equal, interrupted, trainer
from mjgym_train.learn import algorithms, critics
from mjgym_train.learn.algorithms.td3 import TD3Config

pytestmark = pytest.mark.torch


def bounds(*numbers, begun=False, **settings):
    """Bounds of a support for extremes of rewards, then of returns."""
    low, high, low_sum, high_sum = numbers
    found = critics.Categorical(TD3Config(**settings)).fitted(
        critics.ReturnRange(low, high, low_sum, high_sum), begun=begun
    )
    return tuple(round(value, 6) for value in found)


class TestBounds:
    def test_of_rewards_within_0_and_1_the_discount_alone_decides(self):
        assert critics.Categorical(TD3Config()).bounds == (0, 100)
        assert critics.Categorical(TD3Config(discount=0.995)).bounds == (0, 200)
        assert bounds(0, 0.02, 0, 0.4) == (0, 100)  # as a policy that learns will earn more

    def test_rewards_that_are_costs(self):
        assert bounds(-1, 0, -90, 0) == (-100, 0)

    def test_rewards_of_another_size(self):
        assert bounds(0, 10, 0, 600) == (0, 1000)
        assert bounds(-0.1, 100, -1, 100) == (-2, 200)  # a bonus at the end

    def test_what_is_given_stays(self):
        assert bounds(-1, 10, -90, 600, value_max=50.0) == (-100, 50)
        assert bounds(-1, 10, -90, 600, value_min=-5.0, value_max=50.0) == (-5, 50)
        assert critics.Categorical(TD3Config(value_max=0.0)).bounds == (-100, 0)

    def test_once_learning_has_begun_they_move_outwards_alone_and_far(self):
        assert bounds(-1, 0, -90, 0, begun=True) == (-100, 100)
        assert bounds(0, 1.1, 0, 55, begun=True) == (0, 200)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["td3", "d4pg"])
@pytest.mark.parametrize("new", [(-50.0, 250.0), (0.0, 300.0)])
def test_what_has_been_learned_stays_when_a_support_grows(algorithm, new):
    """Values are alike, and so is the spread, up to the atoms' spacing."""
    settings = algorithms.find(algorithm).Config(
        hidden=(32,), discounting="hyperbolic", heads=2, hyperbolic_k=0.01
    )
    agent = algorithms.find(algorithm)(settings, 5, 2)
    critic, (low, high) = agent.critic, agent.critic.bounds
    with torch.no_grad():  # a bell around 60
        for body in agent.critics.bodies:
            shape = -((critic.support - 60) ** 2) / (2 * 8.0**2)
            body[-1].bias.copy_(shape.repeat(2))
            body[-1].weight.mul_(0.1)
    observation, action = torch.randn(50, 1, 5), torch.rand(50, 2)
    agent.target_critics.load_state_dict(agent.critics.state_dict())
    before = critic.value(agent.critics(observation, action))
    agent.fit_support(critics.ReturnRange(new[0], new[1], new[0], new[1]), begun=True)
    assert critic.bounds[0] <= new[0]
    assert critic.bounds[1] >= new[1]
    assert critic.bounds != (low, high)
    after = critic.value(agent.critics(observation, action))
    assert (before - after).abs().max() < critic.spacing
    assert_equal(agent.critics.state_dict(), agent.target_critics.state_dict())


class Costs:
    """Rewards of a run, shifted and scaled."""

    def __init__(self, made, scale, shift):
        self.step, self.scale, self.shift = made.collector.envs.step, scale, shift

    def __call__(self, action):
        observation, reward, *rest = self.step(action)
        return observation, self.scale * reward + self.shift, *rest


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "shift"), [(1, -1), (10, 0)])
def test_targets_are_not_cut_off(scale, shift, tmp_path):
    made = trainer(tmp_path / "run", *SMALL_REPLAY, algorithm="td3", steps=240)
    made.collector.envs.step = Costs(made, scale, shift)
    made.train()
    clipped = [m.value for m in made.run_folder.metrics() if "clipped_target" in m.metric]
    assert clipped
    assert max(clipped) < 0.01
    low, high = made.agent.critic.bounds
    assert low <= made.range.lowest_return
    assert high >= made.range.highest_return


@pytest.mark.slow
def test_a_support_that_is_too_small_is_warned_of(tmp_path):
    made = trainer(
        tmp_path / "run", *SMALL_REPLAY, "value_max=5", "value_min=4", algorithm="td3", steps=240
    )
    with pytest.warns(UserWarning, match=r"% of the critic's target lies outside its support"):
        made.train()


@pytest.mark.weekly
def test_a_run_with_a_moving_support_resumes_bit_for_bit(tmp_path):
    def started(folder, **given):
        made = trainer(folder, *SMALL_REPLAY, algorithm="td3", steps=240, **given)
        made.collector.envs.step = Costs(made, 30, -20)
        return made

    whole, second = interrupted(tmp_path, at=140, make=started)
    assert whole.agent.critic.bounds == second.agent.critic.bounds
    assert whole.agent.critic.bounds[1] > 100
    assert whole.range == second.range
