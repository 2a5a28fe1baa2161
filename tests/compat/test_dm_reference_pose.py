"""Rewards for following recorded motion, under dm_control's names."""

import numpy as np
import pytest

from mjgym_compat.dm_control.locomotion.tasks.reference_pose import rewards

QUARTER = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])  # a quarter turn
HERE = {
    "center_of_mass": np.zeros(3),
    "joints_velocity": np.zeros(2),
    "appendages": np.zeros(6),
    "body_quaternions": np.array([[1.0, 0, 0, 0], [0, 0, 0, 2]]),
}
THERE = {
    "center_of_mass": np.array([0.3, 0, 0]),
    "joints_velocity": np.array([1.0, 2]),
    "appendages": np.full(6, 0.1),
    "body_quaternions": np.array([QUARTER, [0, 0, 0, -1]]),
}


def test_differences_are_summed_and_quaternions_are_angles():
    squared = rewards.compute_squared_differences(HERE, THERE, exclude_keys=("appendages",))
    assert squared == pytest.approx(
        {"center_of_mass": 0.09, "joints_velocity": 5.0, "body_quaternions": (np.pi / 4) ** 2}
    )


def test_terms_are_weighted_and_the_two_rewards_are_averaged():
    pose = rewards.get_reward("multi_term_pose_reward")(
        walker_features=HERE, reference_features=THERE
    )
    assert pose.reward_terms == pytest.approx(
        {
            "appendages": 0.15 * np.exp(-40 * 0.06),
            "body_quaternions": 0.65 * np.exp(-2 * (np.pi / 4) ** 2),
            "center_of_mass": 0.1 * np.exp(-10 * 0.09),
            "joints_velocity": np.exp(-0.1 * 5),
        }
    )
    comic = rewards.get_reward("comic")(
        termination_error=0.1,
        termination_error_threshold=0.4,
        walker_features=HERE,
        reference_features=THERE,
    )
    assert comic.reward == pytest.approx(0.5 * 0.75 + 0.5 * pose.reward)
    assert comic.reward == pytest.approx(sum(comic.reward_terms.values()))
    assert tuple(comic.reward_terms) == rewards.get_reward_channels("comic")


def test_a_wrong_name_names_the_nearest():
    with pytest.raises(ValueError, match="comic"):
        rewards.get_reward("comix")
