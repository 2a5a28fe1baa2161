"""Snapshots: whose they are, one for a whole batch, and options of a reset that there are not."""

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.devices import DEVICE
from helpers.rollouts import equal

ID, OTHER = "dmc/walker-walk-v0", "dmc/walker-run-v0"
PLAYED = "soccer/boxhead-1v1-v0"


def makers():
    return {
        "env": lambda id: gymnasium.make(id).unwrapped,
        "batch": lambda id: gymnasium.make_vec(id, num_envs=2),
        "overlapped": lambda id: gymnasium.make_vec(id, num_envs=2, overlap=2),
    }


@pytest.mark.parametrize("kind", makers())
def test_a_snapshot_is_refused_by_another_id(kind):
    env, other = (makers()[kind](id) for id in (ID, OTHER))
    env.reset(seed=0)
    other.reset(seed=1)
    state, before = env.get_state(), other.get_state()
    assert bytes(np.ravel(state["id"]))[: len(ID)].decode() == ID
    with pytest.raises(ValueError, match=f"state: it is of '{ID}', not of '{OTHER}'"):
        other.set_state(state)
    assert equal(before, other.get_state())
    del state["id"]
    other.set_state(state)
    assert np.array_equal(other.get_state()["qpos"], state["qpos"])


@pytest.mark.parametrize("kind", makers())
def test_the_id_is_said_also_where_nothing_fits(kind):
    env, reacher = (makers()[kind](id) for id in (ID, "dmc/reacher-easy-v0"))
    reacher.reset(seed=0)
    with pytest.raises(ValueError, match=f"state: it is of 'dmc/reacher-easy-v0', not of '{ID}'"):
        env.set_state(reacher.get_state())


def test_matches_have_the_id_of_their_players():
    envs = gymnasium.make_vec(PLAYED, num_envs=1)
    envs.reset(seed=0)
    assert bytes(envs.get_state()["id"][0]).decode() == PLAYED
    assert envs.spec.id == PLAYED


def test_a_task_without_an_id_takes_any_snapshot():
    env = gymnasium.make(ID).unwrapped
    env.reset(seed=0)
    free = mjgym.Env(env.task)
    free.reset(seed=1)
    assert "id" not in free.get_state()
    free.set_state(env.get_state())
    env.set_state(free.get_state())


@pytest.mark.parametrize("overlap", [1, 2])
def test_a_batch_takes_one_state_for_all(overlap):
    env = gymnasium.make(ID).unwrapped
    env.reset(seed=3)
    env.step(env.action_space.sample())
    envs = gymnasium.make_vec(ID, num_envs=3, overlap=overlap)
    envs.reset(seed=0)
    state = env.get_state()
    for given in (state, {name: value[None] for name, value in state.items()}):
        seen = envs.set_state(given)
        assert np.array_equal(seen, np.stack([env.set_state(state)] * 3))
        assert all(
            np.array_equal(value, np.stack([state[name]] * 3))
            for name, value in envs.get_state().items()
        )
    action = np.ones(envs.action_space.shape) / 3
    assert np.array_equal(envs.step(action)[0][2], env.step(action[0])[0])


@pytest.mark.parametrize("kind", makers())
def test_unknown_options_of_a_reset_are_refused(kind):
    env = makers()[kind](ID)
    env.reset(seed=0)
    before = env.get_state()
    hint = "; there are none" if kind == "env" else "; did you mean reset_mask"
    with pytest.raises(ValueError, match="options: reset has no 'rest_mask'" + hint):
        env.reset(seed=1, options={"rest_mask": np.array([True, False])})
    with pytest.raises(TypeError, match="options: expected a dict"):
        env.reset(seed=1, options=["reset_mask"])
    assert equal(before, env.get_state())
    env.reset(options={})


def test_unknown_options_of_players_are_refused():
    envs = gymnasium.make_vec(PLAYED, num_envs=1)
    with pytest.raises(ValueError, match="'rest_mask'; did you mean reset_mask"):
        envs.reset(options={"rest_mask": np.ones(2, bool)})
    pytest.importorskip("pettingzoo")
    with pytest.raises(ValueError, match="reset has no 'rest_mask'"):
        mjgym.parallel_env(PLAYED).reset(options={"rest_mask": np.ones(2, bool)})


@pytest.mark.warp
def test_unknown_options_on_the_device_are_refused():
    pytest.importorskip("mujoco_warp")
    envs = gymnasium.make_vec("dmc/cartpole-swingup-v0", 2, backend="warp", device=DEVICE)
    with pytest.raises(ValueError, match="'rest_mask'; did you mean reset_mask"):
        envs.reset(options={"rest_mask": np.ones(2, bool)})
