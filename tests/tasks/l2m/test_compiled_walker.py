"""The walker's compiled forces beside those in NumPy, and against OpenSim's recordings."""

from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

from helpers.body_records import EPISODES, Walker, episodes, planar, poses
from helpers.lanes import lane

pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.registry import registration
from mjgym.tasks.l2m.musculoskeletal import COORDINATES
from mjgym_fast.stepping import Hook, address, field_address

pytestmark = pytest.mark.compiled

ROUNDING = 1e-12  # of the largest number of an entry
EXACT = {"observation": "dict", "dtype": "float64"}


def task_of(name, cls=None):
    found = registration(f"l2m/{name}-v0")
    return (cls or found.task_class)(**found.fields)


def in_numpy(name):
    """A task without a compiled step, whose hooks are called."""
    cls = registration(f"l2m/{name}-v0").task_class
    own = type("InNumPy", (cls,), {"compiled_step": lambda self, *_: "not here"})
    return task_of(name, dataclass(frozen=True)(own))


class Beside:
    """A walker, its compiled hooks, and how far one is from the other."""

    def __init__(self, task):
        self.walker, self.body = Walker(task.body), task.body
        self.step = task.compiled_step("float64", None, ())
        sim, step = self.walker.sim, self.step
        self.fields = np.array([field_address(sim.data, sim.model, x) for x in step.fields])
        self.memory = np.zeros(1, step.recording.memory)
        self.work = np.zeros(step.work)

    def run(self, name):
        function = Hook(self.step.address(name))
        arrays = address(self.fields), address(self.memory), 0, 0, 0, address(self.work)
        assert function(*arrays) == 0

    def cells(self, name):
        """An entry of the memory."""
        return self.memory[name][0, ...]

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
        for name, x in memory.items():
            self.cells(name)[...] = x
        expected = {"ctrl": self.body.control(v), **self.body.substep(v)}
        self.run("control")
        found = {"ctrl": v.ctrl.copy()}
        self.run("substep")
        found |= {name: self.cells(name) for name, x in expected.items() if name != "ctrl"}
        assert set(found) == set(expected)
        return max(
            float(np.abs(found[name] - x).max() / np.abs(x).max()) for name, x in expected.items()
        )


@lane(2, 3)
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


@lane(0, 3)
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
    id = "l2m/walk_planar-v0" if planar("reflex") else "l2m/walk_around-v0"
    env = gymnasium.make(id).unwrapped
    env.reset(seed=0)
    assert env.uncompiled == ""
    body = env.task.body
    walker = Walker(body)
    walker.put_at("reflex", 0)
    memory = {f"memory.{name}": value for name, value in walker.v.memory.items()}
    env.set_state({"qpos": walker.v.qpos, "qvel": walker.v.qvel, **memory})
    for action in record["action"][1:21]:
        env.step(action)
    apart = np.abs(body.positions(env.view) - record["q"][20])
    slides = [i for i, name in enumerate(COORDINATES) if name in ("pelvis_tx", "pelvis_ty")]
    assert apart[slides].max() < 1e-3
    assert apart.max() < 5e-3
