"""The training that walks to sinks: its starts, its rewards, and what its policy sees."""

import dataclasses
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from helpers.lanes import lane
from mjgym.envs.vector import VectorEnv
from mjgym.tasks.l2m.reflex import START
from mjgym.tasks.l2m.walk import FORWARD, RIGHT, STRAIGHT, OpenSimWalk, placed

pytest.importorskip("torch")
pytest.importorskip("yaml")
sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

import bundle_policy
import learn_to_move
from learn_to_move import FromPublished, ToSinks, resting, states_of

from mjgym_train import evaluation

COUNT = 8


@pytest.fixture
def states(tmp_path, hooks_in_numpy):
    """A folder of states: a walker in START that has gone on for 0.1 s, and one that stands."""
    folder = tmp_path
    envs = VectorEnv(OpenSimWalk(init_pose=START), 1, threads=1)
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(np.full((1, 22), 0.05))
    np.save(folder / "walking.npy", states_of(envs))
    standing = [resting(*placed(STRAIGHT))]
    np.save(folder / "standing.npy", standing)
    np.save(folder / "initial.npy", standing)
    return folder


def begun(states, **arguments):
    envs = VectorEnv(ToSinks(states=str(states), **arguments), COUNT, threads=1)
    envs.reset(seed=3)
    return envs


def test_a_walker_goes_on_from_a_recorded_state(states):
    recorded = np.load(states / "walking.npy")
    envs = begun(states)
    found = states_of(envs)
    places = [FORWARD, RIGHT]
    np.testing.assert_array_equal(found[:, places], 0.0)
    np.testing.assert_allclose(
        np.delete(found, places, 1), np.delete(recorded, places, 1)[[0] * COUNT]
    )
    near, far = learn_to_move.NEAR
    distance = np.hypot(*envs.view.memory["sink"].T)
    assert (distance >= near).all()
    assert (distance <= far).all()
    # The next step is that of the walker which was recorded.
    other = VectorEnv(OpenSimWalk(init_pose=START), 1, threads=1)
    other.reset(seed=0)
    for _ in range(11):
        other.step(np.full((1, 22), 0.05))
    envs.step(np.full((COUNT, 22), 0.05))
    after, there = states_of(envs), states_of(other)
    np.testing.assert_allclose(
        np.delete(after, places, 1)[0], np.delete(there, places, 1)[0], atol=1e-5
    )


@lane(2, 3)
@pytest.mark.parametrize(
    ("shares", "farthest"),
    [({"initial": 1.0}, 7.0), ({"standing": 1.0, "farthest": 0.3}, 0.3)],
)
def test_a_walker_that_stands_sees_a_sink_anywhere(states, shares, farthest):
    envs = begun(states, **shares)
    fresh = VectorEnv(OpenSimWalk(), 1, threads=1)
    fresh.reset(seed=0)
    np.testing.assert_allclose(states_of(envs), states_of(fresh)[[0] * COUNT], atol=1e-12)
    sink = envs.view.memory["sink"]
    distance = np.hypot(*sink.T)
    assert (distance <= farthest).all()
    assert ("initial" not in shares) or (distance >= 5).all()
    assert (sink < 0).any(axis=0).all()
    assert (sink > 0).any(axis=0).all()


def test_what_a_step_pays(states):
    """Most at the sink, and for walking there."""
    envs = begun(states)
    task, view = envs.task, envs.view
    position = task._position(view).copy()
    velocity = task._velocity(view)
    ahead = velocity / np.hypot(*velocity.T)[:, None]
    speed = np.hypot(*velocity.T)[0]
    for away, near, towards in (
        (0.0, 0.3, 0.0),
        (0.3, 0.15, 0.2 * min(speed / 1.2 * 0.3 / 0.5, 1)),
        (3.0, 0.3 / 101, 0.2 * min(speed / 1.2, 1)),
    ):
        view.memory["sink"][:] = position + away * ahead
        terms = task.terms(view)
        np.testing.assert_allclose(terms["near"], near, rtol=1e-9)
        np.testing.assert_allclose(terms["towards"], towards, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(terms["alive"], 0.1)
        assert (terms["effort"] < 0).all()


@pytest.mark.slow
def test_a_sink_that_is_not_renewed_stays(states):
    assert (begun(states).view.memory["stay"] > 1e5).all()
    assert (begun(states, renewed=True).view.memory["stay"] <= 4).all()


@lane(0, 3)
@pytest.mark.compiled
def test_the_published_observation_tells_as_much(compiled_forces):
    """Of walkers that turn by the reflexes: the sink, and the leans along the heading."""
    known = OpenSimWalk(init_pose=START, seen_field="sink", longest_step=0.002)
    envs = VectorEnv(dataclasses.replace(known, seen_field="map"), 4, threads=1)
    other = VectorEnv(known, 4, threads=1)
    reflexes = envs.task.scripted_policy()
    shown = FromPublished(None)
    observation, _ = envs.reset(seed=5)
    wanted, _ = other.reset(seed=5)
    for _ in range(250):
        found = shown.seen(observation)
        np.testing.assert_allclose(found[:, :2], wanted[:, :2], atol=0.02)
        np.testing.assert_allclose(found[:, 2:], wanted[:, 2:], atol=0.02)
        action = reflexes(observation)
        observation, wanted = envs.step(action)[0], other.step(action)[0]
    heading = envs.view.qpos[:, envs.model.joint("pelvis_rotation").qposadr[0]]
    assert np.abs(heading).max() > 0.2


def test_what_is_seen_of_a_sink(hooks_in_numpy):
    """The way to it in the walker's axes, and leans along them; 2 m at most."""
    env = gymnasium.make("l2m/walk_around-v0", seen_field="sink", dtype="float64")
    plain = gymnasium.make("l2m/walk_around-v0", dtype="float64")
    (seen, _), (whole, _) = env.reset(seed=0), plain.reset(seed=0)
    assert seen.shape == (99,)
    assert np.hypot(*seen[:2]) == pytest.approx(2.0)
    sink = env.unwrapped.view.memory["sink"]
    np.testing.assert_allclose(seen[:2], 2 * sink / np.hypot(*sink))
    np.testing.assert_allclose(seen[2:], whole[242:], atol=1e-12)  # it heads ahead
    labels = env.unwrapped.describe()["observation"]
    assert [entry["name"] for entry in labels][:3] == ["forward", "leftward", "height"]
    assert env.unwrapped.task.scripted_policy() is None


@pytest.mark.nightly
def test_all_stages_follow_each_other(tmp_path, monkeypatch):
    """Each learns for some seconds, and the policy of the last is scored on the id."""
    fewer = {"WALKERS": 4, "WALK_STEPS": 60, "STOPPED": 4, "STOP_FIRST": 10, "STOP_STEPS": 40}
    small = ("hidden=[8,8]", "learning_starts=50", "evaluations=1", "evaluation_episodes=2")
    fewer["SETTINGS"] = ("action_repeat=4", "num_envs=4", "keep_buffer=true", "threads=1", *small)
    stages = learn_to_move.STAGES.items()
    fewer["STAGES"] = {name: dataclasses.replace(stage, minutes=0.1) for name, stage in stages}
    for name, value in fewer.items():
        monkeypatch.setattr(learn_to_move, name, value)
    score, seeds = bundle_policy._score, evaluation.SEEDS[:2]
    monkeypatch.setattr(bundle_policy, "_score", lambda *given: score(*given[:2], seeds))
    found = learn_to_move.bundled(learn_to_move.train(tmp_path))
    assert found.about.id == learn_to_move.SCORED
    assert found.policy.mean.shape == (99,)
    assert found.about.updates > 0
