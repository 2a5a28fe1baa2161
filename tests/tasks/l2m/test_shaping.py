"""The shaping rewards of Learn to Move, against values by hand."""

import gymnasium
import numpy as np
import pytest

from helpers.lanes import lane
from mjgym.tasks.l2m import shaping

AHEAD = np.array([1.4, 0.0])
SHAPED = {
    f"{name}_reward": 1.0
    for name in ("vector", "speed", "direction", "target", "crossing_legs", "knee_bend")
}


@pytest.mark.parametrize(
    ("velocity", "vector", "speed", "direction"),
    [
        ((1.4, 0.0), 1.0, 1.0, 1.0),
        ((0.0, 1.4), 1 - 2 * 1.4**2 / 9, 1.0, 0.5),
        ((-1.4, 0.0), 1 - 2.8**2 / 9, 1.0, 0.0),
        ((-1.6, 0.0), 0.0, 1 - 0.2**2 / 9, 0.0),  # 3 m/s off
        ((4.0, 3.0), 1 - (2.6**2 + 9) / 9, 0.0, 1 - (0.2**2 + 0.6**2) / 4),  # 5 m/s
    ],
)
def test_rewards_of_velocities(velocity, vector, speed, direction):
    velocity = np.array(velocity)
    assert shaping.vector(velocity, AHEAD) == pytest.approx(max(vector, 0.0), abs=1e-12)
    assert shaping.speed(velocity, AHEAD) == pytest.approx(max(speed, 0.0), abs=1e-12)
    assert shaping.direction(velocity, AHEAD) == pytest.approx(direction, abs=1e-12)


def test_speed_and_direction_are_met_at_the_sink():
    backwards, distances = np.array([[-1.0, 0.0]] * 2), np.array([0.29, 0.31])
    for reward in (shaping.speed, shaping.direction):
        at, off = reward(backwards, AHEAD, distances)
        assert at == 1.0 > off == pytest.approx(reward(backwards[0], AHEAD))


def test_standing_still_has_a_finite_direction():
    still = np.zeros(2)
    assert shaping.direction(still, AHEAD) == pytest.approx(0.75)
    assert shaping.direction(still, still) == 1.0


def test_the_sink_is_worth_more_the_closer_it_is():
    worth = shaping.target(np.array([0.0, 4.0, 8.0, 20.0]))
    np.testing.assert_allclose(worth, [1.0, 0.25, 0.0, 0.0])


def test_legs_that_cross_are_worth_less():
    head = np.array([-1.0, 0.0, 10.0])  # leaning back a little
    apart = np.array([0.0, 0.2, -1.0]), np.array([0.0, -0.2, -1.0])
    # The normal to the legs points backwards, and forwards when they cross.
    cosine = 1 / np.hypot(1, 10)
    assert shaping.crossing_legs(*apart, head) == pytest.approx(0.2 + cosine)
    assert shaping.crossing_legs(*apart[::-1], head) == pytest.approx(0.2 - cosine)
    assert shaping.crossing_legs(*apart, np.array([-1.0, 0.0, 1.0])) == pytest.approx(0.3)


def test_bent_knees_add_up_and_stretched_ones_do_not_count():
    assert shaping.knee_bend(np.array([-0.5, -0.25])) == pytest.approx(0.75)
    assert shaping.knee_bend(np.array([-0.5, 0.1])) == pytest.approx(0.5)


@lane(0, 3)
@pytest.mark.parametrize("id", ["l2m/walk_around-fast-v0", "l2m/walk_around-v0"])
def test_terms_are_of_the_state_weighted_and_alike_in_a_batch(id):
    bent = (0.0, 0.0, 0.94, 0.0, 0.0, 0.0, -0.4, 0.0, 0.0, 0.0, -0.2, 0.0)
    env = gymnasium.make(id, dtype="float64", init_pose=bent, **SHAPED)
    weighted = dict.fromkeys(SHAPED, 2.0)
    envs = gymnasium.make_vec(id, num_envs=2, dtype="float64", init_pose=bent, **weighted)
    env.reset(seed=3)
    envs.reset(seed=3)
    _, reward, _, _, info = env.step(np.zeros(22))
    _, _, _, _, infos = envs.step(np.zeros((2, 22)))
    terms = {name: info[f"terms/{name.removesuffix('_reward')}"] for name in SHAPED}
    for name, value in terms.items():
        assert infos[f"terms/{name.removesuffix('_reward')}"][0] == pytest.approx(2 * value)
    assert reward == pytest.approx(0.1 + sum(terms.values()))
    view = env.unwrapped.view
    pelvis = view.body("pelvis").xpos
    away = np.hypot(*(view.memory["sink"] - pelvis[:2]))
    assert 5 < away < 7
    assert terms["target_reward"] == pytest.approx((1 - away / 8) ** 2)
    assert terms["knee_bend_reward"] == pytest.approx(0.6, abs=0.02)
    left, right, head = (view.body(x).xpos - pelvis for x in ("toes_l", "toes_r", "head"))
    normal = np.cross(left, right)
    cosine = normal @ head / np.linalg.norm(normal) / np.linalg.norm(head)
    assert terms["crossing_legs_reward"] == pytest.approx(0.2 + min(cosine, 0.1))


def test_shaping_is_off_by_default_and_a_sink_is_needed():
    env = gymnasium.make("l2m/walk_forward-fast-v0")
    env.reset(seed=0)
    info = env.step(np.zeros(22))[4]
    assert {name for name in info if name.startswith("terms/")} == {
        "terms/alive", "terms/footstep", "terms/velocity", "terms/effort", "terms/finish"
    }  # fmt: skip
    with pytest.raises(ValueError, match="target_reward: there is no sink"):
        gymnasium.make("l2m/walk_forward-fast-v0", target_reward=1.0)
