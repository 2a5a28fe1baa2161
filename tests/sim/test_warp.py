"""Environments on MuJoCo Warp beside those on MuJoCo: the same episodes, to float32."""

import copy
import json
import pickle
import re
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers.lanes import lane, mostly_nightly
from helpers.registered import packaged_ids
from helpers.small_process import fresh
from helpers.stateful_models import Remembering
from helpers.toys import EPISODE, OPTIONS, EverySubstep, Probe

pytest.importorskip("mujoco_warp", reason='needs MuJoCo Warp: pip install -e ".[gpu]"')

import torch
from typer.testing import CliRunner

import mjgym
from helpers import warp_records
from helpers.devices import DEVICE, KIND
from helpers.places import ROOT
from mjgym import variation
from mjgym.actions import Action
from mjgym.cli import diagnosis
from mjgym.cli.app import app
from mjgym.envs.env import Env
from mjgym.envs.players import PlayersVectorEnv
from mjgym.envs.tensor_vector import BufferWarning, TensorVectorEnv
from mjgym.envs.vector import VectorEnv
from mjgym.sim import Single
from mjgym.sim.warp import Device, EngineWarning, graphs, measured
from mjgym.sim.warp.device import Nonblocking

pytestmark = pytest.mark.warp

N = 3
CLOSE = 1e-5  # of a few steps of a cart in float32
CART = "dmc/cartpole-swingup-v0"
ROOM = {"nconmax": 16, "njmax": 32}  # the same for all, which then share their kernels


def make(id, n=N, **options):
    defaults = {"backend": "warp", "device": DEVICE, "output": "numpy", **ROOM}
    return gymnasium.make_vec(id, num_envs=n, **{**defaults, **options})


def assert_same(found, wanted, where="", close=CLOSE):
    """Equal structure, masks and flags, and numbers that are close."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted) or set(found) == set(wanted), where
        for name, value in wanted.items():
            assert_same(found[name], value, f"{where}[{name}]", close)
    elif isinstance(wanted, tuple):
        assert len(found) == len(wanted), where
        for i, value in enumerate(wanted):
            assert_same(found[i], value, f"{where}[{i}]", close)
    elif wanted is None:
        assert found is None, where
    elif wanted.dtype == object:
        assert found.dtype == object, where
        assert_same(tuple(found), tuple(wanted), where, close)
    else:
        assert found.shape == wanted.shape, where
        assert found.dtype.kind == wanted.dtype.kind, where
        np.testing.assert_allclose(found, wanted, atol=close, rtol=close, err_msg=where)


def without_random_numbers(state):
    return {name: value for name, value in state.items() if not name.startswith("rng")}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("task", [Probe(), EverySubstep()], ids=["step", "every substep"])
def test_episodes_are_those_of_the_processor(task, mode, options):
    options = {"autoreset_mode": mode, "max_episode_steps": EPISODE - 1, **options}
    ours = TensorVectorEnv(task, N, device=DEVICE, output="numpy", **ROOM, **options)
    theirs = VectorEnv(task, N, threads=1, **options)
    assert ours.metadata["autoreset_mode"] == mode
    assert ours.observation_space == theirs.observation_space
    assert_same(ours.reset(seed=7), theirs.reset(seed=7))
    rng = np.random.default_rng(0)
    done = np.zeros(N, dtype=bool)
    for step in range(2 * EPISODE + 3):
        if mode == AutoresetMode.DISABLED and done.any():
            with pytest.raises(
                gymnasium.error.ResetNeeded, match=r"sub-environment [0-2] has ended"
            ):
                ours.step(np.zeros((N, 1)))
            mask = {"reset_mask": done}
            assert_same(ours.reset(options=mask), theirs.reset(options=mask), "reset")
        # So that episodes do not end together.
        if step == 1:
            some = {"reset_mask": np.array([False, True, False])}
            assert_same(ours.reset(options=some), theirs.reset(options=some), "some")
        action = rng.uniform(-1, 1, (N, 1)).astype(np.float32)
        result = theirs.step(action)
        assert_same(ours.step(action), result, f"step {step}")
        done = result[2] | result[3]
        assert_same(
            without_random_numbers(ours.get_state()), without_random_numbers(theirs.get_state())
        )
        assert (ours.get_state()["rng"] == theirs.get_state()["rng"]).all()
    ours.close()
    theirs.close()


@dataclass(frozen=True)
class Duel(Probe):
    """Two players push one cart from its two sides, and see how near it is to theirs."""

    @property
    def players(self):
        return ("home_0", "away_0")

    def actions(self, model):
        return [Action(player, -1.0, 1.0) for player in self.players]

    def before_step(self, v, action):
        return {"goal": v.qpos[..., 0] + action[..., 0] - action[..., 1]}

    def terms(self, v):
        place = v.qpos[..., 0]
        return {"forward": v.xp.stack([place, -place], axis=-1)}

    def reward(self, terms):
        return 2 * terms["forward"]

    def observation(self, v):
        place = v.qpos[..., 0]
        both = v.xp.stack([place, -place], axis=-1)
        return {"position": both, "speed": both[..., None] * v.qvel[..., None, :]}


@pytest.mark.parametrize("observation", ["flat", "dict"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_players_of_matches_are_those_of_the_processor(mode, observation):
    options = {
        "autoreset_mode": mode,
        "max_episode_steps": EPISODE - 1,
        "observation": observation,
        "vary": {"body_mass[cart]": variation.factor(variation.Uniform(0.5, 2.0))},
    }
    on_warp = {"on": TensorVectorEnv, "device": DEVICE, **ROOM, **options}
    tensors = PlayersVectorEnv(Duel(), N, **on_warp)
    arrays = PlayersVectorEnv(Duel(), N, output="numpy", **on_warp)
    theirs = PlayersVectorEnv(Duel(), N, threads=1, **options)
    all_envs = (tensors, arrays, theirs)
    rng = np.random.default_rng(0)
    done = np.ones(2 * N, dtype=bool)
    for step in range(2 * EPISODE + 3):
        if step == 0 or (mode == AutoresetMode.DISABLED and done.any()):
            mask = {"reset_mask": done}
            as_tensor = {"reset_mask": torch.as_tensor(done)}
            seed = 7 if step == 0 else None
            tensors.reset(seed=seed, options=as_tensor)
            started = theirs.reset(seed=seed, options=mask)
            assert_same(arrays.reset(seed=seed, options=mask), started, "reset")
        if step == 1:  # so that matches do not end together
            some = {"reset_mask": np.array([False, False, True, True, False, False])}
            for envs in all_envs:
                envs.reset(options=some)
        action = rng.uniform(-1, 1, (2 * N, 1)).astype(np.float32)
        result = theirs.step(action)
        assert_same(arrays.step(action), result, f"step {step}")
        observed, *others, info = tensors.step(torch.as_tensor(action))
        assert_same(_in_numpy(observed), result[0], f"step {step}")
        assert_same(_in_numpy(tuple(others)), result[1:4], f"step {step}")
        for name, values in result[4].items():
            if name not in ("final_obs", "final_info"):
                assert_same(_in_numpy(info[name]), values, f"step {step} {name}")
        if mode == AutoresetMode.SAME_STEP and "final_obs" in result[4]:
            final = _in_numpy(info["final_obs"])
            for i in np.flatnonzero(result[4]["_final_obs"]).tolist():
                one = {k: v[i] for k, v in final.items()} if observation == "dict" else final[i]
                assert_same(one, result[4]["final_obs"][i], f"final {step}")
        done = result[2] | result[3]
    wrong = np.zeros((2 * N, 1), np.float32)
    wrong[3] = np.inf
    if mode != AutoresetMode.DISABLED:
        for envs in all_envs:
            with pytest.raises(ValueError, match="inf at sub-environment 3, index 0"):
                envs.step(torch.as_tensor(wrong) if envs is tensors else wrong)
    for envs in all_envs:
        envs.close()


def _in_numpy(values):
    """Tensors of results, wherever they stand, as arrays; floats in double precision."""
    if isinstance(values, dict):
        return {name: _in_numpy(value) for name, value in values.items()}
    if isinstance(values, tuple):
        return tuple(_in_numpy(value) for value in values)
    assert isinstance(values, torch.Tensor)
    return values.cpu().numpy()


def test_soccer_is_played_on_a_device():
    envs = make("soccer/boxhead-1v1-v0", nconmax=32, njmax=48, output="torch")
    assert envs.num_envs == 2 * N
    assert envs.device.startswith(KIND)
    theirs = gymnasium.make_vec("soccer/boxhead-1v1-v0", num_envs=N)
    observations, _ = envs.reset(seed=0)
    np.testing.assert_allclose(observations.cpu(), theirs.reset(seed=0)[0], rtol=1e-4, atol=1e-4)
    observations, rewards, *_, info = envs.step(torch.zeros(envs.action_space.shape))
    assert observations.shape == (2 * N, *envs.single_observation_space.shape)
    assert rewards.shape == (2 * N,)
    assert info["match"].tolist() == [0, 0, 1, 1, 2, 2]
    assert info["team"].tolist() == [0, 1] * N
    envs.close()
    theirs.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_starts_drawn_ahead_are_the_same_starts(threads):
    envs = [make(CART, max_episode_steps=2, start_threads=n) for n in (0, threads)]
    action = np.zeros((N, 1), np.float32)
    for a, b in zip(*([env.reset(seed=3)[0]] for env in envs), strict=True):
        assert (a == b).all()
    for step in range(9):
        first, second = (env.step(action) for env in envs)
        assert (first[0] == second[0]).all()
        states = [env.get_state() for env in envs]
        assert all((states[0][name] == states[1][name]).all() for name in states[0])
        if step == 4:  # another stream, and back to the same one
            for env in envs:
                env.set_attr("np_random", [np.random.default_rng(i) for i in range(N)])
        if step == 6:
            for env, state in zip(envs, states, strict=True):
                env.set_state(state)
    draws = [[rng.uniform() for rng in env.np_random] for env in envs]
    assert draws[0] == draws[1]
    for env in envs:
        env.close()


@lane(1, 3)
def test_three_deterministic_runs_are_equal():
    runs = []
    for _ in range(3):
        envs = make("dmc/walker-walk-v0", deterministic=True)
        rng = np.random.default_rng(0)
        seen = [envs.reset(seed=0)[0]]
        for _ in range(30):  # it has fallen by then
            action = rng.uniform(-1, 1, envs.action_space.shape).astype(np.float32)
            seen += envs.step(action)[:2]
        runs.append([np.array(x).tobytes() for x in seen])
        envs.close()
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.weekly
def test_all_measurements_on_a_device_in_a_small_form(tmp_path):
    file = tmp_path / "gpu.jsonl"
    command = [sys.executable, ROOT / "benchmarks" / "gpu.py", "--all", "--quick"]
    command += ["--device", DEVICE, "--out", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["measurement"] for line in lines} == {
        *("correctness", "speed", "parts", "memory", "pictures", "learning"),
        *(("kernels",) if KIND == "cuda" else ()),
    }
    for line in lines:
        assert line["device"] == ("cpu" if KIND == "cpu" else torch.cuda.get_device_name())
        assert line["versions"]["mujoco"] == mujoco.__version__
        assert "error" not in line, line
    error = next(line["median"] for line in lines if line["measurement"] == "correctness")
    assert error < 1e-4
    table = [*command[:2], "--table", file]
    shown = subprocess.run(table, capture_output=True, text=True, check=True).stdout
    assert "| `dmc/walker-walk-v0` | 4 |" in shown


def test_tensors_on_the_device():
    envs = make(CART, output="torch", autoreset_mode="SameStep", max_episode_steps=2)
    observation, info = envs.reset(seed=0)
    assert observation.dtype == torch.float32
    assert observation.shape == (N, *envs.single_observation_space.shape)
    assert info == {}
    for _ in range(2):
        result = envs.step(torch.zeros(N, 1))
    observation, reward, terminated, truncated, info = result
    kinds = [value.dtype for value in (observation, reward, terminated, truncated)]
    assert kinds == [torch.float32, torch.float32, torch.bool, torch.bool]
    assert truncated.all()
    assert info["final_obs"].shape == observation.shape
    assert info["_final_obs"].all()
    assert not torch.equal(info["final_obs"], observation)
    assert all(isinstance(value, torch.Tensor) for value in info["final_info"].values())
    assert {value.device.type for value in result[:4]} == {KIND}
    shared = envs.view.qpos
    assert shared.data_ptr() == envs.view.qpos.data_ptr()
    before = shared.clone()
    envs.step(torch.ones(N, 1))
    assert not torch.equal(before, shared)  # live, not a copy
    assert envs.view.body("cart").xpos.shape == (N, 3)
    assert torch.equal(envs.view.joint("slider").qpos[:, 0], shared[:, 0])
    kept = observation.clone()
    envs.step(torch.ones(N, 1))
    assert torch.equal(kept, observation)  # a result is the caller's own
    last = envs.step(torch.ones(N, 1))[0]
    kept = last.clone()
    last.zero_()
    envs.view.qvel[1] = torch.nan
    assert torch.equal(envs.step(torch.ones(N, 1))[4]["final_obs"][1], kept[1])
    observed = envs.call("observe", ids=[0, 2])
    assert torch.equal(observed[1]["position"], envs.observe()["position"][2])
    envs.close()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_on(duplicate):
    envs = make("dmc/reacher-easy-v0", max_episode_steps=4)
    envs.reset(seed=5)
    action = np.full((N, 2), 0.3, np.float32)
    for _ in range(3):
        envs.step(action)
    other = duplicate(envs)
    for _ in range(4):
        assert_same(other.step(action), envs.step(action), close=1e-6)
    envs.close()
    other.close()


def test_states_go_from_one_engine_to_the_other():
    ours, theirs = make("dmc/reacher-easy-v0"), gymnasium.make_vec("dmc/reacher-easy-v0", N)
    theirs.reset(seed=1)
    ours.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        theirs.step(rng.uniform(-1, 1, (N, 2)))
    state = theirs.get_state()
    assert_same(ours.set_state(state), theirs.set_state(state))
    found = ours.get_state()
    assert {k: v.dtype for k, v in found.items()} == {k: v.dtype for k, v in state.items()}
    assert_same(found, state)
    one = {name: value[1:2] for name, value in state.items()}
    before = without_random_numbers(ours.get_state([1, 2]))
    ours.set_state(one, ids=[0])
    assert_same(without_random_numbers(ours.get_state([0])), without_random_numbers(one))
    assert_same(without_random_numbers(ours.get_state([1, 2])), before, close=0)
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "mode", mostly_nightly([AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], 2)
)
def test_a_diverging_world_ends_alone(mode):
    ours, theirs = (
        make("dmc/walker-walk-v0", nconmax=32, njmax=64, autoreset_mode=mode) for _ in range(2)
    )
    action = np.zeros((N, 6), np.float32)
    for envs in (ours, theirs):
        envs.reset(seed=0)
        envs.step(action)
    last = ours.step(action)[0]
    theirs.step(action)
    ours.view.qvel[1] = np.nan
    observation, reward, terminated, truncated, info = ours.step(action)
    wanted = theirs.step(action)
    at_the_end = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
    assert list(at_the_end["diverged"]) == [False, True, False]
    assert list(truncated) == [False, True, False]
    assert not terminated.any()
    assert reward[1] == 0
    final = info["final_obs"][1] if mode == AutoresetMode.SAME_STEP else observation[1]
    assert (final == last[1]).all()
    for i in (0, 2):
        assert_same(observation[i], wanted[0][i])
        assert_same(reward[i], wanted[1][i])
    for _ in range(3):
        observation, *_, info = ours.step(action)
        wanted = theirs.step(action)
        assert np.isfinite(observation).all()
        assert not info["diverged"].any()
        for i in (0, 2):
            assert_same(observation[i], wanted[0][i], close=1e-4)
    ours.close()
    theirs.close()


def test_divergence_raises_on_request():
    envs = make(CART, on_divergence="raise")
    envs.reset(seed=0)
    envs.view.qvel[2] = np.inf
    with pytest.raises(mjgym.DivergenceError, match=r"\[2\] of CartPole|\[2\] of"):
        envs.step(np.zeros((N, 1)))
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 2"):
        envs.step(np.zeros((N, 1)))
    envs.close()


@pytest.mark.parametrize("lacking", mostly_nightly(["captures", "loops"], 2))
def test_a_device_without_graphs_makes_the_same_steps(lacking, monkeypatch):
    """Kernels are launched one by one there, or loops run to their end."""
    usual = make(CART)
    before = Device.__init__

    def without(self, name):
        before(self, name)
        setattr(self, lacking, False)

    monkeypatch.setattr(Device, "__init__", without)
    other = make(CART)
    for envs in (usual, other):
        envs.reset(seed=1)
    for _ in range(3):
        action = usual.action_space.sample()
        assert_same(other.step(action), usual.step(action), close=0)
    assert usual._simulations._graphs
    assert bool(other._simulations._graphs) == (lacking != "captures")
    assert other._simulations._engine.opt.graph_conditional == (lacking != "loops")
    usual.close()
    other.close()


def test_every_world_has_its_own_terrain():
    """A ball on a height field of its own rests on that."""

    class Ball(Probe):
        varies = ("hfield_data",)

        def model(self):
            return mujoco.MjSpec.from_string("""
                <mujoco><option timestep="0.01"/>
                  <asset><hfield name="ground" nrow="4" ncol="4" size="2 2 1 0.1"/></asset>
                  <worldbody><geom name="ground" type="hfield" hfield="ground"/>
                    <body name="cart" pos="0.1 0.1 1.2"><joint name="slide" type="slide"
                    axis="0 0 1"/><geom size="0.1"/></body></worldbody>
                  <actuator><motor name="push" joint="slide" gear="0.001"/></actuator></mujoco>""")

        def initialize(self, v, rng):
            v.hfield_data = rng.uniform(0, 1)

        def truncated(self, v):
            return False

    ours = TensorVectorEnv(Ball(), N, device=DEVICE, output="numpy", nconmax=32, njmax=64)
    theirs = VectorEnv(Ball(), N)
    for envs in (ours, theirs):
        envs.reset(seed=0)
    action = np.zeros((N, 1), np.float32)
    for _ in range(30):  # until all have fallen
        ours.step(action)
        theirs.step(action)
    heights = ours.get_state()["hfield_data"]
    assert_same(heights, theirs.get_state()["hfield_data"])
    assert len(np.unique(heights)) == N
    low, contact = ours.get_state()["qpos"][:, 0], theirs.get_state()["qpos"][:, 0]
    np.testing.assert_allclose(low, contact, atol=0.05)
    assert np.ptp(contact) > 0.1
    ours.close()
    theirs.close()


def test_varied_numbers_are_those_of_the_processor():
    vary = {
        "geom_size[ball]": variation.factor(variation.Uniform(0.8, 1.2)),
        "geom_friction[floor, 0]": variation.Uniform(0.2, 1.0),
        "opt.gravity[2]": variation.Uniform(-12.0, -8.0),
        "body_mass[ball]": variation.factor(variation.Uniform(0.5, 2.0)),
        "opt.density": variation.Uniform(1.0, 100.0),
    }

    class Falling(Probe):
        def model(self):
            return mujoco.MjSpec.from_string("""
                <mujoco><option timestep="0.01"/>
                  <worldbody><geom name="floor" type="plane" size="5 5 1"/>
                    <body name="ball" pos="0 0 0.2"><freejoint name="slide"/>
                    <geom name="ball" size="0.1"/></body></worldbody>
                  <actuator><motor name="push" joint="slide" gear="1 0 0 0 0 0"/></actuator>
                </mujoco>""")

        def initialize(self, v, rng):
            v.qvel[0] = rng.uniform(-1, 1)

    ours = TensorVectorEnv(Falling(), N, device=DEVICE, output="numpy", vary=vary, **ROOM)
    theirs = VectorEnv(Falling(), N, vary=vary)
    assert_same(ours.reset(seed=0), theirs.reset(seed=0))
    rng = np.random.default_rng(0)
    for _ in range(8):
        action = rng.uniform(-1, 1, (N, 1)).astype(np.float32)
        assert_same(ours.step(action), theirs.step(action), close=2e-3)
    state, wanted = ours.get_state(), theirs.get_state()
    assert_same(without_random_numbers(state), without_random_numbers(wanted), close=5e-3)
    assert len(np.unique(state["opt.gravity"][:, 2])) == N
    ours.close()
    theirs.close()


def test_measured_buffers_suffice():
    envs = make("dmc/walker-walk-v0", nconmax=None, njmax=None)
    envs.reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            envs.step(envs.action_space.sample())
    assert envs._simulations.overflow() == ""
    assert envs.buffers.nconmax % 16 == envs.buffers.njmax % 16 == 0
    assert 0.005 < envs.nbytes / N / 1e6 < 1  # MB
    envs.close()


def test_measuring_buffers_is_silent(tmp_path, monkeypatch, capfd):
    """Random controls may make a model diverge, of which the engine would write a log."""
    monkeypatch.chdir(tmp_path)
    scratch = Single(gymnasium.make("dmc/cartpole-swingup-v0").unwrapped.model)

    def start(episode, simulation):
        simulation.data.qvel[:] = np.nan

    measured(scratch, start, 1)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_full_buffers_are_noticed_once(monkeypatch):
    monkeypatch.setattr("mjgym.envs.tensor_vector.LOOK_EVERY", 2)
    envs = make("dmc/walker-walk-v0", nconmax=1, njmax=64)
    envs.reset(seed=0)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for _ in range(60):  # until the walkers have fallen
            envs.step(np.zeros((N, 6)))
    (said,) = [str(w.message) for w in noted if issubclass(w.category, BufferWarning)]
    assert "contacts: nconmax=1 per world" in said
    envs.close()


@pytest.mark.parametrize(
    ("id", "options", "error", "words"),
    [
        (CART, {"device": "cuda:99"}, ValueError, "device: Warp has no 'cuda:99'.*'cpu'"),
        (CART, {"output": "jax"}, ValueError, "output: 'jax' is none of torch, numpy"),
        (CART, {"backend": "wrap"}, ValueError, "backend: 'wrap' is none of mujoco, warp"),
        (CART, {"threads": 2}, TypeError, "threads: only of backend='mujoco'"),
        (CART, {"njmax": 0}, ValueError, "njmax: must be at least 1"),
        (CART, {"outputs": "numpy"}, TypeError, "outputs.*output"),
        (CART, {"observation": "pixels", "pixels": {"camera": -1}}, NotImplementedError, "free"),
        ("dmc/point_mass-hard-v0", {}, NotImplementedError, "wrap_prm once for all worlds"),
    ],
)
def test_what_there_is_not_is_named(id, options, error, words):
    with pytest.raises(error, match=words):
        make(id, **options)


def test_more_worlds_than_there_is_memory_for_are_refused():
    with pytest.raises(ValueError, match="num_envs: 2000000000 simulations need"):
        gymnasium.make_vec(CART, num_envs=2 * 10**9, backend="warp", device="cpu")


@pytest.mark.gl
@pytest.mark.parametrize("id", mostly_nightly([CART, "dmc/walker-walk-v0"], 4))
def test_pictures_of_the_device_are_those_of_opengl(id):
    """Rays and OpenGL sample a pixel at other places: edges and stars differ."""
    pixels = {"camera": [0, 1], "width": 64, "height": 48}
    for kind in ("rgb", "depth"):
        options = {"observation": "dict+pixels", "pixels": {**pixels, "kind": kind}}
        envs = make(id, observation="dict+pixels", pixels=options["pixels"])
        peers = gymnasium.make_vec(id, num_envs=N, **options)
        found, _ = envs.reset(seed=0)
        wanted, _ = peers.reset(seed=0)
        action = np.full(envs.action_space.shape, 0.3)
        for _ in range(3):
            found, *_ = envs.step(action)
            wanted, *_ = peers.step(action)
        for name in ("pixels_0", "pixels_1"):
            assert found[name].shape == wanted[name].shape
            assert found[name].dtype == wanted[name].dtype
            assert envs.observation_space[name].contains(found[name])
            if kind == "rgb":
                difference = np.abs(found[name].astype(int) - wanted[name])
                assert difference.mean() < 8, name
                assert np.median(difference) <= 3, name
            else:
                near = np.abs(found[name] - wanted[name]) < 0.01 * wanted[name]
                assert near.mean() > 0.96, name
        envs.close()
        peers.close()


def test_pictures_of_the_device_follow_who_begins_anew():
    envs = make(CART, observation="pixels", pixels={"width": 32, "height": 24})
    first, _ = envs.reset(seed=0)
    mask = np.array([False, True, False])
    again, _ = envs.reset(seed=[None, 9, None], options={"reset_mask": mask})
    changed = (first != again).any(axis=(1, 2, 3))
    np.testing.assert_array_equal(changed, mask)
    alone = make(CART, 1, observation="pixels", pixels={"width": 32, "height": 24})
    np.testing.assert_array_equal(alone.reset(seed=9)[0][0], again[1])
    for each in (envs, alone):
        each.close()


def test_another_search_for_contacts_is_told():
    class Old(Probe):
        def model(self):
            spec = super().model()
            spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
            return spec

    with pytest.warns(EngineWarning, match="libccd"):
        TensorVectorEnv(Old(), N, device=DEVICE, **ROOM).close()


def test_device_belongs_to_warp():
    with pytest.raises(TypeError, match="device: only of backend='warp'"):
        gymnasium.make_vec(CART, num_envs=2, device="cpu")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (torch.zeros(N, 2), r"shape \(3, 1\), got \(3, 2\)"),
        (torch.tensor([[0.0], [0.0], [np.nan]]), "sub-environment 2, index 0"),
        (np.array([[0.0], [np.inf], [0.0]]), "sub-environment 1, index 0"),
        (torch.zeros(N, 1, dtype=torch.bool), "real numbers"),
    ],
)
def test_wrong_actions_are_refused_before_anything_is_stepped(action, words):
    envs = make(CART)
    envs.reset(seed=0)
    before = envs.get_state()
    with pytest.raises(ValueError, match=words):
        envs.step(action)
    assert_same(envs.get_state(), before, close=0)
    envs.close()


def test_stepping_without_an_episode():
    envs = make(CART)
    with pytest.raises(gymnasium.error.ResetNeeded, match="sub-environment 0"):
        envs.step(np.zeros((N, 1)))
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.step(np.zeros((N, 1)))


def test_nothing_of_it_is_imported_for_the_processor():
    code = (
        "import sys, gymnasium, mjgym; e = gymnasium.make_vec('dmc/pendulum-swingup-v0', 2);"
        "e.reset(seed=0); e.step(e.action_space.sample());"
        "print([m for m in ('torch', 'warp', 'mujoco_warp') if m in sys.modules])"
    )
    assert fresh(code) == "[]\n"


@pytest.mark.weekly
def test_bench_times_it():
    arguments = ["--device", DEVICE, "--num-envs", "2", "--seconds", "0.01", "--json"]
    result = CliRunner().invoke(app, ["bench", CART, "--backend", "warp", *arguments])
    content = json.loads(result.stdout)
    (row,) = content["results"]
    assert content["device"] == DEVICE
    assert row["steps_per_second"] > 0
    assert row["bytes_per_env"] > 0


def test_doctor_names_the_devices():
    problems, notes = [], []
    found = diagnosis.judge_warp([], problems, notes)
    assert found[0]["device"] == "cpu"
    assert problems == notes == []
    unseen = {"name": "GPU", "driver_version": "1.0"}
    if not torch.cuda.is_available():
        diagnosis.judge_warp([unseen], problems, notes)
        assert "Warp does not see it (driver 1.0)" in problems[0]["problem"]


def test_gymnasium_wrappers_take_it():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(make(CART, max_episode_steps=3))
    envs.reset(seed=0)
    for _ in range(3):
        *_, info = envs.step(envs.action_space.sample())
    assert list(info["episode"]["l"]) == [3] * N
    envs.close()


# Ids whose kernels are compiled within the time that CI has: RK4, a placed target, contacts, a
# string.
SUBSET = (CART, "dmc/reacher-easy-v0", "dmc/walker-walk-v0", "dmc/ball_in_cup-catch-v0")


@pytest.mark.parametrize("id", SUBSET)
def test_recorded_transitions(id):
    assert warp_records.above(warp_records.errors(id, DEVICE), warp_records.bounds()[id]) == []


def test_every_id_has_bounds_and_large_ones_a_reason():
    assert set(warp_records.bounds()) == set(packaged_ids())
    for id, bound in warp_records.bounds().items():
        if "missing" in bound:
            assert re.search("holds|unsupported", bound["missing"]), id
        elif "why" not in bound:
            largest = max(bound["state"], bound["observation"], bound["reward"])
            assert largest <= warp_records.PLAIN, id


class Repeated:
    """In place of a CUDA graph: the function on tensors that stay in place."""

    def __init__(self, function, arguments, tensors):
        self.inputs = [tensor.clone() for tensor in tensors]
        taken = iter(self.inputs)
        self.arguments = graphs.mapped(arguments, lambda _: next(taken))
        self.function = function

    def __call__(self, tensors):
        for held, tensor in zip(self.inputs, tensors, strict=True):
            held.copy_(tensor)
        return graphs.mapped(self.function(*self.arguments), torch.clone)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("task", [Probe(), EverySubstep()], ids=["step", "every substep"])
def test_hooks_of_graphs_are_the_hooks(task, mode, monkeypatch):
    """Recorded at their second call; a GPU's own graphs are tested on a GPU."""
    made = []
    monkeypatch.setattr(graphs, "_Graph", lambda *given: made.append(Repeated(*given)) or made[-1])
    monkeypatch.setattr(graphs, "_refused_waits", nullcontext)
    monkeypatch.setattr(graphs, "FEW", -1)
    options = {"autoreset_mode": mode, "max_episode_steps": EPISODE - 1, "device": "cpu", **ROOM}
    theirs = TensorVectorEnv(task, N, **options)
    ours = TensorVectorEnv(task, N, **options)
    ours._episodes.task = graphs.GraphedHooks(task, ours._simulations.view, ours._device)
    assert_equal_tensors(ours.reset(seed=7), theirs.reset(seed=7))
    rng = np.random.default_rng(0)
    for _ in range(2 * EPISODE + 3):
        action = torch.as_tensor(rng.uniform(-1, 1, (N, 1)).astype(np.float32))
        results = ours.step(action), theirs.step(action)
        assert_equal_tensors(*results)
        done = results[0][2] | results[0][3]
        if mode == AutoresetMode.DISABLED and done.any():
            mask = {"reset_mask": done}
            assert_equal_tensors(ours.reset(options=mask), theirs.reset(options=mask))
    assert len(made) > 3
    ours.close()
    theirs.close()


def assert_equal_tensors(found, wanted):
    pairs = [], []
    assert graphs._form(found, pairs[0]) == graphs._form(wanted, pairs[1])
    assert all(map(torch.equal, *pairs))


def test_functions_that_graphs_do_not_repeat_are_called(monkeypatch):
    monkeypatch.setattr(graphs, "_refused_waits", nullcontext)
    device, calls = Device("cpu"), []

    def counted(x):
        calls.append(x)
        return x + len(calls)  # other numbers each time

    function = graphs.Graphed(counted, device)
    monkeypatch.setattr(graphs, "FEW", -1)
    monkeypatch.setattr(graphs, "_Graph", Repeated)
    found = [float(function(torch.zeros(1))) for _ in range(5)]
    assert found == [1, 2, 4, 5, 6]  # the third call was a graph's, which was discarded
    assert list(function._graphs.values()) == [None]
    listed = graphs.Graphed(lambda x: [x], device)
    numpy = graphs.Graphed(lambda x: x, device)
    for _ in range(3):
        assert listed(torch.zeros(1)) == [torch.zeros(1)]
        assert numpy(np.zeros(2)).shape == (2,)
    assert list(listed._graphs.values()) == [None]
    assert not numpy._graphs


def test_constants_are_copied_to_a_device_once():
    new = Nonblocking(torch.device("cpu"))
    constants = (1.5, True, 3, -0.0, [1.0, 2.0], (1, 2), np.arange(3.0), np.float32(2), [[True]])
    for value in constants:
        for dtype in (None, torch.float64):
            wanted = torch.asarray(value, dtype=dtype)
            with new:
                first, second = (torch.asarray(value, dtype=dtype) for _ in range(2))
            assert first.dtype == second.dtype == wanted.dtype
            assert torch.equal(first, wanted)
            first.fill_(0)
            assert torch.equal(second, wanted)  # the caller's own
    assert len(new._kept) == 2 * len(constants)
    with new:
        assert torch.equal(torch.asarray([torch.tensor(2.0)] * 2), torch.full((2,), 2.0))
        assert torch.zeros(2).device.type == "cpu"
        for i in range(1000):
            torch.asarray(float(i))
    assert len(new._kept) <= 512


@pytest.mark.parametrize("has", ["plastic joint", "switched", "delays"])
def test_what_the_engine_remembers_goes_with_a_snapshot(has):
    envs, others = (TensorVectorEnv(Remembering(has), 2, device=DEVICE, **ROOM) for _ in range(2))
    envs.reset(seed=0)
    others.reset(seed=1)
    action = torch.full((2, *envs.single_action_space.shape), 0.7, device=DEVICE)
    for _ in range(10):
        envs.step(action)
    state, alone = envs.get_state(), Env(Remembering(has)).get_state()
    assert {n: x.dtype for n, x in state.items()} == {n: x.dtype for n, x in alone.items()}
    assert state["plastic"].all() if has == "plastic joint" else "plastic" not in state
    others.set_state(state)
    for _ in range(5):
        seen, expected = others.step(action)[0], envs.step(action)[0]
        torch.testing.assert_close(seen, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("id", ["gymnasium/HalfCheetah-v5", "gymnasium/Reacher-v5"])
def test_quantities_that_lag_belong_to_a_state(id):
    """The order of Gymnasium's own tasks, whose places are those of the step before."""
    on_cpu = gymnasium.make_vec(id, num_envs=2)
    worlds = gymnasium.make_vec(id, num_envs=2, backend="warp", device=DEVICE, output="numpy")
    (first, _), (second, _) = on_cpu.reset(seed=0), worlds.reset(seed=0)
    assert np.allclose(first, second, atol=1e-6)
    action = 0.3 * np.ones(on_cpu.action_space.shape, dtype=np.float32)
    for _ in range(2):
        first, second = on_cpu.step(action), worlds.step(action)
        assert np.allclose(first[0], second[0], atol=1e-4)
        assert np.allclose(first[1], second[1], atol=1e-4)
    state = worlds.get_state()
    here, later = worlds.present(), worlds.step(action)[:2]
    assert np.array_equal(worlds.set_state(state), here)
    again = worlds.step(action)[:2]
    assert all(np.array_equal(a, b) for a, b in zip(later, again, strict=True))
    worlds.close()
    on_cpu.close()
