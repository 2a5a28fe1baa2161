"""The task of "Learn to Move": observations, footsteps, rewards and ends, against recorded ones."""

import dataclasses

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers import walk_records
from helpers.lanes import lane, mostly_slow
from helpers.walk_records import NAMES, episodes, field_state, states, task
from mjgym.sim import Single
from mjgym.task.models import compile_model
from mjgym.tasks.l2m.reflex import START
from mjgym.tasks.l2m.walk import (
    BODY_WEIGHT,
    COORDINATES,
    FALLEN,
    FINISH,
    FOOTSTEP,
    LEG,
    MUSCLES,
    SINK,
    OpenSimWalk,
)

SHORT = [name for name in NAMES if name != "planar"]
FIELD = 2 * 11 * 11  # numbers of the observation
CLOSE, FIELD_CLOSE = 1e-6, 1e-5
VELOCITY_CLOSE = 15 * 1e-6  # of fibres, in optimal lengths a second: 1e-6 of the greatest velocity


def fibre_velocities():
    """Where the observation has them."""
    leg = 11 + 3 * 11
    return np.array([FIELD + 9 + leg * i + 11 + 3 * k + 2 for i in (0, 1) for k in range(11)])


@pytest.mark.parametrize("name", mostly_slow(NAMES, ["reflex"]))
def test_observations_of_recorded_states(name):
    recorded = episodes()[name]
    rows = slice(None, None, 1 if len(recorded["q"]) < 200 else 10)
    wanted = recorded["obs"][rows].copy()
    envs = walk_records.environments(name, len(wanted))
    envs.reset(seed=0)
    observed = envs.unwrapped.set_state(states(name, rows))
    envs.close()
    assert observed.shape == (len(wanted), 339)
    np.testing.assert_allclose(observed[:, :FIELD], wanted[:, :FIELD], atol=FIELD_CLOSE)
    velocities = fibre_velocities()
    others = np.setdiff1d(np.arange(FIELD, 339), velocities)
    if name == "planar":
        # The start's speed to the right is still there, though nothing moves that way.
        assert recorded["u"][0, COORDINATES.index("pelvis_tz")] == -wanted[0, FIELD + 4] == 0.5
        wanted[0, FIELD + 4] = 0.0
    np.testing.assert_allclose(observed[:, others], wanted[:, others], rtol=0, atol=CLOSE)
    # Slack fibres at their shortest have velocities that OpenSim sets by hand.
    off = np.abs(observed[:, velocities] - wanted[:, velocities])
    assert (off < VELOCITY_CLOSE).mean() > 0.98
    assert name == "rest" or off.max() < VELOCITY_CLOSE


class Feed:
    """A task's hooks on the states of an episode, one after the other, without any physics."""

    def __init__(self, own, field=None, timestep=0.01):
        self.task, self.timestep = own, timestep
        self.simulation = Single(compile_model(own))
        self.view = self.simulation.view
        self.field = field or {}
        self.steps = 0

    def begin(self, **state):
        self._write(**state)
        self.view.memory = self.view.owned(self.task.memory(self.view))
        self.view.memory.update(self.view.owned(self.field))
        self._write(**state)

    def _write(self, q, u, a, fibre):
        self.simulation.restore_defaults()
        self.task.body.place(self.view, q, u)
        self.view.time = self.steps * self.timestep
        self.simulation.forward()
        if self.view.memory:
            self.view.memory["muscle_activation"] = a.copy()
            self.view.memory["muscle_fibre_length"] = fibre.copy()

    def step(self, **state):
        self.steps += 1
        self._write(**state)
        terms = self.task.terms(self.view)
        reward = self.task.reward(terms)
        ended = self.task.terminated(self.view)
        well = self.task.success(self.view)
        self.view.memory.update(self.view.owned(self.task.update(self.view)))
        return terms, float(reward), bool(ended), bool(well)


def instants(recorded):
    names = {"q": "q", "u": "u", "a": "a", "fibre": "fiber_length"}
    for t in range(len(recorded["q"])):
        yield {ours: recorded[theirs][t] for ours, theirs in names.items()}


@pytest.mark.parametrize("name", mostly_slow(NAMES, ["reflex"]))
def test_footsteps_rewards_and_ends_of_recorded_episodes(name):
    recorded = episodes()[name]
    feed = Feed(task(name), field_state(name))
    first, *others = instants(recorded)
    feed.begin(**first)
    for t, instant in enumerate(others, start=1):
        _, reward, ended, _ = feed.step(**instant)
        assert reward == pytest.approx(recorded["reward"][t], abs=CLOSE), t
        assert ended == recorded["done"][t], t
        assert feed.view.memory["new_footstep"] == recorded["new"][t], t
        assert feed.view.memory["footsteps"] == recorded["footstep"][t], t


# What no recording shows.


def standing(own, forward=0.0, **coordinates):
    q, u = np.zeros((2, 17))
    q[COORDINATES.index("pelvis_ty")] = 0.94
    u[COORDINATES.index("pelvis_tx")] = forward
    for name, value in coordinates.items():
        q[COORDINATES.index(name)] = value
    activation = np.full(22, 0.1)
    return {"q": q, "u": u, "a": activation, "fibre": own.body.optimal_length}


def test_each_sink_pays_500_one_step_after_it_is_achieved():
    own = OpenSimWalk()
    feed = Feed(own)
    feed.begin(**standing(own))
    feed.view.memory["stay"] = np.array(0.025)
    x, y = feed.view.memory["sink"]
    there = standing(own, pelvis_tx=x, pelvis_tz=-y)
    paid = [float(feed.step(**there)[0]["sink"]) for _ in range(5)]
    assert paid == [0, 0, 0, SINK, 0]
    assert feed.view.memory["sinks_achieved"] == 1
    assert np.linalg.norm(feed.view.memory["sink"] - (x, y)) == pytest.approx(5)


@pytest.mark.parametrize(("difficulty", "limit"), [(3, 25.0), (0, 10.0)])
def test_what_an_episode_pays_that_ends_well(difficulty, limit):
    """The time that is left, with its penalties in Round 2 alone, and 10 in Round 1."""
    own = OpenSimWalk(difficulty=difficulty, time_limit=limit)
    feed = Feed(own)
    state = standing(own, forward=0.4)
    feed.begin(**state)
    feed.view.memory["footsteps"] = np.array(6.0)
    feed.steps = round(limit / 0.01) - 3
    for _ in range(2):
        terms, reward, ended, well = feed.step(**state)
        assert (reward, ended, well) == (pytest.approx(0.1), False, False)
    terms, reward, ended, well = feed.step(**state)
    assert (ended, well) == (False, True)
    assert terms["footstep"] == pytest.approx(FOOTSTEP * 0.03)
    if difficulty == 0:
        assert terms["finish"] == FINISH
        assert reward == pytest.approx(0.1 + FOOTSTEP * 0.03 + FINISH)
    else:
        assert terms["effort"] == pytest.approx(-0.03 * 22 * 0.01)
        assert terms["velocity"] < 0
    few = Feed(own)
    few.begin(**state)
    few.steps = round(limit / 0.01) - 1
    few.view.memory["footsteps"] = np.array(5.0)
    _, reward, _, well = few.step(**state)
    assert (reward, well) == (pytest.approx(0.1), False)
    low = dict(standing(own, pelvis_ty=FALLEN - 0.01))
    few.view.memory["footsteps"] = np.array(9.0)
    _, reward, ended, well = few.step(**low)
    assert (reward, ended, well) == (pytest.approx(0.1), True, False)


def test_weights_and_the_dense_reward():
    """A footstep at the fourth step, after 0.04 s at 0.4 m/s instead of 1.4 m/s."""

    def rewards(**fields):
        own = OpenSimWalk(difficulty=0, **fields)
        feed = Feed(own)
        state = standing(own, forward=0.4)
        feed.begin(**state)
        for _ in range(3):
            feed.step(**state)
        feed.view.memory["new_footstep"] = np.array(1.0)
        return feed.step(**state)[0]

    terms = rewards()
    assert terms["velocity"] == pytest.approx(-0.04)
    assert terms["effort"] == pytest.approx(-0.04 * 22 * 0.01)
    assert not {"pace", "progress"} & set(terms)
    terms = rewards(velocity_weight=3.0, effort_weight=0.5, dense_reward=2.0, progress_reward=3.0)
    assert terms["velocity"] == pytest.approx(-0.12)
    assert terms["effort"] == pytest.approx(-0.02 * 22 * 0.01)
    assert terms["pace"] == pytest.approx(2 * 0.1 ** ((1 / 1.4) ** 2))
    assert terms["progress"] == pytest.approx(3 * 0.4 / 1.4)


def test_arrows_are_the_target_and_the_actual_velocity():
    env = gymnasium.make("l2m/walk_forward-fast-v0", init_pose=(0.4, 0.2, 0.94, *[0] * 9))
    env.reset(seed=0)
    bare = env.unwrapped
    arrows = bare.task.arrows(bare.view)
    np.testing.assert_allclose(arrows["target"], [0, 0, 0.02, 0.7, 0, 0.02])
    np.testing.assert_allclose(arrows["actual"], [0, 0, 0.02, 0.2, -0.1, 0.02])
    env.close()


def test_the_recorded_start_pose():
    """`init_pose` is that of the recorded episode, whose muscles are in equilibrium."""
    recorded = episodes()["reflex"]["obs"][0]
    env = gymnasium.make("l2m/walk_around-v0", dtype="float64", init_pose=START)
    observed, _ = env.reset(seed=0)
    velocities = np.setdiff1d(np.arange(FIELD, 339), fibre_velocities())
    np.testing.assert_allclose(observed[velocities], recorded[velocities], atol=1e-4)
    np.testing.assert_allclose(observed[FIELD : FIELD + 9], recorded[FIELD : FIELD + 9], atol=1e-9)
    env.close()


@pytest.mark.slow
def test_an_action_is_of_the_right_leg_then_of_the_left():
    """Each excitation moves the activation of its own muscle alone."""
    env = gymnasium.make("l2m/walk_forward-v0")
    names = [a.name for a in env.unwrapped.task.actions(env.unwrapped.model)]
    assert names == [f"{side}_{name}" for side in "rl" for name in LEG]
    for i, action in enumerate(np.eye(22)):
        env.reset(seed=0)
        env.step(action)
        activation = env.unwrapped.get_state()["memory.muscle_activation"]
        side, _, name = names[i].partition("_")
        assert MUSCLES[int(np.argmax(activation))] == f"{LEG[name][0]}_{side}"
    env.close()


def test_the_dict_has_the_field_and_the_body_by_name():
    flat = gymnasium.make("l2m/walk_around-v0", dtype="float64")
    by_name = gymnasium.make("l2m/walk_around-v0", dtype="float64", observation="dict")
    a, _ = flat.reset(seed=3)
    b, _ = by_name.reset(seed=3)
    assert b["v_tgt_field"].shape == (2, 11, 11)
    np.testing.assert_array_equal(a, np.concatenate([np.ravel(x) for x in b.values()]))
    assert b["r_leg/ground_reaction_forces"].shape == (3,)
    assert list(b)[5:9] == ["r_leg/ground_reaction_forces", "r_leg/joint", "r_leg/d_joint",
                            "r_leg/HAB"]  # fmt: skip
    assert b["pelvis/height"] == 0.94
    flat.close()
    by_name.close()


@pytest.mark.parametrize(
    ("id", "difficulty", "steps", "planar"),
    [
        ("walk_around", 3, 2500, False),
        ("walk_sinks", 2, 1000, False),
        ("walk_forward", 0, 1000, False),
        ("walk_planar", 0, 2500, True),
    ],
)
def test_what_the_ids_are(id, difficulty, steps, planar):
    spec = gymnasium.spec(f"l2m/{id}-v0")
    env = gymnasium.make(spec)
    own = env.unwrapped.task
    assert (own.difficulty, own.planar, spec.max_episode_steps) == (difficulty, planar, steps)
    assert env.action_space.shape == (22,)
    assert env.observation_space.shape == (339,)
    env.close()


def test_sinks_differ_by_seed_and_not_else():
    env = gymnasium.make("l2m/walk_around-v0", dtype="float64")
    first, _ = env.reset(seed=1)
    again, _ = env.reset(seed=1)
    other, _ = env.reset(seed=2)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[:FIELD] - other[:FIELD]).max() > 0.1
    env.close()


@lane(0, 3)
@pytest.mark.parametrize("id", ["l2m/walk_forward-fast-v0", "l2m/walk_around-v0"])
def test_the_centre_of_the_field_and_the_time(id):
    """Instead of the map: 100 numbers, of which the last 97 are the same."""
    small = gymnasium.make(id, seen_field="centre", dtype="float64", time_limit=0.04)
    large = gymnasium.make(id, dtype="float64", time_limit=0.04)
    (seen, _), (whole, _) = small.reset(seed=3), large.reset(seed=3)
    script = small.unwrapped.task.scripted_policy()
    other = large.unwrapped.task.scripted_policy()
    for step in range(4):
        assert seen.shape == (100,)
        np.testing.assert_allclose(seen[:2], whole[[60, 60 + 121]], atol=1e-12)
        assert seen[2] == pytest.approx(-1 + 0.5 * step)
        np.testing.assert_array_equal(seen[3:], whole[FIELD:])
        action = script(seen)
        np.testing.assert_allclose(action, other(whole), atol=1e-12)
        seen, whole = small.step(action)[0], large.step(action)[0]
    labels = small.unwrapped.describe()["observation"]
    assert [entry["name"] for entry in labels][:3] == ["forward", "leftward", "time"]


def test_bad_fields():
    with pytest.raises(ValueError, match="init_pose: expected 12 numbers"):
        OpenSimWalk(init_pose=(1.0, 2.0))
    with pytest.raises(ValueError, match="difficulty: expected 0, 1, 2 or 3, got 5"):
        OpenSimWalk(difficulty=5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        OpenSimWalk().difficulty = 1
    with pytest.raises(ValueError, match='seen_field: expected "map", "centre" or "sink"'):
        OpenSimWalk(seen_field="center")
    with pytest.raises(ValueError, match="seen_field: there is no sink with difficulty=0"):
        OpenSimWalk(difficulty=0, seen_field="sink")


def test_the_body_weight_is_that_of_the_model():
    model = compile_model(OpenSimWalk())
    weight = model.body_mass.sum() * 9.80665
    assert weight == pytest.approx(BODY_WEIGHT, rel=1e-4)


def test_four_published_steps_an_action():
    """An action that stays for 0.04 s is worth the same time and the same distance."""
    own = OpenSimWalk(difficulty=0, control_timestep=0.04)
    feed = Feed(own, timestep=0.04)
    state = standing(own, forward=0.4)
    feed.begin(**state)
    feed.view.memory["new_footstep"] = np.array(1.0)
    terms, *_ = feed.step(**state)
    assert terms["alive"] == pytest.approx(0.4)
    assert terms["footstep"] == pytest.approx(FOOTSTEP * 0.04)
    assert terms["velocity"] == pytest.approx(-0.04)
    assert own.episode_steps() == 625


def test_the_published_recipe_can_be_read():
    """Its settings are those of the trainer, and its arguments those of the ids."""
    pytest.importorskip("torch")
    from mjgym_train import config
    from mjgym_train.learn.algorithms import members
    from mjgym_train.learn.algorithms.td3 import TD3, TD3Config

    file, program = (
        mjgym.mjcf.asset_path(f"training/learn_to_move{name}.yaml") for name in ("", "_program")
    )
    recipe = config.read(TD3Config, [file])
    agents = members.for_config(recipe, TD3)
    assert [own.config.history for own in agents] == [1, 4, 8, 12]
    assert {own.config.acting_value for own in agents} == {"largest"}
    assert config.read(TD3Config, [file, program]).ensemble == ()
    assert (recipe.critic, recipe.atoms, recipe.discounting, recipe.heads) == (
        "quantile", 101, "hyperbolic", 10,
    )  # fmt: skip
    assert recipe.action_repeat == 4
    for id in ("l2m/walk_around-v0", "l2m/walk_around-fast-v0"):  # the others are of their classes
        for arguments in (recipe.env, {**recipe.env, **recipe.evaluation_env}):
            gymnasium.make(id, **arguments).close()


@pytest.mark.parametrize("id", ["l2m/walk_planar-v0", "l2m/walk_planar-fast-v0"])
def test_excitations_are_clipped_to_their_range(id):
    wide, clipped = (gymnasium.make(id) for _ in range(2))
    wide.reset(seed=0)
    clipped.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-2, 3, (3, 22))
    for action in actions:
        assert np.array_equal(wide.step(action)[0], clipped.step(np.clip(action, 0, 1))[0])
