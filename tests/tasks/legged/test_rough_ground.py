"""Rough ground: its patches, its heights against rays, the curriculum."""

import mujoco
import numpy as np
import pytest

from helpers.lanes import lane, mostly_slow
from helpers.legged_records import record
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.rotations import about_z
from mjgym.tasks.legged import patches
from mjgym.tasks.legged.rough import GRID, RoughVelocity

GROUND = patches.terrain(0)


def column(kind):
    return list(patches.KINDS).index(kind)


def begin(task, level, place, **kwargs):
    """An environment on a patch."""
    env = Env(task, observation="dict", dtype="float64", **kwargs)
    env.reset(seed=0)
    state = env.get_state()
    state["qpos"][:2] += GROUND.origins[level, place, :2] - state["memory.origin"][:2]
    state["memory.level"], state["memory.column"] = np.float64(level), np.float64(place)
    state["memory.origin"] = GROUND.origins[level, place]
    env.set_state(state)
    return env


# Patches.


def test_starts_are_at_the_recorded_heights():
    """A third of the way to the hardest, as in the recording of four rows."""
    origins = record("mjlab_go1_rough")["mem/env_origins"]
    assert GROUND.origins[3, column("roughness"), 2] == pytest.approx(origins[0, 0, 2], abs=1e-6)
    assert GROUND.origins[3, column("slope_up"), 2] == pytest.approx(origins[0, 1, 2], abs=1e-6)
    assert origins[0, 1, 1] == GROUND.origins[3, column("slope_up"), 1]
    assert origins[0, 0, 1] == GROUND.origins[3, column("roughness"), 1]


def test_patches_grow_harder_row_by_row():
    for kind in ("stairs_up", "slope_up", "waves"):
        assert (np.diff(GROUND.origins[:, column(kind), 2]) > 0).all(), kind
    for kind in ("stairs_down", "slope_down"):
        assert (np.diff(GROUND.origins[:, column(kind), 2]) < 0).all(), kind
    assert not GROUND.origins[:, column("flat"), 2].any()
    assert GROUND.origins[-1, column("stairs_up"), 2] == pytest.approx(0.6)  # six steps of 10 cm
    units = GROUND.heights / patches.UNIT
    assert np.abs(units - units.round()).max() < 1e-6


def test_random_heights_depend_on_the_seed():
    assert np.array_equal(patches.terrain.__wrapped__(0).heights, GROUND.heights)
    other = patches.terrain(1).heights
    assert 0.02 <= np.abs(other - GROUND.heights).max() <= 0.08 + 1e-9


@pytest.mark.slow
def test_heights_of_the_ground_are_those_that_rays_hit():
    task = RoughVelocity(robot="go1")
    env = Env(task)
    env.reset(seed=0)
    half_x, half_y = GROUND.half
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-half_x - 3, half_x + 3, 3000), rng.uniform(-half_y - 3, half_y + 3, 3000)
    heights = task.ground_height(x, y)
    groups, geom = np.array([1, 0, 0, 0, 0, 0], np.uint8), np.zeros(1, np.int32)
    for k in range(len(x)):
        point, down = np.array([x[k], y[k], 9.0]), np.array([0.0, 0.0, -1.0])
        below = mujoco.mj_ray(env.model, env.data, point, down, groups, 1, -1, geom)
        assert 9.0 - below == pytest.approx(heights[k], abs=1e-6)
    assert np.ptp(heights) > 3


@pytest.mark.slow
def test_the_scan_turns_with_the_heading_and_sees_the_ground():
    env = begin(RoughVelocity(robot="go1"), 9, column("slope_up"))
    state = env.get_state()
    state["qpos"][3:7] = about_z(np.pi / 2)
    observation = env.set_state(state)  # the memory is still that of the heading before
    observation, *_ = env.step(np.zeros(12))
    state = env.get_state()
    root, hits = state["qpos"][:3], state["memory.hits"]
    local = hits[:, :2] - root[:2]
    assert np.allclose(np.abs(local), np.abs(GRID[:, ::-1]), atol=0.02)
    assert np.allclose(observation["height_scan"] * 5, root[2] - hits[:, 2])
    assert np.ptp(hits[:, 2]) == 0  # the platform
    deep = env.task.observation(env.view)["height_scan"]
    assert deep.max() < 1


# Curriculum.


@pytest.mark.parametrize(
    ("walked", "command", "level"), mostly_slow([(4.1, 1.0, 6), (3.9, 1.0, 4), (3.9, 0.3, 5)], 3)
)
def test_the_next_episode_is_harder_easier_or_the_same(walked, command, level):
    env = begin(RoughVelocity(robot="go1", command=(command, 0, 0)), 5, column("flat"))
    state = env.get_state()
    state["qpos"][0] = state["memory.origin"][0] + walked
    env.set_state(state)
    env.step(np.zeros(12))
    place = env.get_state()["memory.column"]
    env.reset()
    state = env.get_state()
    assert state["memory.level"] == level
    assert state["memory.column"] == place
    assert np.allclose(state["memory.origin"], GROUND.origins[level, column("flat")])
    assert np.abs(state["qpos"][:2] - state["memory.origin"][:2]).max() <= 0.5
    env.reset(seed=0)
    fresh = Env(env.task)
    fresh.reset(seed=0)
    assert env.get_state()["memory.level"] == fresh.get_state()["memory.level"]


@pytest.mark.slow
def test_beyond_the_hardest_row_any_is_drawn():
    levels = []
    env = begin(RoughVelocity(robot="go1"), 9, column("flat"))
    state = env.get_state()
    state["memory.next_level"] = np.float64(10)
    for seed in range(20):
        env.set_state(state)
        env.np_random.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        env.reset()
        levels.append(int(env.get_state()["memory.level"]))
    assert len(set(levels)) > 5
    assert max(levels) <= 9


@lane(1, 3)
def test_first_rows_and_columns_are_drawn_as_published():
    envs = VectorEnv(RoughVelocity(robot="go1"), num_envs=600)
    envs.reset(seed=0)
    state = envs.get_state()
    assert set(state["memory.level"].tolist()) == {0, 1, 2, 3, 4, 5}
    shares = [(state["memory.column"] == k).mean() for k in range(len(patches.KINDS))]
    assert np.allclose(shares, [share for _, share in patches.KINDS.values()], atol=0.05)
    envs.close()


@pytest.mark.slow
def test_a_level_may_be_fixed():
    env = Env(RoughVelocity(robot="g1", level=7))
    env.reset(seed=3)
    assert env.get_state()["memory.level"] == 7
    with pytest.raises(ValueError, match="level: 0 to 9, got 10"):
        RoughVelocity(level=10)


def test_an_episode_is_cut_off_at_the_end_of_the_ground():
    env = begin(RoughVelocity(robot="go1"), 9, column("flat"))
    state = env.get_state()
    state["qpos"][:3] = GROUND.half[0] + 19.6, 0.0, 0.3
    env.set_state(state)
    assert not env.step(np.zeros(12))[3]
    state["qpos"][0] += 0.2
    env.set_state(state)
    assert env.step(np.zeros(12))[3]


def test_a_robot_whose_thighs_have_no_names_is_refused():
    with pytest.raises(ValueError, match="robot G1 names no geoms of its thighs"):
        RoughVelocity(robot="g1", fallen="thighs")
