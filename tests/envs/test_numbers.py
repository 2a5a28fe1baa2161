"""Equal numbers act alike, and impossible ones are refused alike, alone and in a batch."""

from dataclasses import dataclass, replace

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.lanes import mostly_nightly
from mjgym import Task
from mjgym.mjcf import Spec
from mjgym.tasks.dmc.pendulum import Pendulum

MODEL = """<mujoco><option timestep="0.01"/><worldbody>
<body><joint name="hinge" axis="0 1 0"/><geom size=".05" pos=".3 0 0"/></body></worldbody>
<actuator><motor joint="hinge"/><motor joint="hinge"/></actuator></mujoco>"""


@dataclass(frozen=True)
class Late(Task):
    """Hold still. Reward: 1. Start: `start` in `field`. Observation: `angle`."""

    start: str = "0"
    field: str = "qpos"
    changing: str = ""  # hook with another shape after the third step
    wrong: str = "more"

    time_limit, control_timestep = 5.0, 0.02

    def model(self):
        return Spec.from_string(MODEL)

    def _late(self, v, hook, right):
        if hook != self.changing or np.all(np.asarray(v.memory["steps"]) < 3):
            return right
        size = {"more": 7, "one": 1, "text": 0}[self.wrong]
        wrong = np.zeros((*v.lead, size)) if size else "x"
        return dict.fromkeys(right, wrong) if isinstance(right, dict) else wrong

    def initialize(self, v, rng):
        setattr(v, self.field, float(self.start))

    def memory(self, v):
        return {"steps": np.zeros(v.lead), "force": np.zeros((*v.lead, 2))}

    def before_step(self, v, action):
        return {"steps": v.memory["steps"] + 1.0}

    def control(self, v, action):
        return self._late(v, "control", action)

    def terms(self, v):
        return self._late(v, "terms", {"level": v.qpos[..., 0] * 0 + 1.0})

    def terminated(self, v):
        return self._late(v, "terminated", np.zeros(v.lead, bool))

    def update(self, v):
        return self._late(v, "update", {"force": v.ctrl})

    def observation(self, v):
        return self._late(v, "observation", {"angle": v.qpos, "steps": v.memory["steps"]})


def alone_and_batched(task):
    return mjgym.Env(task), mjgym.VectorEnv(task, 2)


@pytest.mark.parametrize(
    "id",
    mostly_nightly(["robosuite/Lift-v0", "l2m/walk_planar-fast-v0", "dmc/cheetah-run-v0"], quick=3),
)
@pytest.mark.parametrize("batch", [False, True])
def test_the_type_of_an_action_does_not_matter(id, batch):
    one, other = (
        gymnasium.make_vec(id, num_envs=2) if batch else gymnasium.make(id).unwrapped
        for _ in range(2)
    )
    one.reset(seed=1)
    other.reset(seed=1)
    one.action_space.seed(3)
    for _ in range(10):
        action = one.action_space.sample()
        one.step(action)
        other.step(np.asfortranarray(action.astype(np.float64)))
    ours, theirs = one.get_state(), other.get_state()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("field", ["qpos", "qvel"])
@pytest.mark.parametrize("start", ["nan", "1e300", "1e11"])
def test_a_start_that_the_engine_would_undo_is_one_error(field, start):
    messages = set()
    for env in alone_and_batched(Late(start=start, field=field)):
        with pytest.raises(mjgym.DivergenceError) as error:
            env.reset(seed=0)
        messages.add(str(error.value))
    (message,) = messages
    assert f"an episode cannot begin, because initialize() has written a {field} that" in message


def test_a_start_is_drawn_again_if_it_is_not_finite():
    @dataclass(frozen=True)
    class Unlucky(Late):
        """`Late`, half of whose draws are not finite."""

        def initialize(self, v, rng):
            v.qpos = np.nan if rng.random() < 0.5 else 0.3

    env, envs = alone_and_batched(Unlucky())
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        assert observation[0] == np.float32(0.3)
        assert np.array_equal(envs.reset(seed=seed)[0][0], observation)
        assert np.array_equal(envs.get_state([0])["rng"][0], env.get_state()["rng"])


@pytest.mark.parametrize(("field", "number"), [("qpos", 1e11), ("qvel", 1e300), ("qvel", -2e10)])
def test_a_state_beyond_the_engine_s_limit_is_refused(field, number):
    for env in alone_and_batched(Late()):
        env.reset(seed=0)
        before = env.get_state()
        with pytest.raises(ValueError, match=f"state: '{field}' exceeds 1e\\+10"):
            env.set_state({field: np.full_like(before[field], number)})
        env.set_state({field: np.full_like(before[field], 1e10)})
        assert (env.get_state()[field] == 1e10).all()


def test_masked_arrays_are_refused_where_something_is_masked():
    for env in alone_and_batched(Late()):
        env.reset(seed=0)
        action = np.zeros(env.action_space.shape)
        env.step(np.ma.masked_array(action, mask=np.zeros(action.shape, bool)))
        mask = np.zeros(action.shape, bool)
        mask[..., 1] = True
        state = env.get_state()
        with pytest.raises(ValueError, match="action: a number is masked"):
            env.step(np.ma.masked_array(action, mask=mask))
        with pytest.raises(ValueError, match="state: 'ctrl': a number is masked"):
            env.set_state({"ctrl": np.ma.masked_array(state["ctrl"], mask=mask)})
    with pytest.raises(ValueError, match="ids: a number is masked"):
        env.get_state(ids=np.ma.masked_array([0, 1], mask=[False, True]))
    masked = np.ma.masked_array([True, True], mask=[False, True])
    with pytest.raises(ValueError, match=r"options\['reset_mask'\]: a number is masked"):
        env.reset(options={"reset_mask": masked})


@pytest.mark.parametrize("ids", [[], (), np.array([], dtype=int)])
def test_no_sub_environments_are_none(ids):
    envs = mjgym.VectorEnv(Late(), 2)
    envs.reset(seed=0)
    for ask in (envs.get_state, envs.camera, lambda ids: envs.set_state({}, ids)):
        with pytest.raises(ValueError, match="ids: there must be at least one"):
            ask(ids=ids)


@pytest.mark.parametrize("limit", [1e-300, 1e-12, 0.005])
def test_a_time_limit_shorter_than_a_step_is_one_step(limit):
    assert Pendulum(time_limit=limit).episode_steps() == 1
    for env in (
        gymnasium.make("dmc/pendulum-swingup-v0", time_limit=limit),
        gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=1, time_limit=limit),
    ):
        env.reset(seed=0)
        assert np.all(env.step(np.zeros(env.action_space.shape))[3])


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, 10**400], ids=["0", "-1", "nan", "huge"])
def test_an_impossible_time_limit_is_named(limit):
    for ask in (
        lambda: Pendulum(time_limit=limit).episode_steps(),
        lambda: gymnasium.make("dmc/pendulum-swingup-v0", time_limit=limit),
        lambda: gymnasium.make_vec("dmc/pendulum-swingup-v0", num_envs=1, time_limit=limit),
    ):
        with pytest.raises(ValueError, match="time_limit"):
            ask()


CHANGES = [
    ("control", "more"), ("control", "one"), ("terms", "more"), ("terms", "text"),
    ("terminated", "more"), ("update", "more"), ("observation", "more"), ("observation", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("hook", "wrong"), mostly_nightly(CHANGES, quick=3))
def test_a_hook_that_changes_its_shape_in_an_episode_is_named(hook, wrong):
    for env in alone_and_batched(replace(Late(), changing=hook, wrong=wrong)):
        env.reset(seed=0)
        action = np.zeros(env.action_space.shape)

        def play(env=env, action=action):
            for _ in range(5):
                env.step(action)

        with pytest.raises((TypeError, ValueError), match=rf"Late.{hook}\(\)"):
            play()


def test_a_hook_that_raises_in_an_episode_is_named():
    @dataclass(frozen=True)
    class Failing(Late):
        """`Late`, whose reward cannot be computed later on."""

        def reward(self, terms):
            if np.all(terms["level"] == 1):
                raise ValueError("too level")
            return terms["level"]

        def terms(self, v):
            return {"level": v.memory["steps"] - 2.0}

    for env in alone_and_batched(Failing()):
        env.reset(seed=0)
        action = np.zeros(env.action_space.shape)
        env.step(action)
        env.step(action)
        with pytest.raises(ValueError, match="too level") as error:
            env.step(action)
        assert "in Failing.reward()" in error.value.__notes__[0]
