"""The rules of a match: its start, the ball in and out, goals, hits, and what keywords change."""

import math

import gymnasium
import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.locomotion_records import STATISTIC, spread
from helpers.soccer_records import record, sized, task
from mjgym import Env, VectorEnv
from mjgym.task.models import compile_model
from mjgym.tasks.locomotion.soccer.soccer import (
    BALL_HEIGHT,
    FARTHEST,
    NEAREST,
    NOBODY,
    SPREAD,
    THROWS,
    Soccer,
)

MATCHES = 1000


def match(**fields):
    """One match with the home team as an agent, started, and the view of it."""
    env = Env(Soccer(**{"team_size": 1, "opponent": "still", **fields}))
    env.reset(seed=0)
    return env, env.view


def put_ball(env, place, velocity=(0.0, 0.0, 0.0), height=BALL_HEIGHT):
    """Write the ball's place (x, y) and velocity."""
    state = env.get_state()
    state["qpos"][:3] = *place, height
    state["qvel"][:6] = *velocity, 0, 0, 0
    state["memory.out"] = np.array(False)
    env.set_state({name: state[name] for name in ("qpos", "qvel", "memory.out")})


def stay(env):
    return env.step(np.zeros(env.action_space.shape))


def field_of(env):
    return np.array(env.view.site("field_upper").pos[:2])


@pytest.mark.slow
def test_starts_are_uniform():
    env, v = match(team_size=2)
    task = env.task
    seen = []
    for seed in range(MATCHES):
        env.reset(seed=seed)
        half = np.array([v.geom("wall_away").pos[0], v.geom("wall_left").pos[1]])
        places = [v.qpos[:2]] + [
            [v.joint(f"{p}root_{axis}/").qpos[0] for axis in "xy"] for p in task.prefixes
        ]
        turns = [v.joint(f"{p}steer").qpos[0] for p in task.prefixes]
        seen.append(np.concatenate([half, (np.array(places) / half).ravel(), turns]))
    seen = np.array(seen)
    (low_x, low_y), (high_x, high_y) = task.ground.smallest, task.ground.largest
    assert spread(seen[:, 0], low_x, high_x) < STATISTIC
    assert spread(seen[:, 1], low_y, high_y) < STATISTIC
    for column in seen[:, 2:12].T:
        assert spread(column, -SPREAD, SPREAD) < STATISTIC
    for column in seen[:, 12:].T:
        assert spread(column, -math.pi, math.pi) < STATISTIC
    # No draw tells of another one: correlations of n numbers are below 4 / sqrt(n).
    between = np.corrcoef(seen.T) - np.eye(seen.shape[1])
    assert np.abs(between).max() < 4 / math.sqrt(MATCHES)


@pytest.mark.slow
def test_starts_of_the_records_are_of_the_same_distribution():
    """Two samples, of 16 recorded starts and of ours: Kolmogorov and Smirnov's largest distance."""
    for name in ("boxhead_2v2", "ant_1v1", "humanoid_1v1"):
        z, of = record(name), task(name)
        envs = VectorEnv(of, 50)
        ours = []
        for seed in range(6):
            envs.reset(seed=100 * seed)
            v = envs.view
            half = np.stack([v.geom("wall_away").pos[:, 0], v.geom("wall_left").pos[:, 1]], axis=1)
            ours.append(np.concatenate([v.qpos, half], axis=1))
        envs.close()
        ours = np.concatenate(ours)
        theirs = np.concatenate([z["start_qpos"], z["start_pitch"]], axis=1)
        for column in range(ours.shape[1]):
            a, b = np.sort(ours[:, column]), np.sort(theirs[:, column])
            if np.ptp(b) == 0:
                np.testing.assert_allclose(a, b[0])
                continue
            every = np.concatenate([a, b])
            below = [np.searchsorted(x, every, side="right") / len(x) for x in (a, b)]
            distance = np.abs(below[0] - below[1]).max()
            n = len(a) * len(b) / (len(a) + len(b))
            assert distance * math.sqrt(n) < 2.3, (name, column)  # of 200 columns, all


@pytest.mark.slow
def test_a_start_with_players_in_each_other_or_in_the_ball_is_drawn_again():
    small = {"pitch": ((8.0, 7.0), (8.0, 7.0)), "goal": (0.6, 1.8, 0.6), "team_size": 4}
    touching = {}
    for frees_ball in (True, False):
        env, v = match(**small, frees_ball=frees_ball)
        touching[frees_ball] = 0
        for seed in range(40):
            env.reset(seed=seed)
            pairs = v.body_rootid[v.geom_bodyid[v.contact.geom]][v.contact.dist <= 0]
            movers = [v.body(prefix).id for prefix in env.task.prefixes]
            ball = v.body("ball").id
            players = np.isin(pairs, movers)
            assert not (players.all(axis=1) & (pairs[:, 0] != pairs[:, 1])).any()
            touching[frees_ball] += int((players.any(axis=1) & (pairs == ball).any(axis=1)).any())
    assert touching[True] == 0
    assert touching[False] > 0  # as the published framework leaves it


@pytest.mark.parametrize("walker", mostly_slow(["boxhead", "ant"], 2))
def test_players_that_do_not_collide_still_touch_ball_and_ground(walker):
    touched = {}
    for collide in (True, False):
        env, v = match(walker=walker, collide=collide)
        here, there = (v.body(prefix).id for prefix in env.task.prefixes)
        for walker_there in env.task.creatures:
            walker_there.stand(v, (1.0, 1.0, -0.05))
        v.joint("ball").qpos[:3] = 1.0, 1.0, 0.3
        v.detect_contacts()
        pairs = v.body_rootid[v.geom_bodyid[v.contact.geom]][v.contact.dist <= 0]
        touched[collide] = {frozenset(pair.tolist()) for pair in pairs}
        ball = v.body("ball").id
        assert {frozenset((here, ball)), frozenset((there, 0))} <= touched[collide]
    assert frozenset((here, there)) in touched[True]
    assert frozenset((here, there)) not in touched[False]


def test_a_ball_that_leaves_the_field_is_thrown_in_with_the_next_step():
    env, v = match()
    field = field_of(env)
    put_ball(env, (3.0, field[1] - 0.01), (0.0, 8.0, 0.0))
    _, reward, terminated, _, _ = stay(env)
    assert (reward, terminated) == (0, False)
    assert v.memory["out"]
    place = np.array(v.geom("ball").xpos[:2])
    share = v.userdata[: 2 * THROWS].reshape(-1, 2)[0]
    stay(env)
    assert not v.memory["out"]
    assert v.memory["throws"] == 1
    np.testing.assert_allclose(v.qpos[:2], place * share, atol=1e-6)
    # It has fallen for one control step, from where it is put at the start as well.
    fallen = 9.81 * 0.005**2 * 15
    np.testing.assert_allclose(v.qpos[2], BALL_HEIGHT - fallen, atol=1e-6)
    assert (np.abs(v.qvel[:2]) < 1e-6).all()


def test_throws_are_drawn_between_70_and_90_percent():
    _, v = match()
    shares = v.userdata[: 2 * THROWS]
    assert spread(shares, NEAREST, FARTHEST) < STATISTIC


def test_who_throws_in_more_often_than_was_drawn_begins_again():
    env, v = match()
    field = field_of(env)
    env.set_state({"memory.throws": np.array(THROWS + 1.0)})
    put_ball(env, (0.0, field[1] + 0.5))
    stay(env)
    place = np.array(v.geom("ball").xpos[:2])
    share = v.userdata[: 2 * THROWS].reshape(-1, 2)[1]
    stay(env)
    np.testing.assert_allclose(v.qpos[:2], place * share, atol=1e-6)


@pytest.mark.parametrize(("side", "reward"), [(1, 1.0), (-1, -1.0)])
def test_a_goal_ends_the_match(side, reward):
    env, v = match()
    mouth = field_of(env)[0]
    put_ball(env, (side * (mouth - 0.02), 0.0), (side * 6.0, 0.0, 0.0))
    _, got, terminated, truncated, info = stay(env)
    assert (got, terminated, truncated) == (reward, True, False)
    assert info["success"] == (reward > 0)
    assert v.memory["out"]


def test_a_goal_between_two_physics_steps_counts():
    """What is inside for one physics step alone scores."""
    env, v = match()
    mouth = field_of(env)[0]
    put_ball(env, (mouth + 0.02, 0.0), (-10.0, 0.0, 0.0))  # it leaves: 0.05 m a step
    _, reward, terminated, _, _ = stay(env)
    assert (reward, terminated) == (0, False)
    put_ball(env, (mouth + 0.08, 0.0), (-10.0, 0.0, 0.0))
    _, reward, terminated, _, _ = stay(env)
    assert v.geom("ball").xpos[0] < mouth
    assert (reward, terminated) == (1.0, True)


def test_over_the_goal_and_beside_it_is_out():
    env, v = match()
    _, width, height = env.task.ground.goal_size(
        (v.geom("wall_away").pos[0], v.geom("wall_left").pos[1])
    )
    mouth = field_of(env)[0]
    for y, z in ((width + 1.0, BALL_HEIGHT), (0.0, 2 * height + 1.0)):
        put_ball(env, (mouth + 0.5, y), height=z)
        _, reward, terminated, _, _ = stay(env)
        assert (reward, terminated) == (0, False)
        assert v.memory["out"]


def test_a_match_may_go_on_after_a_goal():
    env, v = match(ends_on_goal=False)
    mouth = field_of(env)[0]
    put_ball(env, (mouth - 0.02, 0.0), (6.0, 0.0, 0.0))
    _, reward, terminated, _, _ = stay(env)
    assert (reward, terminated) == (1.0, False)
    _, reward, terminated, _, _ = stay(env)
    assert (reward, terminated) == (0.0, False)
    assert abs(v.qpos[0]) < mouth


def test_who_hits_the_ball_is_remembered_until_it_is_out():
    env, v = match()
    place = np.array(v.body("away_0/head_body").xpos[:2])
    put_ball(env, place + np.array([0.66, 0.0]), (-3.0, 0.0, 0.0), height=0.0)
    stay(env)
    assert v.memory["hit"] == 1  # the second player: away_0
    assert v.memory["last_player"] == 1
    put_ball(env, place + np.array([5.0, 0.0]), height=0.0)
    stay(env)
    stay(env)
    assert v.memory["hit"] == NOBODY
    assert v.memory["last_player"] == 1
    put_ball(env, (0.0, field_of(env)[1] + 1.0))
    stay(env)
    stay(env)
    assert v.memory["last_player"] == NOBODY


def test_a_closed_field_keeps_the_ball_in_and_lets_players_through():
    speeds = {}
    for box in (True, False):
        env, v = match(box=box)
        field = field_of(env)
        put_ball(env, (5.0, field[1] - 1.0), (0.0, 30.0, 0.0))
        for _ in range(8):
            stay(env)
        speeds[box] = v.qvel[1]
        if box:
            assert abs(v.geom("ball").xpos[1]) < field[1]
        mouth = field[0]
        put_ball(env, (mouth - 0.5, 0.0), (30.0, 0.0, 0.0))
        assert any(stay(env)[2] for _ in range(4))  # goals stay open
        model = env.model
        walls = [i for i in range(model.ngeom) if model.geom(i).name.startswith("box_")]
        assert len(walls) == 9 * box
        for wall in walls:
            for other in range(model.ngeom):
                met = (model.geom_contype[wall] & model.geom_conaffinity[other]) or (
                    model.geom_contype[other] & model.geom_conaffinity[wall]
                )
                assert bool(met) == (model.geom(other).name == "ball")
    assert speeds[True] < 0 < speeds[False] or speeds[False] == 0


def test_keep_aspect_ratio_draws_length_and_width_together():
    env, v = match(keep_aspect_ratio=True)
    for seed in range(5):
        env.reset(seed=seed)
        assert v.geom("wall_away").pos[0] / v.geom("wall_left").pos[1] == pytest.approx(4 / 3)


def test_pitches_by_players_grow_with_the_teams():
    for size in (1, 2, 11):
        ground = Soccer(pitch="by_players", goal=(0.61, 1.83, 0.61), team_size=size).ground
        areas = [4 * x * y for x, y in (ground.smallest, ground.largest)]
        np.testing.assert_allclose(areas, [2 * size * 100, 2 * size * 350])


@pytest.mark.parametrize("half", [(32.0, 24.0), (40.0, 36.0), (5.6, 4.8)])
def test_the_stand_sees_the_whole_pitch(half):
    """Its corners, and those of the goals, are within a picture of 4 to 3."""
    goal = (0.6, 1.5, 0.65)
    env, v = match(pitch=(half, half), goal=goal, opponent="random")
    camera = v.camera("stand")
    x, y, z = (np.array(camera.xmat[i::3]) for i in range(3))
    tangent = math.tan(math.radians(env.model.camera("stand").fovy[0]) / 2)
    corners = [(*half, 0.0), (half[0], goal[1], 2 * goal[2])]  # of the pitch, and over a goal
    for point in corners:
        for signs in ((1, 1, 1), (1, -1, 1), (-1, 1, 1), (-1, -1, 1)):
            seen = np.multiply(point, signs) - camera.xpos
            depth = -seen @ z
            assert abs(seen @ x) / depth < tangent * 4 / 3
            assert abs(seen @ y) / depth < tangent
    assert env.task.viewpoint == ("stand" if half[0] < 25 else "follow")


def test_posts_join_at_any_size():
    """Ends of the posts of a goal meet, as they do in the compiled model of that very size."""
    half = (41.0, 30.0)
    moved = sized(compile_model(Soccer()), Soccer(), half)
    direct = Soccer(pitch=(half, half)).model().compile()
    for i in range(direct.ngeom):
        name = direct.geom(i).name
        if "goal_" in name or "net" in name:
            np.testing.assert_allclose(
                moved.geom(name).pos, direct.geom(name).pos, atol=1e-12, err_msg=name
            )
            np.testing.assert_allclose(
                moved.geom(name).size, direct.geom(name).size, atol=1e-12, err_msg=name
            )
            np.testing.assert_allclose(
                moved.geom(name).quat, direct.geom(name).quat, atol=1e-12, err_msg=name
            )
    assert moved.ngeom == direct.ngeom


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"team_size": 0}, "team_size: must be from 1 to 11, got 0"),
        ({"team_size": 12}, "team_size"),
        ({"team_size": 2.5}, r"team_size must be a whole number, got 2\.5"),
        ({"goal": 3}, "goal must be a sequence of 3, each a number or None, got 3"),
        ({"goal": (1, 2)}, r"goal must be a sequence of 3.* got \(1, 2\)"),
        ({"goal": (-1, 2, 1)}, "goal: expected half of its sizes"),
        ({"ball": "tennis"}, "ball: 'tennis' is none of large, regulation"),
        ({"pitch": "huge"}, "pitch: 'huge' is neither"),
        ({"pitch": (3, 4)}, "pitch must be text or a sequence of 2"),
        ({"pitch": ((40, 30), (30, 40))}, "pitch: .* is larger"),
        ({"pitch": ((4, 3), (5, 4))}, "pitch: goals leave no field"),
        ({"opponent": "strong"}, "opponent: 'strong' is none of still, random, scripted"),
        ({"opponent": "scripted", "walker": "ant"}, "'scripted' plays with boxheads, not"),
        ({"opponent": "helpers.opponents:nobody"}, "opponent: .* no 'nobody'"),
        ({"walker": "boxhed"}, "walker: no 'boxhed'.*boxhead"),
    ],
)
def test_bad_arguments_are_refused_by_name(fields, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gymnasium.make("soccer/boxhead-1v1-v0", **fields)


def test_an_opponent_must_return_actions():
    env = gymnasium.make("soccer/boxhead-1v1-v0", opponent="helpers.opponents:waits")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert env.unwrapped.view.ctrl[5] > 0  # they kick
    with pytest.raises(
        ValueError, match=r"opponent: helpers.opponents:confused returned shape \(1, 77\)"
    ):
        gymnasium.make("soccer/boxhead-1v1-v0", opponent="helpers.opponents:confused")


@pytest.mark.slow
def test_a_random_opponent_is_uniform_and_repeats_with_its_seed():
    envs = gymnasium.make_vec("soccer/boxhead-2v2-v0", num_envs=8, opponent="random")
    acting = []
    for _ in range(2):
        envs.reset(seed=5)
        played = []
        for _ in range(60):
            envs.step(np.zeros(envs.action_space.shape, np.float32))
            played.append(envs.view.ctrl[:, 6:].copy())
        acting.append(np.array(played))
        assert not envs.view.ctrl[:, :6].any()
    assert np.array_equal(*acting)
    assert spread(acting[0], -1, 1) < STATISTIC
    by_player = np.moveaxis(acting[0], 0, -1).reshape(-1, 60)
    apart = np.corrcoef(by_player) - np.eye(len(by_player))
    assert np.abs(apart).max() < 5 / math.sqrt(60)
    envs.close()


@pytest.mark.parametrize(
    "walker",
    mostly_slow(
        [
            *("rolling_ball", "jumping_ball", "rodent", "cmu_humanoid_2020", "ant"),
            "helpers.extending.hexapod:Hexapod",
        ],
        6,
    ),
)
def test_any_walker_plays(walker):
    env = gymnasium.make("soccer/boxhead-1v1-v0", walker=walker)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for _ in range(3):
        observation, *_ = env.step(env.action_space.sample())
    assert np.isfinite(observation).all()
    env.close()


@pytest.mark.slow
def test_eleven_play_eleven():
    envs = gymnasium.make_vec("soccer/boxhead-1v1-v0", num_envs=1, team_size=11)
    observations, info = envs.reset(seed=0)
    assert len(observations) == 22
    assert info["number"].tolist() == [*range(11), *range(11)]
    observations, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(observations).all()
    envs.close()


@pytest.mark.slow
def test_the_nearest_to_the_ball_is_so_in_space():
    """A player above the ball is not as near as it looks from above."""
    envs = gymnasium.make_vec(
        "soccer/boxhead-2v2-v0", num_envs=1, observation="dict", dtype="float64"
    )
    envs.reset(seed=0)
    state, model = envs.get_state(), envs.matches.model
    state["qpos"][0, :3] = (0.0, 0.0, 0.5)  # of the ball, m
    for number, (x, height) in enumerate([(1.0, 3.0), (2.0, 0.0)]):
        for axis, value in (("x", x), ("y", 0.0), ("z", height)):
            joint = model.joint(f"home_{number}/root_{axis}/")
            state["qpos"][0, joint.qposadr[0]] = value
            state["qvel"][0, joint.dofadr[0]] = -1.0 if axis == "x" else 0.0
    seen = envs.set_state(state)
    np.testing.assert_allclose(seen["stats_vel_to_ball"][0, :2, 0], 1.0, atol=1e-6)
    np.testing.assert_allclose(seen["stats_closest_vel_to_ball"][0, :2, 0], [0.0, 1.0], atol=1e-6)
    envs.close()
