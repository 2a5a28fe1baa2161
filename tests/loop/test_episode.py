"""The order of a task's hooks: one, however many simulations there are and however they go on."""

import itertools
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import mjgym
from helpers.lanes import mostly_nightly
from helpers.registered import registered_task
from helpers.rollouts import equal
from helpers.toys import EPISODE, OPTIONS, SUBSTEPS, EverySubstep, Probe
from mjgym import registry
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.loop.hooks import defined_hooks
from mjgym.sim import Batched, Single
from mjgym.task import models

START = ["initialize", "memory", "observation"]
BEHIND = [
    "current_forces", "terms", "reward", "terminated", "truncated", "success", "update",
    "observation",
]  # fmt: skip
STEP = {
    Probe: ["before_step", "control", *BEHIND],
    EverySubstep: ["before_step", *["control", "substep"] * SUBSTEPS, *BEHIND],
}


def calls_of(play):
    """The hooks that are called while something is played."""
    Probe.calls.clear()
    play()
    return [hook for hook, _ in itertools.groupby(Probe.calls)]


def repeated(hooks):
    """The same hook in a row counts once: many simulations have many starts."""
    return [hook for hook, _ in itertools.groupby(hooks)]


def single(task, options):
    env = mjgym.Env(task(), **options)

    def play():
        env.reset(seed=0)
        for step in range(2 * EPISODE):
            *_, truncated, _ = env.step(np.array([0.1]))
            assert truncated == ((step + 1) % EPISODE == 0)
            if truncated:
                env.reset()

    return calls_of(play)


def batched(task, options, mode, n):
    envs = mjgym.VectorEnv(task(), n, autoreset_mode=mode, **options)

    def play():
        envs.reset(seed=0)
        steps = 2 * EPISODE + 2 * (mode == AutoresetMode.NEXT_STEP)
        for _ in range(steps):
            *_, truncations, _ = envs.step(np.full((n, 1), 0.1))
            if mode == AutoresetMode.DISABLED and truncations.any():
                envs.reset(options={"reset_mask": truncations})

    return calls_of(play)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("task", STEP)
def test_hooks_are_called_in_the_written_order(task, options):
    episode = [*STEP[task] * EPISODE, *START]
    assert single(task, options) == repeated([*START, *episode * 2])


@pytest.mark.parametrize("n", mostly_nightly([3, 1], quick=2))
@pytest.mark.parametrize("mode", mostly_nightly(AutoresetMode, quick=3))
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("task", STEP)
def test_a_batch_calls_them_as_one_environment_does(task, options, mode, n):
    assert batched(task, options, mode, n) == single(task, options)


@pytest.mark.parametrize("task", STEP)
def test_what_the_task_cuts_off_is_cut_off_at_the_same_step(task):
    """`truncated` sees the memory of the step before, one simulation or many."""
    env = mjgym.Env(task())
    envs = mjgym.VectorEnv(task(), 2)
    env.reset(seed=0)
    envs.reset(seed=0)
    for step in range(1, EPISODE + 1):
        alone = env.step(np.array([0.1]))
        many = envs.step(np.full((2, 1), 0.1))
        assert alone[3] == many[3][0] == (step == EPISODE)
        np.testing.assert_array_equal(alone[0], many[0][0])


def test_a_goal_latches_once_for_each_control_step():
    """What `before_step` remembers of the action, `control` and the reward see."""
    env = mjgym.Env(EverySubstep())
    env.reset(seed=3)
    before = env.data.qpos[0]
    env.step(np.array([0.25]))
    state = env.get_state()
    assert state["memory.goal"] == before + 0.25
    assert state["memory.seen"] == SUBSTEPS


@dataclass(frozen=True)
class Aimed(Probe):
    """An action that is no control: two numbers for one actuator."""

    def actions(self, model):
        return (
            mjgym.Action("target", -2.0, 2.0, "m", meaning="place to go to"),
            mjgym.Action("stiffness", 0.0, 5.0, "N/m"),
        )

    def before_step(self, v, action):
        return {"goal": action[..., 0]}

    def control(self, v, action):
        return (action[..., 1] * (v.memory["goal"] - v.qpos[..., 0]))[..., None]


def test_an_action_may_be_something_else_than_controls():
    env = mjgym.Env(Aimed())
    assert env.action_space == gymnasium.spaces.Box(
        np.array([-2, 0], np.float32), np.array([2, 5], np.float32)
    )
    env.reset(seed=0)
    env.step(np.array([1.0, 0.5]))
    start = mjgym.Env(Aimed())
    start.reset(seed=0)
    assert env.data.ctrl[0] == 0.5 * (1.0 - start.data.qpos[0])
    rows = env.describe()["action"]
    assert [row["name"] for row in rows] == ["target", "stiffness"]
    assert [row["unit"] for row in rows] == ["m", "N/m"]
    envs = mjgym.VectorEnv(Aimed(), 3)
    assert envs.action_space.shape == (3, 2)


def test_equal_tasks_are_compiled_once():
    calls = []

    @dataclass(frozen=True)
    class Counted(Probe):
        def model(self):
            calls.append(self)
            return super().model()

    first, second = models.compile_model(Counted()), models.compile_model(Counted())
    assert len(calls) == 1
    first.body_mass[1] = 7.0
    assert second.body_mass[1] != 7.0
    models.compile_model(Counted(time_limit=5.0))
    assert len(calls) == 2
    models.clear_cache()
    models.compile_model(Counted())
    assert len(calls) == 3


@dataclass(frozen=True)
class Team(Probe):
    """Two players push one cart; each has a reward of its own."""

    players = ("home_0", "away_0")

    def observation(self, v):
        place = v.qpos[..., 0]
        return {"place": v.xp.stack([place, -place], axis=-1)}

    def terms(self, v):
        place = v.qpos[..., 0]
        return {"forward": v.xp.stack([place, -place], axis=-1)}

    def reward(self, terms):
        return 2 * terms["forward"]


def test_a_reward_may_have_an_axis_of_players():
    """The loop gives it as it is; whose reward is whose is the business of an interface above."""
    single, many = Single(models.compile_model(Team())), Batched(models.compile_model(Team()), 3, 1)
    for simulation, lead in ((single, ()), (many, (3,))):
        rngs = [np.random.default_rng(i) for i in range(3)]
        episodes = Episodes(BoundTask(Team(), simulation), rngs.__getitem__)
        episodes.reset()
        step = episodes.step(np.zeros((*lead, 1)))
        place = simulation.view.qpos[..., 0]
        np.testing.assert_array_equal(step.reward, 2 * np.stack([place, -place], axis=-1))
        np.testing.assert_array_equal(episodes.rewards, step.reward)
    mask = np.array([True, False, True])
    before = episodes.rewards
    step = episodes.step(np.ones((3, 1)), mask)
    np.testing.assert_array_equal(episodes.rewards[~mask], before[~mask])
    np.testing.assert_array_equal(episodes.rewards[mask], step.reward[mask])
    episodes.reset(mask)
    assert np.isnan(episodes.rewards[mask]).all()
    assert not np.isnan(episodes.rewards[~mask]).any()


ORIGIN = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <site name="target"/>
    <body name="mass"><joint name="x" type="slide"/><geom name="ball" size="0.1"/></body>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Elsewhere(mjgym.Task):
    """Places that vary coincide with their bodies' in the model."""

    time_limit, control_timestep = 1.0, 0.01
    varies = ("site_pos", "geom_pos", "geom_quat")

    def model(self):
        return mujoco.MjSpec.from_string(ORIGIN)

    def initialize(self, v, rng):
        v.site("target").pos = rng.uniform(-1, 1, size=3)
        v.geom("ball").pos = rng.uniform(-1, 1, size=3)
        v.geom("ball").quat = (0, 1, 0, 0)

    def observation(self, v):
        ball = v.geom("ball")
        return {"target": v.site("target").xpos, "ball": ball.xpos, "turn": ball.xmat}

    def terms(self, v):
        return {"one": 1.0}


@pytest.mark.parametrize("vary", [None, {"body_mass[mass]": 3.0}])
def test_what_varies_may_lie_in_the_origin_of_its_body(vary):
    env = mjgym.Env(Elsewhere(), observation="dict", dtype="float64", vary=vary)
    envs = mjgym.VectorEnv(Elsewhere(), num_envs=3, observation="dict", dtype="float64", vary=vary)
    many, _ = envs.reset(seed=0)
    for i in range(3):
        one, _ = env.reset(seed=i)
        view = env.view
        assert np.array_equal(one["target"], view.site("target").pos)
        assert np.allclose(one["ball"], view.geom("ball").pos, atol=1e-15)
        assert np.allclose(one["turn"], np.diag([1, -1, -1]).ravel(), atol=1e-15)
        assert all(np.array_equal(one[name], many[name][i]) for name in one)


@dataclass(frozen=True)
class Remembers(Elsewhere):
    """The action is remembered as it comes, in whatever precision."""

    def actions(self, model):
        return [mjgym.Action("push", -1.0, 1.0)]

    def control(self, v, action):
        return v.ctrl

    def memory(self, v):
        return {"action": v.xp.zeros((*v.lead, 1)), "count": v.xp.zeros(v.lead, dtype=int)}

    def before_step(self, v, action):
        return {"action": action}

    def update(self, v):
        return {"count": v.memory["count"] + 1}


def test_the_memory_keeps_its_precision():
    env, envs = mjgym.Env(Remembers()), mjgym.VectorEnv(Remembers(), num_envs=2)
    for each, shape in ((env, (1,)), (envs, (2, 1))):
        each.reset(seed=0)
        for action in (np.float32(0.1), np.float64(0.1)):
            each.step(np.full(shape, action))
            state = each.get_state()
            assert state["memory.action"].dtype == np.float64
            assert np.array_equal(
                state["memory.action"], np.full_like(state["memory.action"], action)
            )
            assert state["memory.count"].dtype.kind == "i"


@pytest.mark.parametrize("id", mostly_nightly(registry.ids(), 7, ["dmc/fish-swim-v0"]))
def test_memory_of_those_that_begin(id):
    """The same numbers from a view of some simulations as from the view of all."""
    task = registered_task(id)
    if "memory" not in defined_hooks(task):
        return
    envs = mjgym.VectorEnv(task, 3, max_episode_steps=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    whole = envs._episodes.view
    part, rows = whole.part(np.array([True, False, True]))
    assert part.lead == (2,)
    of_all = {name: np.asarray(x)[rows] for name, x in task.memory(whole).items()}
    of_part = {name: np.asarray(x) for name, x in task.memory(part).items()}
    assert equal(of_part, of_all)
    envs.close()


def test_only_those_that_begin_compute_memory():
    leads = []

    class Noting(Probe):
        def memory(self, v):
            leads.append(v.lead)
            return super().memory(v)

    envs = mjgym.VectorEnv(Noting(), 3, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    leads.clear()
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert leads == [(1,)]
    envs.close()
