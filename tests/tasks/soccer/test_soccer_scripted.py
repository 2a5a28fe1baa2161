"""The scripted player against others."""

import gymnasium
import numpy as np
import pytest

from mjgym.tasks.locomotion.soccer import scripted

ID = "soccer/boxhead-1v1-v0"
MATCHES = 50
ENOUGH = 40  # of them


def played(**kwargs):
    """Rewards of matches of the scripted player, as the home team, until it has won enough."""
    envs = gymnasium.make_vec(
        ID, MATCHES, observation="dict", dtype="float64", autoreset_mode="Disabled", **kwargs
    )
    observations, _ = envs.reset(seed=0)
    scores, over = np.zeros(MATCHES), np.zeros(MATCHES, dtype=bool)
    while not over.all() and (scores > 0).sum() < ENOUGH:
        own = {name.removeprefix("home_0/"): value for name, value in observations.items()}
        observations, rewards, terminations, truncations, _ = envs.step(scripted.player(own))
        scores[~over] += rewards[~over]
        ended = terminations | truncations
        over |= ended
        if ended.any() and not over.all():
            observations, _ = envs.reset(options={"reset_mask": ended})
    envs.close()
    return scores


@pytest.mark.slow
def test_it_beats_random_play():
    scores = played(opponent="random")
    assert (scores > 0).sum() >= ENOUGH
    assert (scores < 0).sum() <= 2


@pytest.mark.slow
def test_as_an_opponent_it_scores_against_who_stands_still():
    envs = gymnasium.make_vec(ID, 8, opponent="scripted")
    envs.reset(seed=0)
    lost = np.zeros(8, dtype=bool)
    for _ in range(800):
        _, rewards, terminations, _, _ = envs.step(np.zeros(envs.action_space.shape, np.float32))
        lost |= terminations & (rewards < 0)
    assert lost.sum() >= 5
    envs.close()


def test_it_turns_to_the_ball_and_runs():
    seen = {
        "ball_ego_position": np.array([[10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, -10.0, 0.0]]),
        "opponent_goal_mid": np.array([[30.0, 0.0, 2.0], [0.0, 30.0, 2.0], [0.0, -30.0, 2.0]]),
        "sensors_gyro": np.zeros((3, 3)),
        "sensors_velocimeter": np.zeros((3, 3)),
    }
    roll, steer, kick = scripted.player(seen).T
    assert roll[0] == -1  # forward
    assert steer[0] == 0
    assert steer[1] < 0 < steer[2]  # to the left, to the right
    assert not kick.any()
