"""Starts of the locomotion tasks: recorded ones from their draws, and how ours are spread."""

import copy
import itertools

import mujoco
import numpy as np
import pytest

from helpers.lanes import lane, mostly_nightly, mostly_slow
from helpers.locomotion_records import (
    MAZES,
    NAMES,
    STATISTIC,
    Scripted,
    arena_geoms,
    make,
    other_digits,
    scene,
    spread,
    transitions,
    use_recorded_maze,
)
from helpers.suite import relative_error
from mjgym.rotations import product
from mjgym.sim.engine import ACTUATION_OFF
from mjgym.tasks.locomotion.arenas.bowl import POINTS, Bowl
from mjgym.tasks.locomotion.floor_plans import SPAWN
from mjgym.tasks.locomotion.walkers.any_walker import normalised

TOLERANCE = 1e-9
DIGITS = 1e-11  # to which states equal those computed from numbers of 12 digits
STARTS = 1000  # of ours that are looked at

# The recorded first observation that has two solutions: a walker that lies in the terrain with 78
# contacts, where a change behind the 12th digit of the model's numbers picks the other one.
TWO_SOLUTIONS = ("rodent_escape_bowl", 1)

RANDOM_MAZES = ("cmu_humanoid_maze_forage", "rodent_maze_forage")
TURNED = (*RANDOM_MAZES, "rodent_two_touch")


def recorded_starts(name):
    """Of the recorded episodes and of more, (n, nq)."""
    record = transitions(name)
    return np.concatenate([record["reset_qpos"], record["start_qpos"]])


def our_starts(env, count, seed=0):
    """Positions at the starts of some episodes, (count, nq)."""
    env.np_random = np.random.default_rng(seed)
    starts = np.empty((count, env.model.nq))
    for start in starts:
        env.reset()
        start[:] = env.data.qpos
    return starts


def turns(env, qpos):
    """The turns about the vertical of starts that are otherwise upright, (n,) rad in [0, 2 pi)."""
    inverse = normalised(env.task.creature.quaternion) * (1, -1, -1, -1)
    turned = product(qpos[:, 3:7], inverse)
    np.testing.assert_allclose(turned[:, 1:3], 0, atol=DIGITS)
    return np.mod(2 * np.arctan2(turned[:, 3], turned[:, 0]), 2 * np.pi)


def same_pose(ours, recorded):
    """Whether two positions are equal; q and -q are one rotation."""
    sign = np.sign(ours[3:7] @ recorded[3:7])
    turned = np.concatenate([recorded[:3], sign * recorded[3:7], recorded[7:]])
    return np.abs(ours - turned).max() < DIGITS


def corridor_draws(name, geoms):
    """Widths of walls; or lengths of platforms and gaps in turn, of which the last has no end."""
    if name.endswith("walls"):
        return [2 * geoms[part]["geom_size"][1] for part in geoms if part.startswith("wall_")]
    parts = [fields for part, fields in geoms.items() if part.startswith("floor_")]
    x = np.array([fields["geom_pos"][0] for fields in parts])
    half = np.array([fields["geom_size"][0] for fields in parts])
    last = scene(name)["parameters"]["gap_length"][2]
    gaps = [*((x - half)[1:] - (x + half)[:-1]), last]
    return np.stack([2 * half, gaps], axis=-1).ravel()


def draws(env, name, episode):
    """What a generator must give for a recorded episode."""
    record = transitions(name)
    qpos = record["reset_qpos"][episode]
    if name == "rodent_escape_bowl":
        return {"normal": [qpos[3:7]]}
    if name == "rodent_two_touch":
        places = np.zeros(env.model.nuserdata)  # of orbs that come after the first one
        places[:2] = scene(name)["starts"][episode][:2]
        return {"uniform": [turns(env, qpos[None])[0], places]}
    if name == "cmu_humanoid_go_to_target":
        target = record["target_pos"][list(record["episode"]).index(episode)]
        return {"uniform": [*target[:2], *qpos[:2]]}
    if name not in MAZES:
        return {"uniform": corridor_draws(name, arena_geoms(name, episode))}
    maze = scene(name)["episodes"][episode]["maze"]
    away = np.linalg.norm(np.array(maze["spawns"])[:, :2] - qpos[:2], axis=-1)
    assert away.min() < DIGITS
    colours = [0] if env.task.others else []
    turn = (turns(env, qpos[None]) + np.pi) % (2 * np.pi) - np.pi
    return {
        "integers": [*colours, int(away.argmin())],
        "uniform": turn if env.task.turns else [],
    }


@pytest.mark.parametrize("name", mostly_slow(NAMES, 3))
def test_a_reset_with_the_recorded_draws_gives_the_recorded_observation(name, monkeypatch):
    record = transitions(name)
    env = make(name)
    for episode, qpos in enumerate(record["reset_qpos"]):
        if name in MAZES:
            use_recorded_maze(monkeypatch, name, episode)
        if name == "rodent_escape_bowl":
            heights = record["hfield_data"][episode].reshape(POINTS, POINTS)
            monkeypatch.setattr(Bowl, "heights", lambda self, rng, heights=heights: heights)
        env.np_random = script = Scripted(**draws(env, name, episode))
        observation, _ = env.reset()
        script.assert_used_up()
        assert same_pose(env.data.qpos, qpos)
        assert not env.data.qvel.any()
        np.testing.assert_array_equal(env.data.act, record["reset_act"][episode])
        if (name, episode) == TWO_SOLUTIONS:
            observation["walker/sensors_accelerometer"] = other_solution(
                env, record["reset_obs_walker/sensors_accelerometer"][episode]
            )
        for key, value in observation.items():
            error = relative_error(value, record[f"reset_obs_{key}"][episode])
            assert error <= TOLERANCE, (episode, key)
    env.close()


def other_solution(env, recorded):
    """The accelerometer's reading that is nearest to the record, of models with other digits."""
    model, data, rng = copy.copy(env.model), copy.copy(env.data), np.random.default_rng(0)
    model.opt.disableflags |= ACTUATION_OFF
    readings = []
    for _ in range(20):
        other_digits(env.model, model, rng)
        mujoco.mj_forward(model, data)
        readings.append(data.sensor("walker/accelerometer").data.copy())
    return min(readings, key=lambda reading: relative_error(reading, recorded))


@pytest.mark.slow
def test_walkers_go_to_targets_from_anywhere():
    env = make("cmu_humanoid_go_to_target")
    recorded = recorded_starts("cmu_humanoid_go_to_target")
    ours = our_starts(env, STARTS)
    low, high = scene("cmu_humanoid_go_to_target")["parameters"]["walker_xy"][1:]
    for axis in range(2):
        assert spread(recorded[:, axis], low, high) < STATISTIC
        assert spread(ours[:, axis], low, high) < STATISTIC
    env.close()


@pytest.mark.parametrize("name", mostly_nightly(TURNED, 3))
def test_walkers_are_turned_uniformly(name):
    env = make(name)
    assert spread(turns(env, recorded_starts(name)), 0, 2 * np.pi) < STATISTIC
    assert spread(turns(env, our_starts(env, STARTS)), 0, 2 * np.pi) < STATISTIC
    env.close()


@pytest.mark.parametrize("name", MAZES)
@lane(1, 3)
def test_walkers_start_at_any_start_of_the_maze(name, monkeypatch):
    env = make(name)
    maze = use_recorded_maze(monkeypatch, name, 0)
    spawns = np.array(scene(name)["episodes"][0]["maze"]["spawns"])
    assert len(spawns) == sum(row.count(SPAWN) for row in maze.rows)
    ours = our_starts(env, 400)
    away = np.linalg.norm(ours[:, None, :2] - spawns[None, :, :2], axis=-1)
    assert away.min(axis=1).max() < DIGITS
    counts = np.bincount(away.argmin(axis=1), minlength=len(spawns))
    share = 1 / len(spawns)
    deviation = np.sqrt(400 * share * (1 - share))
    assert (np.abs(counts - 400 * share) <= 4 * deviation).all()
    env.close()


@lane(1, 3)
def test_walkers_escape_from_any_orientation():
    env = make("rodent_escape_bowl")
    # One number of a uniform quaternion has the density 2 / pi sqrt(1 - q^2).
    for starts in (recorded_starts("rodent_escape_bowl"), our_starts(env, 300)):
        q = starts[:, 3:7]
        np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1, atol=DIGITS)
        for k in range(4):
            share = 0.5 + (q[:, k] * np.sqrt(1 - q[:, k] ** 2) + np.arcsin(q[:, k])) / np.pi
            assert spread(share, 0, 1) < STATISTIC
    env.close()


def test_walkers_escape_from_as_low_as_nothing_touches_flat_ground():
    env = make("rodent_escape_bowl")
    model, data = env.model, env.data
    starts = [*recorded_starts("rodent_escape_bowl"), *our_starts(env, 20)]
    model.hfield_data[:] = 0
    for start in starts:
        lifts = round(start[2] / 0.01)
        assert start[2] == pytest.approx(0.01 * lifts, abs=DIGITS)
        for lift, free in ((lifts, True), (lifts - 1, False)):
            data.qpos[:] = start
            data.qpos[2] = 0.01 * lift
            mujoco.mj_forward(model, data)
            assert (data.ncon == 0) == free or lift < 0
    env.close()


@lane(2, 3)
def test_orbs_are_anywhere_in_a_square():
    env = make("rodent_two_touch")
    half = scene("rodent_two_touch")["parameters"]["target_area_half"][0]
    height = scene("rodent_two_touch")["parameters"]["target_z"]
    recorded = np.array(scene("rodent_two_touch")["starts"])
    assert (recorded[:, 2] == height).all()
    env.np_random = np.random.default_rng(0)
    firsts, laters = [], []
    for _ in range(STARTS):
        env.reset()
        firsts.append(env.data.mocap_pos[0].copy())
        laters.append(env.data.userdata[2:].copy())
    firsts, laters = np.array(firsts), np.array(laters)
    assert (firsts[:, 2] == height).all()
    for axis in range(2):
        assert spread(recorded[:, axis], -half, half) < STATISTIC
        assert spread(firsts[:, axis], -half, half) < STATISTIC
        assert spread(laters[:, axis::2], -half, half) < STATISTIC
    env.close()


@pytest.mark.slow
def test_new_orbs_come_from_the_draws_of_the_episode_one_by_one():
    env = make("rodent_two_touch")
    places = env.data.userdata.reshape(-1, 2).copy()
    np.testing.assert_array_equal(env.data.mocap_pos[0, :2], places[0])
    for number in itertools.islice(itertools.cycle(range(len(places))), 1, len(places) + 2):
        env.set_state({"memory.renew": np.array(1.0), "memory.state": np.array(2.0)})
        env.step(np.zeros(env.action_space.shape))
        np.testing.assert_array_equal(env.data.mocap_pos[0, :2], places[number])
        assert env.get_state()["memory.state"] == 0
    env.close()


@pytest.mark.slow
def test_colours_of_targets_do_not_tell_what_they_are_worth():
    env = make("cmu_humanoid_heterogeneous_forage")
    env.np_random = np.random.default_rng(0)
    colours = []
    for _ in range(200):
        env.reset()
        worth = env.data.userdata[: env.task.surroundings.most_targets]
        shown = env.task.colours(env.view)
        of = {
            value: {tuple(shown[f"geom target_{i}"]) for i in np.flatnonzero(worth == value)}
            for value in (30.0, -10.0)
        }
        assert [len(kind) for kind in of.values()] == [1, 1]  # one colour for each kind,
        assert of[30.0] != of[-10.0]  # and not the same
        assert (worth == 30.0).sum() == (worth == -10.0).sum() == 3
        colours.append(of[30.0].pop())
    share = np.mean([colour == colours[0] for colour in colours])
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(200)
    env.close()
