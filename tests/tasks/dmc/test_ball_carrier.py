"""The script that carries a ball with the planar arm."""

import numpy as np
import pytest

from helpers.scripted import FORM, assert_drives_one_as_many
from mjgym import VectorEnv
from mjgym.tasks.dmc import ball_carrier
from mjgym.tasks.dmc.manipulator import Ball

COUNT = 32


@pytest.fixture(scope="module")
def rewards():
    """Rewards of whole episodes, (steps, environments)."""
    envs = VectorEnv(Ball(), COUNT, **FORM)
    observation, _ = envs.reset(seed=0)
    found = []
    for _ in range(999):
        observation, reward, *_ = envs.step(ball_carrier.carry(observation))
        found.append(reward)
    envs.close()
    return np.array(found)


def test_most_balls_are_brought_to_the_target_and_stay_there(rewards) -> None:
    assert (rewards[-100:].min(0) > 0.8).mean() > 0.9


def test_it_takes_a_few_seconds(rewards) -> None:
    assert rewards.sum(0).mean() > 700


def test_rates_move_the_grip_as_wanted_and_straighten_the_arm_otherwise() -> None:
    rng = np.random.default_rng(0)
    task, wanted = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 3))
    free = rng.normal(size=(5, 4))
    rates = ball_carrier._rates(task, wanted, free)
    np.testing.assert_allclose((task @ rates[..., None])[..., 0], wanted, atol=0.05)
    aside = rates - free  # the least change
    for one, change in zip(task, aside, strict=True):
        left = np.linalg.svd(one)[2][3]  # what moves nothing
        assert abs(left @ change) < 1e-9


def test_one_environment_is_driven_as_many_are() -> None:
    assert_drives_one_as_many(Ball(), 60)


def test_it_is_for_balls_that_it_sees() -> None:
    assert Ball(insert=True).scripted_policy() is None
    with pytest.raises(ValueError, match="fully_observable: the script has to see the ball"):
        Ball(fully_observable=False).scripted_policy()


def test_the_distance_to_links_is_that_to_the_nearest_of_their_points() -> None:
    rng = np.random.default_rng(1)
    point, ends = rng.normal(size=(5, 2)), rng.normal(size=(5, 4, 2))
    share = np.linspace(0, 1, 10_001)[:, None]
    dense = ends[:, :-1, None] * (1 - share) + ends[:, 1:, None] * share
    nearest = np.linalg.norm(point[:, None, None] - dense, axis=-1).min((1, 2))
    np.testing.assert_allclose(ball_carrier._distance(point, ends)[:, 0], nearest, atol=1e-6)
