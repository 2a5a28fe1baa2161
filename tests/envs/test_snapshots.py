"""Snapshots: whose they are, one for a whole batch, and options of a reset that there are not."""

import pickle

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym
from helpers.devices import DEVICE
from helpers.lanes import mostly_nightly
from helpers.rollouts import equal
from helpers.stateful_models import MODELS, Remembering
from mjgym.datasets import load, record

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


REMEMBERED = [has for has in MODELS if has != "IPC"]


@pytest.mark.parametrize("has", mostly_nightly(REMEMBERED, quick=4))
def test_what_the_engine_remembers_goes_with_a_snapshot(has):
    """Single and batch, alike in types and shapes, by state, pickle and rollout."""
    env = mjgym.Env(Remembering(has))
    envs = mjgym.VectorEnv(Remembering(has), 2)
    env.reset(seed=0)
    envs.reset(seed=0)
    action = np.full(env.action_space.shape, 0.7)
    for _ in range(20):
        env.step(action)
        envs.step(np.tile(action, (2, 1)))
    state, states = env.get_state(), envs.get_state()
    assert {n: x.dtype for n, x in state.items()} == {n: x.dtype for n, x in states.items()}
    assert all(np.array_equal(states[n][0], x) for n, x in state.items())
    other, others = mjgym.Env(Remembering(has)), mjgym.VectorEnv(Remembering(has), 2)
    other.set_state(state)
    others.set_state(states)
    planned = env.rollout(state, np.tile(action, (2, 5, 1)), snapshots=True)
    copies = [other, pickle.loads(pickle.dumps(env))]
    batches = [others, pickle.loads(pickle.dumps(envs))]
    for t in range(5):
        env.step(action)
        for each in copies:
            each.step(action)
            assert equal(each.get_state(), env.get_state())
        for each in (envs, *batches):
            each.step(np.tile(action, (2, 1)))
            assert equal(each.get_state(), envs.get_state())
        now = env.get_state()
        assert all(np.array_equal(planned.states[n][0, t], now[n]) for n in planned.states)


def test_contact_forces_of_a_flex_go_with_a_snapshot_of_one_environment():
    env, other = (mjgym.Env(Remembering("IPC")) for _ in range(2))
    env.reset(seed=0)
    for _ in range(10):
        env.step(np.zeros(0))
    state = env.get_state()
    assert state["flexvert_lambda"].any()
    other.set_state(state)
    for _ in range(5):
        env.step(np.zeros(0))
        other.step(np.zeros(0))
    assert equal(env.get_state(), other.get_state())
    envs = mjgym.VectorEnv(Remembering("IPC"), 2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"flag ipc.* a single environment takes one"):
        envs.set_state(state)


class Sleepy(Remembering):
    """`Remembering`, in which bodies could sleep."""

    def model(self):
        spec = super().model()
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        return spec


@pytest.mark.parametrize("batch", [False, True])
def test_bodies_stay_awake(batch):
    def make(task):
        return mjgym.VectorEnv(task, 2) if batch else mjgym.Env(task)

    task = Sleepy(has="contacts", time_limit=5.0 + batch)  # not the one compiled before
    with pytest.warns(UserWarning, match=r"Sleepy.model\(\): bodies stay awake"):
        env = make(task)
    awake = make(Remembering("contacts"))
    for each in (env, awake):
        each.reset(seed=0)
        for _ in range(40):
            each.step(np.zeros(each.action_space.shape))
    assert equal(env.get_state(), awake.get_state())


def test_a_demonstration_holds_what_the_engine_remembers(tmp_path):
    pytest.importorskip("h5py")
    plain, path = mjgym.Env(Remembering("plastic joint")), str(tmp_path / "bent.hdf5")
    plain.spec = gymnasium.spec(ID)  # what a file says of its environment
    env = record(plain, path)
    env.reset(seed=0)
    for _ in range(12):
        env.step(np.full(1, 1.0))
    env.keep()
    env.close()
    episode = load(path).episode(0)
    assert episode.states["plastic"][-1].any()
    assert np.array_equal(episode.states["plastic"][-1], plain.data.plastic)
