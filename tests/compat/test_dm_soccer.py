"""dm_control's soccer: matches by its loader, and its parts on Composer."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("dm_env")

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.locomotion import soccer


@pytest.mark.parametrize("kind", soccer.WalkerType)
def test_matches_of_all_walkers_are_loaded(kind):
    env = soccer.load(1, time_limit=0.1, random_state=3, walker_type=kind)
    step = env.reset()
    while not step.last():
        step = env.step([spec.generate_value() for spec in env.action_spec()])
    assert len(step.observation) == 2
    assert step.discount == 1.0


def _match(size, goal=None, team_size=1):
    players = [
        soccer.Player(team, soccer.BoxHead(name=f"{team.name}{k}", walker_id=k))
        for team in soccer.Team
        for k in range(team_size)
    ]
    return soccer.Task(players, soccer.Pitch(size, goal_size=goal))


def test_a_match_of_entities_steps_as_the_registered_match():
    registered = gymnasium.make_vec(
        "soccer/boxhead-2v2-v0", observation="dict", dtype="float64", autoreset_mode="Disabled"
    )
    registered.reset(seed=2)
    view = registered.unwrapped.view
    corner = np.ravel(view.site("away_goal_upper").xpos)
    field = np.ravel(view.site("field_upper").xpos)
    half = (float(corner[0]), float(field[1] + corner[0] - field[0]))
    task = _match(half, team_size=2)
    environment = composer.Environment(task, random_state=0, strip_singleton_obs_buffer_dim=True)
    environment.reset()
    physics = environment.physics
    with physics.reset_context():
        physics.data.qpos[:] = np.ravel(view.qpos)
        physics.data.qvel[:] = np.ravel(view.qvel)
    rng = np.random.default_rng(0)
    for _ in range(5):
        actions = rng.uniform(-1, 1, (4, 3))
        observations, rewards, *_ = registered.step(actions)
        step = environment.step(list(actions))
        np.testing.assert_array_equal(step.reward, rewards)
        for k, seen in enumerate(step.observation):
            assert set(seen) == set(observations)
            for name, value in seen.items():
                if name == "sensors_accelerometer":  # of the new state here
                    continue
                np.testing.assert_allclose(
                    np.ravel(value), np.ravel(observations[name][k]), rtol=0, atol=1e-6,
                    err_msg=name,
                )  # fmt: skip


def _send_ball(environment, velocity):
    environment.reset()
    ball, physics = environment.task.ball, environment.physics
    ball.set_pose(physics, (0.0, 0.0, 0.5))
    ball.set_velocity(physics, velocity=velocity)
    for k, player in enumerate(environment.task.players):
        player.walker.set_pose(physics, (2.0, 4.0 * (2 * k - 1), 0.0))


@pytest.mark.parametrize(("towards", "scorer"), [(50.0, 0), (-50.0, 1)])
def test_a_goal_ends_the_match_for_both_teams(towards, scorer):
    environment = composer.Environment(_match((12, 9)), time_limit=2.0, random_state=1)
    _send_ball(environment, (towards, 0.0, 0.0))
    step = environment.step([np.zeros(3)] * 2)
    while not step.last():
        assert list(step.reward) == [0, 0]
        step = environment.step([np.zeros(3)] * 2)
    assert step.discount == 0
    assert step.reward[scorer] == 1
    assert step.reward[1 - scorer] == -1
    won = [seen["stats_home_score"][0] for seen in step.observation]
    assert won == [scorer == 0, scorer == 1]


def test_a_ball_off_the_field_is_thrown_in():
    environment = composer.Environment(_match((20, 15)), time_limit=5.0, random_state=1)
    _send_ball(environment, (0.0, 60.0, 0.0))
    ball, physics = environment.task.ball, environment.physics
    for _ in range(20):
        environment.step([np.zeros(3)] * 2)
        if environment.task.arena.detected_off_court():
            break
    out = ball.get_pose(physics)[0]
    environment.step([np.zeros(3)] * 2)
    place = ball.get_pose(physics)[0]
    assert 0.69 < place[1] / out[1] < 0.91
    assert np.linalg.norm(ball.get_velocity(physics)[0][:2]) < 0.1


def test_a_pitch_is_drawn_for_each_match():
    pitch = soccer.RandomizedPitch((20, 15), (40, 30), keep_aspect_ratio=True, field_box=True)
    sizes = set()
    for seed in range(3):
        pitch.initialize_episode_mjcf(np.random.RandomState(seed))
        x, y = pitch.size
        assert x / y == pytest.approx(4 / 3)
        assert 20 <= x <= 40
        model = mjcf.Physics.from_mjcf_model(pitch.mjcf_model).model
        assert model.geom_pos[model.name2id("wall_away", "geom"), 0] == pytest.approx(x)
        sizes.add(x)
    assert len(sizes) == 3


def test_the_physics_of_a_loaded_match_is_a_copy_of_its_present_state():
    env = soccer.load(1, random_state=0)
    env.reset()
    start = env.physics.data.qpos.copy()
    size = env.physics.model.geom_size.copy()
    env.physics.data.qpos[:] = 0.0
    env.step([spec.generate_value() for spec in env.action_spec()])
    assert env.physics.time() == pytest.approx(env.control_timestep())
    np.testing.assert_allclose(env.physics.data.qpos, start, atol=0.1)
    env.reset()
    assert env.physics.time() == 0.0
    assert env.physics.model.ncam > 1
    assert not np.array_equal(env.physics.model.geom_size, size)  # another pitch
