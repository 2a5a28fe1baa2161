"""The walker's compiled forces beside those in NumPy, and against OpenSim's recordings."""

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest

from helpers.body_records import EPISODES, Walker, episodes, planar, poses

pytest.importorskip("numba", reason='needs numba: pip install -e ".[fast]"')

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.registry import registration
from mjgym.tasks.l2m.musculoskeletal import ACTION_TO_MODEL, COORDINATES
from mjgym_fast.stepping import law_fields

pytestmark = pytest.mark.numba

ROUNDING = 1e-12  # of the largest number of an entry
EXACT = {"observation": "dict", "dtype": "float64"}


def task_of(name, cls=None):
    found = registration(f"l2m/{name}-v0")
    return (cls or found.task_class)(**found.fields)


def in_numpy(name):
    """A task without a compiled law, whose hooks are called."""
    cls = registration(f"l2m/{name}-v0").task_class
    own = type("InNumPy", (cls,), {"compiled_law": lambda self: "not here"})
    return task_of(name, dataclass(frozen=True)(own))


class Beside:
    """A walker, its compiled law, and how far one is from the other."""

    def __init__(self, task):
        self.walker, self.body = Walker(task.body), task.body
        self.law = task.compiled_law()
        self.call = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(self.law.address)
        self.fields = np.array(law_fields(self.walker.sim.data, self.law.fields), dtype=np.int64)
        self.work = np.zeros(self.law.work)

    def distance(self, rng):
        """Of all that a physics step changes, over its largest number, in the present state."""
        v = self.walker.v
        memory = {name: np.array(x) for name, x in self.body.memory(v).items()}
        memory["muscle_excitation"] = rng.uniform(size=22)
        memory["muscle_activation"] = rng.uniform(0.02, 1, size=22)
        memory["muscle_fibre_length"] *= rng.uniform(1.0, 1.03, size=22)
        memory["joint_force"] = rng.normal(size=memory["joint_force"].shape)
        memory["substeps"] = np.array(float(rng.integers(self.body.substeps - 1)))
        v.memory = memory
        _, packed = self.law.begin(v)
        law = self.law
        given = [x.ctypes.data for x in (self.fields, packed, self.work)]
        expected = {"ctrl": self.body.control(v), **self.body.substep(v)}
        self.call(0, *given)
        found = {"ctrl": v.ctrl.copy()}
        self.call(1, *given)
        found |= law.end(v, packed)
        assert set(found) == set(expected)
        assert all(np.shape(found[name]) == np.shape(x) for name, x in expected.items())
        return max(
            float(np.abs(found[name] - x).max() / np.abs(x).max()) for name, x in expected.items()
        )


@pytest.mark.parametrize("name", ["walk_around", "walk_planar"])
def test_the_law_is_that_in_numpy(name):
    """In all recorded poses, and in states of walks that stand on the ground."""
    beside, rng = Beside(task_of(name)), np.random.default_rng(0)
    states = list(zip(poses()["q"], poses()["u"], strict=True))
    for name in EPISODES:
        recorded = episodes()[name]
        states += list(zip(recorded["q"][::40], recorded["u"][::40], strict=True))
    for q, u in states:
        beside.walker.put(q, u)
        assert beside.distance(rng) < ROUNDING


def play(envs, steps):
    """Observations and rewards, and the states behind them, of walkers that come down."""
    seen = [envs.reset(seed=0)[0]]
    envs.action_space.seed(0)
    for _ in range(steps):
        observation, reward, *_ = envs.step(0.3 * envs.action_space.sample())
        seen.append({**observation, "reward": reward})
    return seen, envs.get_state()


@pytest.mark.parametrize("name", ["walk_around", "walk_planar"])
@pytest.mark.parametrize("make", [Env, VectorEnv])
def test_episodes_are_those_in_numpy(make, name):
    """For 0.12 s of a fall onto the ground: there, rounding grows."""
    options = {**EXACT, **({"num_envs": 3} if make is VectorEnv else {})}
    one, other = make(task_of(name), **options), make(in_numpy(name), **options)
    assert (one.uncompiled, other.uncompiled) == ("", "not here")
    (ours, state), (theirs, expected) = play(one, 12), play(other, 12)
    assert state.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(state[key], value, rtol=1e-6, atol=1e-8, err_msg=key)
    for found, wanted in zip(ours, theirs, strict=True):
        for key, value in wanted.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-6, atol=1e-6, err_msg=key)
    one.close()
    other.close()


@pytest.mark.parametrize("count", [None, 3])
def test_forces_that_are_not_finite_end_the_episode(count, unraisable):
    """Muscles without a length: the law divides by zero and says nothing."""
    task = task_of("walk_forward")
    env = Env(task, **EXACT) if count is None else VectorEnv(task, num_envs=count, **EXACT)
    env.reset(seed=0)
    memory = "memory.muscle_fibre_length"
    with np.errstate(all="ignore"):  # what is observed of such muscles is not finite either
        env.set_state({memory: np.zeros_like(env.get_state()[memory])})
        action = np.zeros(env.action_space.shape, dtype=np.float32)
        *_, truncated, info = env.step(action)
    assert np.all(truncated)
    assert np.all(info["diverged"])
    assert unraisable == []


@pytest.mark.parametrize("threads", [1, 2])
def test_many_are_as_one_to_the_bit(threads):
    many = VectorEnv(task_of("walk_forward"), num_envs=70, threads=threads, **EXACT)
    one = Env(task_of("walk_forward"), **EXACT)
    actions = np.random.default_rng(0).uniform(0, 0.4, size=(4, 70, 22)).astype(np.float32)
    many.reset(seed=0)
    one.reset(seed=69)
    for action in actions:
        found, wanted = many.step(action)[0], one.step(action[69])[0]
        for key, value in wanted.items():
            assert np.array_equal(found[key][69], value), key


def test_recorded_actions_from_the_recorded_start():
    """As OpenSim went on, for a fifth of a second: 1 mm and 0.005 rad."""
    record = episodes()["reflex"]
    task = task_of("walk_planar" if planar("reflex") else "walk_around")
    body = task.body
    walker = Walker(body)
    law = task.compiled_law()
    walker.sim.run_under(law)
    walker.put_at("reflex", 0)
    v = walker.v
    for action in record["action"][1:21]:
        v.memory = {**v.memory, **v.owned(body.before_step(v, action[ACTION_TO_MODEL]))}
        control, memory = law.begin(v)
        walker.sim.step_under(control, memory, body.substeps)
        v.memory = {**v.memory, **law.end(v, memory)}
    apart = np.abs(body.positions(v) - record["q"][20])
    slides = [i for i, name in enumerate(COORDINATES) if name in ("pelvis_tx", "pelvis_ty")]
    assert apart[slides].max() < 1e-3
    assert apart.max() < 5e-3
