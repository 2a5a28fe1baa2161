"""What every registered id promises: one environment, many of them, and any copy agree.

Modules that register ids of their own (`test_locomotion_extending`) call these tests with them.
"""

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers.equivalence import (
    EXACT,
    assert_copies_go_on,
    assert_every_slot_equals_a_single_env,
    assert_states_go_on,
    make_vec,
)
from helpers.lanes import mostly_nightly
from helpers.registered import ids_as_parameters, of_each_class
from helpers.rollouts import equal, rollout
from helpers.suite import gymnasium_checker
from mjgym.checks import check_vector_env

N = 3  # sub-environments
MODES = list(AutoresetMode)
KINDS = ["flat", "dict"]
SOME = [
    "dmc/cartpole-swingup-v0",
    "dmc/swimmer-swimmer6-v0",  # varies geom_pos and light_pos
    "dmc/quadruped-fetch-v0",  # activations
    "locomotion/cmu_humanoid-tracking-v0",
    "manipulation/stack_2_of_3_bricks_random_order_features-v0",
    "robosuite/Lift-v0",
]
# As published, a walker stands straight at the start, and its target velocity is constant.
NOTHING_DRAWN = [f"l2m/walk_{name}-v0" for name in ("forward", "forward-fast", "planar",
                                                    "planar-fast")]  # fmt: skip
every_id = pytest.mark.parametrize("id", ids_as_parameters(SOME))
# The loop does these by itself, whatever the task: a few ids of each kind will do.
some_ids = pytest.mark.parametrize("id", mostly_nightly(SOME, quick=2))
# Nor does a task know of the mode: each class is played in one, and each mode by many classes.
AUTORESET = mostly_nightly(
    zip(SOME, itertools.product(KINDS, MODES), strict=True), quick=3
) + mostly_nightly(
    [
        (id, ("flat", MODES[i % len(MODES)]))
        for i, id in enumerate(of_each_class())
        if id not in SOME
    ],
    7,
)


@every_id
def test_gymnasium_checker(id):
    for observation in KINDS if id in SOME else ["flat"]:
        env = gymnasium.make(id, observation=observation)
        gymnasium_checker(env)
        env.close()


@every_id
def test_flat_is_the_entries_joined(id):
    flat = gymnasium.make(id, observation="flat", dtype="float64")
    entries = gymnasium.make(id, **EXACT)
    joined = np.concatenate([np.ravel(x) for x in entries.reset(seed=2)[0].values()])
    assert np.array_equal(flat.reset(seed=2)[0], joined)
    for env in (flat, entries):
        env.close()


@some_ids
def test_flat_is_rounded_to_single_precision(id):
    double, single = (gymnasium.make(id, dtype=dtype) for dtype in ("float64", "float32"))
    assert equal(single.reset(seed=2)[0], double.reset(seed=2)[0].astype(np.float32))
    for env in (double, single):
        env.close()


@every_id
def test_seeded_episodes_repeat_also_after_another_one(id):
    env, fresh = (gymnasium.make(id, observation="flat") for _ in range(2))
    first = env.reset(seed=5)
    start = env.unwrapped.get_state()
    episode = rollout(env, 4)
    assert np.isfinite([reward for _, reward, *_ in episode]).all()
    env.reset(seed=6)
    rollout(env, 3, seed=1)
    for again in (env, fresh):
        assert equal(again.reset(seed=5), first)
        assert equal(again.unwrapped.get_state(), start)
        assert equal(episode, rollout(again, 4))
    # The scene is another one with another seed, even where a walker stands as before.
    observation = fresh.reset(seed=6)[0]
    if id in NOTHING_DRAWN:
        assert equal(observation, first[0])
        env.close()
        fresh.close()
        return
    other = fresh.unwrapped.get_state()
    assert any(not np.array_equal(x, other[name]) for name, x in start.items() if name != "rng")
    assert id.startswith("locomotion/") or not np.array_equal(observation, first[0])
    for one in (env, fresh):
        one.close()


@some_ids
def test_a_time_limit_truncates_and_does_not_terminate(id):
    env = gymnasium.make(id, observation="flat", max_episode_steps=3)
    env.reset(seed=0)
    ends = [(terminated, truncated) for _, _, terminated, truncated, _ in rollout(env, 3)]
    assert ends == [(False, False), (False, False), (False, True)]
    env.close()


@every_id
def test_every_slot_equals_a_single_env(id):
    """Also behind the end of an episode, which a batch begins anew by itself."""
    assert_every_slot_equals_a_single_env(id, N if id in SOME else 2)


@pytest.mark.parametrize(("id", "played"), AUTORESET)
def test_autoreset_equals_sync_vector_env(id, played):
    observation, mode = played
    brief = {"max_episode_steps": 2, "dtype": "float32"}
    assert_every_slot_equals_a_single_env(id, 2, mode=mode, observation=observation, **brief)


@pytest.mark.parametrize(("id", "mode"), mostly_nightly(itertools.product(SOME, MODES), quick=8))
def test_a_batch_keeps_what_gymnasium_promises(id, mode):
    """Seeds, order, autoreset, partial reset, memory, closing."""

    def envs():
        return make_vec(id, num_envs=2, autoreset_mode=mode, max_episode_steps=5)

    assert check_vector_env(envs, steps=20) == []


@some_ids
def test_a_state_restores_bit_for_bit(id):
    env, other = (gymnasium.make(id, **EXACT).unwrapped for _ in range(2))
    env.reset(seed=3)
    rollout(env, 3)
    state, here = env.get_state(), env.observe()
    then = rollout(env, 4, seed=4)
    after = env.reset()
    env.reset(seed=11)
    rollout(env, 2)
    env.set_state(state)
    assert equal(env.observe(), here)
    assert equal(rollout(env, 4, seed=4), then)
    assert equal(env.reset(), after)  # the random generator too
    other.reset(seed=99)
    other.set_state(state)
    assert equal(rollout(other, 4, seed=4), then)
    env.close()
    other.close()


@pytest.mark.parametrize("id", mostly_nightly(of_each_class(), 7))
def test_states_of_a_batch_restore_bit_for_bit(id):
    assert_states_go_on(id, observation="flat", dtype="float64")


@some_ids
def test_copies_continue_bit_for_bit(id):
    env = gymnasium.make(id, observation="flat", max_episode_steps=4)
    envs = make_vec(id, num_envs=2, observation="flat", max_episode_steps=4)
    for one in (env, envs):
        one.reset(seed=3)
        rollout(one, 2)
        assert_copies_go_on(one)
