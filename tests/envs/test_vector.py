"""The vector environment: ends of episodes, seeds, threads, processes, and faults."""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import mjgym
from helpers.divergence import assert_a_diverging_slot_ends_alone
from helpers.equivalence import assert_copies_go_on, assert_threads_do_not_matter
from helpers.lanes import mostly_nightly
from helpers.rollouts import actions_for, equal, rollout
from helpers.small_process import run_small


def test_terminations_autoreset_like_sync():
    """lqr ends when it is at rest in the middle."""
    make = "dmc/lqr-lqr_2_1-v0"
    ours, sync = (
        gymnasium.make_vec(make, num_envs=3),
        SyncVectorEnv([lambda: gymnasium.make(make)] * 3),
    )
    ours.reset(seed=0)
    sync.reset(seed=0)
    rest = {"qpos": np.zeros((1, 2)), "qvel": np.zeros((1, 2))}
    ours.set_state(rest, ids=[1])
    sync.envs[1].unwrapped.set_state({k: v[0] for k, v in rest.items()})
    action = np.zeros((3, 1), dtype=np.float32)
    for k in range(3):
        a, b = ours.step(action), sync.step(action)
        assert equal(a[:4], b[:4])
        assert a[2].tolist() == [False, k == 0, False]


@pytest.mark.parametrize(("given", "limit"), [(None, 1000), (-1, None), (3, 3)])
def test_time_limits_mean_what_they_mean_for_a_single_environment(given, limit):
    envs = gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=2, max_episode_steps=given)
    envs.reset(seed=0)
    env = gymnasium.make("dmc/pendulum-swingup-v0", max_episode_steps=given)
    env.reset(seed=0)
    action = np.zeros((2, 1))
    for k in range(1, 1002):
        truncated = envs.step(action)[3].tolist()
        assert truncated == [k == limit] * 2
        assert truncated[0] == env.step(action[0])[3]
        if k == limit:
            break


def test_seeds_one_by_one():
    envs = gymnasium.make_vec("dmc/fish-swim-v0", num_envs=3)
    envs.reset(seed=4)
    assert envs.np_random_seed == (4, 5, 6)
    envs.reset(seed=[6, 5, 4])
    kept = envs.np_random[1].bit_generator.state
    envs.reset(seed=[1, None, 2])
    assert envs.np_random_seed == (1, 5, 2)
    assert envs.np_random[1].bit_generator.state != kept  # it went on
    with pytest.raises(ValueError, match="seed: 2 seeds for 3"):
        envs.reset(seed=[1, 2])
    envs.reset(seed=np.array([6, 5, 4]))
    assert envs.np_random_seed == (6, 5, 4)


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (1.5, TypeError, "seed: expected a whole number or a sequence of them, got 1.5"),
        ("12", TypeError, "seed: expected a whole number or a sequence of them, got '12'"),
        (-1, gymnasium.error.Error, "seed: -1 is not a whole number from 0 on"),
        ([7, -3], gymnasium.error.Error, "seed: -3 is not a whole number from 0 on"),
        ([7, "8"], gymnasium.error.Error, "seed: '8' is not a whole number from 0 on"),
    ],
)
def test_a_wrong_seed_is_refused_before_anything_is_seeded(seed, error, message):
    envs = gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=2)
    envs.reset(seed=4)
    with pytest.raises(error, match=message):
        envs.reset(seed=seed)
    assert envs.np_random_seed == (4, 5)


def test_unseeded_slots_differ():
    envs = gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=8)
    assert len(np.unique(envs.reset()[0][:, 0])) == 8


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_pickle_and_deepcopy_continue_bit_for_bit(mode):
    envs = gymnasium.make_vec(
        "dmc/finger-turn_easy-v0", num_envs=4, max_episode_steps=6, autoreset_mode=mode
    )
    envs.reset(seed=0)
    rollout(envs, 5 if mode == AutoresetMode.DISABLED else 6)
    assert_copies_go_on(envs, 1 if mode == AutoresetMode.DISABLED else 9)


@pytest.mark.parametrize(
    "id", mostly_nightly(["dmc/humanoid-walk-v0", "dmc/quadruped-escape-v0"], quick=2)
)
def test_the_number_of_threads_does_not_matter(id):
    assert_threads_do_not_matter(id)


def test_a_success_is_remembered_until_the_episode_ends():
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=3)
    envs.reset(seed=0)
    near, far = (envs.get_state()["geom_pos"] for _ in range(2))
    target = envs.model.geom("target").id
    action = np.zeros((3, 2))
    far[:, target, :2] = 1.0
    near[:, target, :2] = envs.view.geom("finger").xpos[..., :2]
    seen = []
    for places in (far, near, far):
        envs.set_state({"geom_pos": places[[1]]}, ids=[1])
        info = envs.step(action)[4]
        seen.append((info["success"][1], info["success_once"][1]))
    assert seen == [(False, False), (True, True), (False, True)]
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.set_state({"geom_pos": far[[1]]}, ids=[1])
    assert not envs.step(action)[4]["success_once"][1]


@pytest.mark.parametrize("id", ["dmc/walker-walk-v0", "dmc/finger-turn_hard-v0"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_diverging_slot_ends_alone(id, mode, tmp_path, monkeypatch, capfd):
    assert_a_diverging_slot_ends_alone(id, mode, tmp_path, monkeypatch, capfd)


def test_divergence_raises_on_request():
    envs = gymnasium.make_vec("dmc/walker-walk-v0", num_envs=3, on_divergence="raise")
    envs.reset(seed=0)
    envs.set_state({"qvel": np.full((1, 9), 9e9)}, ids=[1])
    with pytest.raises(mjgym.DivergenceError, match=r"\[1\].*Walker"):
        envs.step(np.zeros((3, 6)))
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 1"):
        envs.step(np.zeros((3, 6)))
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.step(np.zeros((3, 6)))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (np.array([[0, 0], [0, np.nan], [0, 0.0]]), "nan at sub-environment 1, index 1"),
        (np.zeros((2, 2)), r"expected shape \(3, 2\), got \(2, 2\)"),
        ("left", "not an array"),
    ],
)
def test_wrong_actions_are_refused_before_anything_is_stepped(action, words):
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=3)
    envs.reset(seed=0)
    before = envs.get_state()
    with pytest.raises(ValueError, match=words):
        envs.step(action)
    assert equal(before, envs.get_state())


@pytest.mark.parametrize(
    ("state", "ids", "words"),
    [
        ({"qpso": np.zeros((3, 2))}, None, "qpso.*qpos"),
        ({"qpos": np.zeros((2, 2))}, None, r"qpos.*\(2, 2\).*\(3, 2\)"),
        ({"qpos": np.full((3, 2), np.inf)}, None, "qpos.*finite"),
        ({"qpos": np.zeros((1, 2))}, [3], "no sub-environment 3"),
        ({"qpos": np.zeros((1, 2))}, [-1], "no sub-environment -1"),
        ({"qpos": np.zeros((2, 2))}, [1, 1], "once"),
        ({"qpos": np.zeros((1, 2))}, [0.5], "integers"),
    ],
)
def test_malformed_states_are_refused_before_anything_is_written(state, ids, words):
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=3)
    envs.reset(seed=0)
    before = envs.get_state()
    with pytest.raises(ValueError, match=words):
        envs.set_state(state, ids=ids)
    assert equal(before, envs.get_state())


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"thread": 2}, TypeError, "thread.*threads"),
        (
            {"autoreset_mode": "same_step"},
            ValueError,
            "autoreset_mode: 'same_step' is none of NextStep, SameStep, Disabled",
        ),
        ({"spede": 2.0}, TypeError, "spede.*speed"),
    ],
)
def test_wrong_arguments_name_the_nearest(kwargs, error, words):
    with pytest.raises(error, match=words):
        gymnasium.make_vec("dmc/walker-run-v0", **{"num_envs": 2, **kwargs})


def test_step_before_reset_and_after_the_end():
    envs = gymnasium.make_vec(
        "dmc/reacher-easy-v0", num_envs=2, autoreset_mode="Disabled", max_episode_steps=1
    )
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 0"):
        envs.step(np.zeros((2, 2)))
    envs.reset(seed=0, options={"reset_mask": np.array([True, False])})
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 1"):
        envs.step(np.zeros((2, 2)))
    envs.reset(seed=0)
    envs.step(np.zeros((2, 2)))
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        envs.step(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "mask", [[True, False], np.array([1, 0]), np.array([True]), np.zeros(2, bool)]
)
def test_wrong_reset_masks(mask):
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=2)
    with pytest.raises((TypeError, ValueError), match="reset_mask"):
        envs.reset(options={"reset_mask": mask})


def test_copy_false_returns_the_buffer():
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=2, copy=False)
    a, _ = envs.reset(seed=0)
    kept = a.copy()
    for _ in range(2):
        envs.step(np.ones((2, 2)))
    assert not np.array_equal(a, kept)


def test_all_allowed_cores_are_used():
    cores = sorted(os.sched_getaffinity(0))
    assert mjgym.envs.vector.allowed_cores() == len(cores)
    for allowed in {1, len(cores)}:
        program = (
            f"import os; os.sched_setaffinity(0, {cores[:allowed]})\n"
            "import gymnasium\n"
            "for n in (64, 1): print(gymnasium.make_vec('dmc/pendulum-swingup-v0', n).threads)"
        )
        assert run_small(program).split() == [str(min(allowed, 64)), "1"]


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.slow
def test_async_vector_env(context):
    program = f"from test_vector import compare_with_async; compare_with_async({context!r})"
    run_small(f"if __name__ == '__main__': {program}")


def compare_with_async(context):
    make = [_make_reacher] * 3
    asynchronous = AsyncVectorEnv(make, context=context)
    sync = SyncVectorEnv(make)
    try:
        assert equal(asynchronous.reset(seed=1)[0], sync.reset(seed=1)[0])
        for actions in np.float32(actions_for(sync, 6)):
            assert equal(asynchronous.step(actions)[:4], sync.step(actions)[:4])
    finally:
        asynchronous.close()


def _make_reacher():
    import mjgym  # noqa: F401

    return gymnasium.make("dmc/reacher-easy-v0", max_episode_steps=4)


FORKED = """
import gc, multiprocessing, os
import gymnasium, mjgym, numpy as np

def made():
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=4, threads=2)
    envs.reset(seed=0)
    return envs

def step():
    try:
        envs.step(np.zeros((4, 2)))
    except RuntimeError as error:
        return str(error)

def collect():
    gc.collect()
    return "collected"

context = multiprocessing.get_context("fork")
here, there = context.Pipe()

def child(task):
    there.send(task())
    os._exit(0)
"""
RUN = """
process = context.Process(target=child, args=(task,))
process.start()
assert here.poll(timeout=30)
print(here.recv())
process.join(timeout=30)
assert process.exitcode == 0
"""


def test_a_forked_child_is_told_instead_of_hanging():
    assert "os.fork()" in run_small(f"{FORKED}\nenvs, task = made(), step\n{RUN}")


def test_a_forked_child_may_collect_the_parents_batches():
    """The engine would wait for ever for the threads that it does not find there."""
    garbage = "gc.disable()\nfor _ in range(3): made()\ntask = collect\n"
    assert "collected" in run_small(f"{FORKED}\n{garbage}\n{RUN}")


def test_gymnasiums_normalizer_takes_the_mode_that_the_guide_names():
    for mode in AutoresetMode:
        envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=2, autoreset_mode=mode)
        if mode == AutoresetMode.NEXT_STEP:
            gymnasium.wrappers.vector.NormalizeObservation(envs).reset(seed=0)
        else:
            with pytest.raises((ValueError, AssertionError), match="NEXT_STEP"):
                gymnasium.wrappers.vector.NormalizeObservation(envs)
