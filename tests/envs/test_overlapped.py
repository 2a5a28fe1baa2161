"""Groups that step in the background: the bits of a batch in every mode, and what is refused."""

import copy
import math
import pickle

import gymnasium
import numpy as np
import pytest

from helpers.rollouts import equal
from helpers.small_process import run_small
from mjgym.envs.overlapped import OverlappedVectorEnv

ID = "dmc/reacher-easy-v0"
MODES = ("NextStep", "SameStep", "Disabled")


def pair(n=5, overlap=2, **options):
    both = {"max_episode_steps": 4, **options}
    return (
        gymnasium.make_vec(ID, num_envs=n, overlap=overlap, **both),
        gymnasium.make_vec(ID, num_envs=n, **both),
    )


def act(envs, k):
    low, high = envs.action_space.low, envs.action_space.high
    return np.random.default_rng(k).uniform(low, high)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_a_step_is_that_of_a_batch(mode, observation):
    envs, batch = pair(overlap=3, autoreset_mode=mode, observation=observation)
    assert envs.observation_space == batch.observation_space
    assert equal(envs.reset(seed=3), batch.reset(seed=3))
    for k in range(11):
        result, expected = envs.step(act(envs, k)), batch.step(act(envs, k))
        assert equal(result, expected)
        ended = result[2] | result[3]
        if mode == "Disabled" and ended.any():
            mask = ended & (np.arange(5) != 4)  # a group of its own, which goes on as it is
            options = {"reset_mask": mask}
            assert equal(envs.reset(options=options), batch.reset(options=options))
            if ended[4]:
                options = {"reset_mask": ~mask}
                assert equal(envs.reset(options=options), batch.reset(options=options))
    assert equal(envs.get_state(), batch.get_state())
    envs.close()
    batch.close()


@pytest.mark.parametrize("mode", MODES[:2])
def test_groups_by_turns_give_the_equal(mode):
    envs, batch = pair(autoreset_mode=mode)
    observations, _ = envs.reset(seed=1)
    expected, _ = batch.reset(seed=1)
    assert np.array_equal(observations, expected)
    steps = [act(envs, k) for k in range(9)]
    batched = [batch.step(actions) for actions in steps]
    for ids in envs.groups:
        envs.send(steps[0][ids], ids)
    for k in range(len(steps)):
        for ids in envs.groups:
            result = envs.recv()
            assert np.array_equal(result[-1]["env_id"], ids)
            for ours, whole in zip(result[:4], batched[k][:4], strict=True):
                assert np.array_equal(ours, whole[ids])
            if k + 1 < len(steps):
                envs.send(steps[k + 1][ids], result[-1]["env_id"])
    envs.close()


def test_the_halves_of_a_step():
    envs, batch = pair()
    envs.reset(seed=0)
    batch.reset(seed=0)
    actions = act(envs, 0)
    envs.step_async(actions)
    with pytest.raises(RuntimeError, match="receive its results first"):
        envs.step_async(actions)
    assert equal(envs.step_wait(timeout=60), batch.step(act(envs, 0)))
    with pytest.raises(RuntimeError, match="step_async"):
        envs.step_wait()


def test_actions_may_be_written_to_once_they_are_sent():
    envs, batch = pair()
    envs.reset(seed=0)
    batch.reset(seed=0)
    actions = act(envs, 0)
    for ids in envs.groups:
        part = actions[ids]
        envs.send(part, ids)
        part[:] = np.nan
    results = [envs.recv() for _ in envs.groups]
    assert np.array_equal(np.concatenate([r[0] for r in results]), batch.step(act(envs, 0))[0])


def test_states_continue():
    envs, batch = pair()
    envs.reset(seed=2)
    state = envs.get_state()
    later = [envs.step(act(envs, k)) for k in range(6)]
    envs.set_state(state)
    assert equal([envs.step(act(envs, k)) for k in range(6)], later)
    batch.reset(seed=0)
    batch.set_state(state)
    assert equal([batch.step(act(envs, k)) for k in range(6)], later)


def test_a_reset_forgets_what_is_under_way():
    envs, _ = pair()
    first, _ = envs.reset(seed=4)
    envs.send(act(envs, 0)[envs.groups[0]], envs.groups[0])
    again, _ = envs.reset(seed=4)
    assert np.array_equal(first, again)
    with pytest.raises(RuntimeError, match="send"):
        envs.recv()


def test_attributes_of_each():
    envs, batch = pair()
    envs.reset(seed=7)
    batch.reset(seed=7)
    assert envs.get_attr("np_random_seed") == batch.get_attr("np_random_seed")
    assert len(envs.call("observe")) == 5


def test_what_is_refused():
    envs, _ = pair()
    zeros = np.zeros(envs.action_space.shape)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(zeros)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"expected shape \(5, 2\)"):
        envs.step(zeros[:4])
    with pytest.raises(ValueError, match="the groups are 0 to 2, 3 to 4"):
        envs.send(zeros[:2], [0, 1])
    with pytest.raises(ValueError, match=r"expected shape \(2, 2\)"):
        envs.send(zeros, envs.groups[1])
    envs.send(zeros[:3], envs.groups[0])
    with pytest.raises(RuntimeError, match="recv"):
        envs.send(zeros[:3], envs.groups[0])
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.send(zeros[:3], envs.groups[0])
    for overlap in (0, 6, 1.5, True):
        with pytest.raises(ValueError, match="overlap: must be"):
            OverlappedVectorEnv(envs.task, 5, overlap=overlap)
    with pytest.raises(ValueError, match="overlap: matches"):
        gymnasium.make_vec("soccer/boxhead-1v1-v0", num_envs=2, overlap=2)
    with pytest.raises(TypeError, match="overlap: only of backend='mujoco'"):
        gymnasium.make_vec(ID, num_envs=2, overlap=2, backend="warp")


def test_an_error_reaches_whoever_receives_and_the_others_go_on():
    envs, _ = pair(on_divergence="raise")
    envs.reset(seed=0)
    state = envs.get_state()
    state["qvel"][4] = 9e9
    envs.set_state({"qvel": state["qvel"]})
    zeros = np.zeros(envs.action_space.shape)
    for ids in envs.groups:
        envs.send(zeros[ids], ids)
    assert np.isfinite(envs.recv()[0]).all()
    with pytest.raises(RuntimeError, match="no longer finite"):
        envs.recv()
    envs.send(zeros[:3], envs.groups[0])
    envs.recv()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"qvel": (4, np.nan)}, "'qvel' of sub-environment 4 is not finite"),
        ({"steps": (4, -1)}, "'steps' must not be negative"),
    ],
)
def test_a_bad_state_moves_no_group(damage, words):
    envs, _ = pair()
    envs.reset(seed=0)
    before = envs.get_state()
    state = {name: value + 0 for name, value in before.items()}
    state["qpos"] = state["qpos"] + 1
    for name, (row, value) in damage.items():
        state[name][row] = value
    with pytest.raises(ValueError, match=words):
        envs.set_state(state)
    with pytest.raises(ValueError, match=r"'qpos' has shape \(6, 2\), expected \(5, 2\)"):
        envs.set_state({"qpos": np.zeros((6, 2))})
    assert equal(envs.get_state(), before)


def test_a_refused_step_moves_no_group():
    envs, _ = pair(autoreset_mode="Disabled")
    envs.reset(seed=0)
    actions = act(envs, 0)
    envs.set_state({"steps": np.array([0, 0, 0, 0, 3])})
    assert envs.step(actions)[3].tolist() == [False] * 4 + [True]
    before = envs.get_state()
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 4 has ended"):
        envs.step(actions)
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 4 has ended"):
        envs.send(actions[3:], envs.groups[1])
    actions[4, 1] = np.nan
    with pytest.raises(ValueError, match="sub-environment 4, index 1"):
        envs.step(actions)
    with pytest.raises(ValueError, match="sub-environment 4, index 1"):
        envs.send(actions[3:], envs.groups[1])
    assert equal(envs.get_state(), before)


def test_wrong_generators_and_options_change_nothing():
    envs, _ = pair()
    envs.reset(seed=0)
    before = envs.np_random_seed if hasattr(envs, "np_random_seed") else None
    state = envs.get_state()
    with pytest.raises(TypeError, match="np_random"):
        envs.set_attr("np_random", [np.random.default_rng(0)] * 4 + [0])
    with pytest.raises(ValueError, match="reset has no 'rest_mask'; did you mean reset_mask"):
        envs.reset(seed=3, options={"rest_mask": np.ones(5, bool)})
    assert equal(envs.get_state(), state)
    assert before == (envs.np_random_seed if hasattr(envs, "np_random_seed") else None)


def test_a_divergence_names_the_sub_environment():
    envs, _ = pair(on_divergence="raise")
    envs.reset(seed=0)
    envs.set_state({"qvel": np.outer([0, 0, 0, 0, 9e9], [1, 1])})
    with pytest.raises(RuntimeError, match=r"sub-environments \[4\]"):
        envs.step(np.zeros(envs.action_space.shape))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on(duplicate):
    envs, _ = pair()
    envs.reset(seed=1)
    envs.step(act(envs, 0))
    other = duplicate(envs)
    assert other.spec == envs.spec
    for k in range(1, 9):
        assert equal(envs.step(act(envs, k)), other.step(act(envs, k)))
    envs.send(act(envs, 0)[:3], envs.groups[0])
    with pytest.raises(RuntimeError, match="group 0 is stepping"):
        duplicate(envs)
    envs.recv()
    envs.close()
    other.close()


def test_timeouts():
    envs, _ = pair()
    envs.reset(seed=0)
    for timeout in (math.inf, 1e300, np.float32(60), None):
        envs.send(act(envs, 0)[:3], envs.groups[0])
        envs.recv(timeout)
    envs.step_async(act(envs, 0))
    for timeout in (-1, math.nan, "soon"):
        with pytest.raises(ValueError, match="timeout: expected seconds or None"):
            envs.step_wait(timeout)
    envs.step_wait(math.inf)


FORKED = """
import multiprocessing
import gymnasium, mjgym

envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=5, overlap=2)
envs.reset(seed=0)
actions = envs.action_space.sample()
envs.send(actions[:3], envs.groups[0])
context = multiprocessing.get_context("fork")
here, there = context.Pipe()

def child():
    calls = {
        "recv": envs.recv,
        "step": lambda: envs.step(actions),
        "reset": envs.reset,
        "set_state": lambda: envs.set_state({}),
    }
    told = []
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            if "os.fork()" in str(error):
                told.append(name)
    there.send(told)

process = context.Process(target=child)
process.start()
assert here.poll(timeout=60)
print(*here.recv())
process.join(timeout=60)
if process.is_alive():
    process.kill()
envs.recv()
"""


def test_a_fork_is_told_instead_of_hanging():
    assert run_small(FORKED).split() == ["recv", "step", "reset", "set_state"]
