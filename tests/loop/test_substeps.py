"""What tasks do between the physics steps of a control step, and what that costs the others."""

import itertools
from dataclasses import dataclass

import gymnasium
import mujoco
import mujoco.batch
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import mjgym
from helpers.equivalence import assert_same_episodes
from helpers.lanes import mostly_nightly
from helpers.numpy_hooks import in_numpy
from helpers.rollouts import actions_for, equal
from mjgym import Observable, observe
from mjgym.sim import Batched, Single, batched
from mjgym.sim.bounds import REFITTED
from mjgym.task.models import compile_model
from mjgym.task.visuals import compile_without_visuals
from mjgym.variation import Normal, noises

BALLS = """
<mujoco>
  <option timestep="0.004"/>
  <visual>
    <headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/>
  </visual>
  <worldbody>
    <camera name="side" pos="0 -2 0.4" xyaxes="1 0 0 0 0 1"/>
    <geom name="floor" type="plane" size="2 2 0.1" solref="-4000 -5"/>
    <body name="ball">
      <joint name="height" type="slide" axis="0 0 1"/>
      <geom name="shell" size="0.1" mass="1" solref="-4000 -5" rgba="0.5 0.5 0.5 1"/>
      <site name="skin" size="0.12" rgba="0 0 0 0"/>
      <body name="flap" pos="0.1 0 0.5">
        <joint name="hinge" axis="0 1 0"/>
        <geom name="plate" type="box" size="0.1 0.1 0.02" pos="0.1 0 0" mass="0.3"/>
        <site name="tip" pos="0.2 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="twist" joint="hinge" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <touch name="touch" site="skin"/>
    <accelerometer name="felt" site="tip"/>
  </sensor>
</mujoco>
"""
SUBSTEPS = 10


@dataclass(frozen=True)
class Ball(mjgym.Task):
    """A ball with a flap, dropped on a floor on which it bounces."""

    time_limit = 0.4
    control_timestep = 0.04

    def model(self):
        return mujoco.MjSpec.from_string(BALLS)

    def initialize(self, v, rng):
        v.qpos[:] = rng.uniform([0.15, -1.0], [0.3, 1.0])

    def observation(self, v):
        remembered = {name: v.memory[name] for name in v.memory}
        return {"qpos": v.qpos, "qvel": v.qvel, "felt": v.sensor("felt").data, **remembered}

    def terms(self, v):
        return {"height": v.qpos[..., 0]}


@dataclass(frozen=True)
class Bouncing(Ball):
    """It counts its bounces, which come and go between two control steps."""

    def memory(self, v):
        zero = v.qpos[..., 0] * 0
        return {"in contact": zero, "bounces": zero, "substeps": zero, "steps": zero}

    def substep(self, v):
        m = v.memory
        touches = 1.0 * (v.sensor("touch").data[..., 0] > 0)
        return {
            "in contact": m["in contact"] + touches,
            "bounces": m["bounces"] + touches * (v.qvel[..., 0] > 0),
            "substeps": m["substeps"] + 1,
        }

    def update(self, v):
        return {"steps": v.memory["steps"] + 1}


@dataclass(frozen=True)
class Held(Ball):
    """A controller turns the flap to the angle that an action asks for, at the physics' rate."""

    control_every_substep = True

    def control(self, v, action):
        return 4.0 * (action - v.qpos[..., 1:]) - 0.4 * v.qvel[..., 1:]


@dataclass(frozen=True)
class HeldSeldom(Held):
    """The same controller, once in a control step."""

    control_every_substep = False


@dataclass(frozen=True)
class Both(Held, Bouncing):
    """All hooks at once."""


@dataclass(frozen=True)
class Feeling(Ball):
    """Its accelerometer is of the end of the control step."""

    def current_forces(self, v):
        return True


@dataclass(frozen=True)
class FeelingBounces(Bouncing):
    """The same with a hook between the physics steps."""

    def current_forces(self, v):
        return True


@dataclass(frozen=True)
class FeelingWhenLow(Ball):
    """Its accelerometer is of the end of the control step while the ball is low."""

    low: float = 0.15  # m

    def current_forces(self, v):
        return v.qpos[..., 0] < self.low


@dataclass(frozen=True)
class Glowing(Bouncing):
    """A ball that is red once it has touched the floor."""

    def colours(self, v):
        glows = 1.0 * (v.memory["in contact"] > 0)
        zero, one = glows * 0, glows * 0 + 1
        return {"geom shell": v.xp.stack([glows, zero, one - glows, one], axis=-1)}


HOOKED = [Ball, Bouncing, Held, HeldSeldom, Both, Feeling, FeelingBounces, FeelingWhenLow]


def physics_steps(data, model, n=1):
    """Physics steps in the suite's order."""
    for _ in range(n):
        mujoco.mj_step2(model, data)
        mujoco.mj_step1(model, data)


def copied(env):
    """A copy of an environment's simulation, to step by MuJoCo's own functions."""
    data = mujoco.MjData(env.model)
    mujoco.mj_copyData(data, env.model, env.data)
    return data


def test_substep_sees_every_physics_step():
    env = mjgym.Env(Bouncing(), observation="dict", dtype="float64")
    observation, _ = env.reset(seed=0)
    data = copied(env)
    touched = bounces = 0
    for step, action in enumerate(actions_for(env, 25), 1):
        observation = env.step(action)[0]
        data.ctrl[:] = action
        for _ in range(SUBSTEPS):
            physics_steps(data, env.model)
            touches = data.sensor("touch").data[0] > 0
            touched += touches
            bounces += touches and data.qvel[0] > 0
        assert np.array_equal(data.qpos, observation["qpos"])
        assert observation["in contact"] == touched
        assert observation["bounces"] == bounces
        assert observation["substeps"] == SUBSTEPS * step
        assert observation["steps"] == step
    assert touched > 20
    assert touched % SUBSTEPS  # contacts that begin and end within a control step
    assert env.reset(seed=1)[0]["in contact"] == 0


@pytest.mark.parametrize(
    ("task", "mode"), mostly_nightly(itertools.product(HOOKED, AutoresetMode), quick=12)
)
def test_every_slot_equals_a_single_env_over_episodes(task, mode):
    n, keywords = 4, {"observation": "dict", "dtype": "float64"}
    ours = mjgym.VectorEnv(task(), n, max_episode_steps=6, autoreset_mode=mode, **keywords)
    sync = SyncVectorEnv(
        [lambda: gymnasium.wrappers.TimeLimit(mjgym.Env(task(), **keywords), 6)] * n,
        autoreset_mode=mode,
    )
    assert_same_episodes(ours, sync, 20)


def assert_same_steps(one, two, n=20):
    """With autoresets, so that some simulations step and others do not."""
    ways = [equal(one.reset(seed=3), two.reset(seed=3))]
    for k, actions in enumerate(np.float32(actions_for(one, n))):
        ways.append(equal(one.step(actions), two.step(actions)))
        if k in (2, 5):
            mask = np.array([True, False, True, True, True])
            pair = [each.reset(options={"reset_mask": mask.copy()}) for each in (one, two)]
            ways.append(equal(*pair))
    assert all(ways)
    assert equal(one.get_state(), two.get_state())


LANED = {"max_episode_steps": 6, "observation": "dict", "dtype": "float64"}


@pytest.mark.parametrize("threads", mostly_nightly([3, 1, 2], quick=3))
@pytest.mark.parametrize("task", [Bouncing, Held, Both])
def test_compiled_batches_equal_a_whole_one(task, threads):
    one = mjgym.VectorEnv(in_numpy(task()), 5, threads=1, **LANED)
    two = mjgym.VectorEnv(task(), 5, threads=threads, **LANED)
    assert two.uncompiled == ""
    assert_same_steps(one, two)
    one.close()
    two.close()


LOOKS = ("stripe", "cap", "sign")
SHOWN = ("geom_size", "geom_rgba", *REFITTED)


@dataclass(frozen=True)
class Decorated(Both):
    """A ball with geoms that only draw, and a shell whose size differs between episodes."""

    varies = SHOWN
    seen: str = ""

    def model(self):
        spec = super().model()
        ball = spec.body("ball")
        for name, to in zip(LOOKS, (ball, ball, spec.worldbody), strict=True):
            geom = to.add_geom(name=name, size=[0.02] * 3, pos=[0, 0, 0.1], mass=0)
            geom.contype = geom.conaffinity = 0
        ball.first_geom().name = "shell"
        return spec

    def initialize(self, v, rng):
        super().initialize(v, rng)
        radius = rng.uniform(0.05, 0.1)
        v.geom("shell").size[0] = v.geom("cap").size[0] = radius
        v.geom("stripe").rgba[:3] = rng.uniform(size=3)
        v.refit(("shell",))

    def control(self, v, action):
        return super().control(v, action) * v.geom("cap").size[..., :1] * 10

    def observation(self, v):
        shown = {"radius": v.geom("shell").size[..., 0], **super().observation(v)}
        return shown | ({"seen": v.geom(self.seen).xpos} if self.seen else {})


@dataclass(frozen=True)
class Touchable(Decorated):
    """Its ball rests on a sign in some episodes, and falls through it in others."""

    varies = (*SHOWN, "geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity")

    def initialize(self, v, rng):
        super().initialize(v, rng)
        touches = int(rng.integers(2))
        v.geom("sign").contype = v.geom("sign").conaffinity = touches
        v.body_contype[0] = v.body_conaffinity[0] = 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "geoms"), [(Decorated(), 3), (Decorated(seen="cap"), 6), (Touchable(), 6)]
)
def test_compiled_batches_leave_out_geoms_that_only_draw_unless_they_are_looked_at(
    monkeypatch, task, geoms
):
    monkeypatch.setattr(batched, "MIN_STRIPPED", 4)
    one = mjgym.VectorEnv(in_numpy(task), 5, threads=1, **LANED)
    two = mjgym.VectorEnv(task, 5, threads=2, **LANED)
    assert two.uncompiled == ""
    assert_same_steps(one, two)
    assert two._simulations._stepped()[0].ngeom == geoms
    assert two.model.ngeom == 6
    # Whoever looks at one later sees it where it is from the next step on.
    for envs in (one, two):
        _ = envs.view.geom("stripe").xpos
    for action in np.float32(actions_for(one, 3)):
        assert equal(one.step(action), two.step(action))
        assert np.array_equal(one.view.geom("stripe").xpos, two.view.geom("stripe").xpos)
    assert two._simulations._stepped()[0].ngeom == 6
    one.close()
    two.close()


def test_geoms_that_the_engine_looks_at_are_not_left_out():
    @dataclass(frozen=True)
    class Sensing(Decorated):
        kind: str = ""
        of: str = ""
        name: str = ""
        settings: tuple[int, ...] = ()

        def model(self):
            spec = super().model()
            sensor = spec.add_sensor(name="sensor", objname=self.name)
            sensor.type = getattr(mujoco.mjtSensor, f"mjSENS_{self.kind}")
            sensor.objtype = getattr(mujoco.mjtObj, f"mjOBJ_{self.of}")
            sensor.intprm[: len(self.settings)] = self.settings
            return spec

    @dataclass(frozen=True)
    class Heavy(Decorated):
        def model(self):
            spec = super().model()
            spec.geom("cap").mass = 1.0
            return spec

    for task, left_out in (
        (Decorated(), LOOKS),
        (Sensing(kind="FRAMEPOS", of="GEOM", name="cap"), ("stripe", "sign")),
        (Heavy(), ()),
        # The setting of rays: their distances.
        (Sensing(kind="RANGEFINDER", of="SITE", name="tip", settings=(1,)), ()),
    ):
        whole = compile_model(task)
        model, kept = compile_without_visuals(task, whole)
        names = [whole.geom(i).name for i in kept]
        assert sorted(names) == sorted(model.geom(i).name for i in range(model.ngeom))
        assert {whole.geom(i).name for i in range(whole.ngeom)} - set(names) == set(left_out)
        whole.dof_damping[0] = 1.0  # by somebody, since
        assert compile_without_visuals(task, whole)[0] is whole


@pytest.mark.usefixtures("hooks_in_numpy")
@pytest.mark.parametrize("slot", [0, 4])
def test_what_goes_wrong_in_a_hook_is_raised(slot):
    """With NumPy's way of treating errors where the step is made; a reset then begins anew."""

    @dataclass(frozen=True)
    class Dividing(Held):
        def control(self, v, action):
            return 1 / (1 - action)

    envs = mjgym.VectorEnv(Dividing(), 5, threads=2)
    first = envs.reset(seed=0)
    actions = np.zeros((5, 1), np.float32)
    actions[slot] = 1
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        envs.step(actions)
    assert equal(envs.reset(seed=0), first)
    envs.step(np.zeros((5, 1), np.float32))
    envs.close()


@pytest.mark.parametrize("task", mostly_nightly(HOOKED, quick=3))
def test_snapshots_continue_bit_for_bit(task):
    env = mjgym.Env(task(), dtype="float64")
    envs = mjgym.VectorEnv(task(), 2, dtype="float64")
    env.reset(seed=0)
    envs.reset(seed=5)
    actions = actions_for(env, 12)
    for action in actions[:5]:
        env.step(action)
    state = env.get_state()
    envs.set_state({name: np.array(value)[None] for name, value in state.items()}, ids=[1])
    after = [env.step(action)[0] for action in actions[5:]]
    assert equal(after, [envs.step(np.array([action] * 2))[0][1] for action in actions[5:]])
    env.set_state(state)
    assert equal(after, [env.step(action)[0] for action in actions[5:]])


def test_control_at_the_rate_of_the_physics():
    ends = {}
    for task, every in ((Held(), 1), (HeldSeldom(), SUBSTEPS)):
        env = mjgym.Env(task, observation="dict", dtype="float64")
        env.reset(seed=2)
        data = copied(env)
        for action in actions_for(env, 10):
            observation = env.step(action)[0]
            for k in range(SUBSTEPS):
                if k % every == 0:
                    data.ctrl[:] = 4.0 * (action - data.qpos[1:]) - 0.4 * data.qvel[1:]
                physics_steps(data, env.model)
            assert np.array_equal(data.qpos, observation["qpos"])
            assert np.array_equal(data.qvel, observation["qvel"])
        ends[task] = observation["qpos"][1]
    assert len(set(ends.values())) == 2


@pytest.fixture
def parts(monkeypatch):
    """The numbers of physics steps of all calls of a simulation's step."""
    calls = []

    def count(step):
        def counted(self, control, n, *arguments, **keywords):
            calls.append(n)
            return step(self, control, n, *arguments, **keywords)

        return counted

    for simulation in (Single, Batched):
        monkeypatch.setattr(simulation, "step", count(simulation.step))
    return calls


@pytest.mark.usefixtures("hooks_in_numpy")
@pytest.mark.parametrize(
    ("task", "options", "expected"),
    [
        (Ball(), {}, [10]),
        (HeldSeldom(), {}, [10]),
        (Feeling(), {}, [10]),
        (FeelingWhenLow(), {}, [10]),
        (Bouncing(), {}, [1] * 10),
        (Held(), {}, [1] * 10),
        (Both(), {}, [1] * 10),
        # Readings part a control step only where one is due.
        (Ball(), {"noise": noises.additive(Normal())}, [10]),
        (Ball(), {"delay": 20, "buffer_size": 1}, [10]),
        (Ball(), {"update_interval": 10, "delay": 3}, [10]),
        (Ball(), {"delay": 2}, [8, 2]),
        (Ball(), {"delay": 12}, [8, 2]),
        (Ball(), {"delay": 2, "buffer_size": 3}, [6, 1, 1, 2]),
        (Ball(), {"update_interval": 5, "buffer_size": 2}, [5, 5]),
        (Both(), {"delay": 2}, [1] * 10),
    ],
)
@pytest.mark.parametrize("n", [None, 2])
def test_a_control_step_is_made_in_as_few_parts_as_there_must_be(task, options, expected, n, parts):
    observables = {"qpos": Observable(**options)} if options else None
    keywords = {"observables": observables}
    env = mjgym.Env(task, **keywords) if n is None else mjgym.VectorEnv(task, n, **keywords)
    env.reset(seed=0)
    parts.clear()
    for _ in range(3):
        env.step(np.zeros(env.action_space.shape))
    assert parts == expected * 3


@pytest.mark.usefixtures("hooks_in_numpy")
def test_no_id_of_the_suite_is_stepped_in_parts(parts):
    for id in ("dmc/walker-run-v0", "dmc/cartpole-swingup-v0", "dmc/quadruped-fetch-v0"):
        for env in (gymnasium.make(id), gymnasium.make_vec(id, num_envs=2)):
            env.reset(seed=0)
            parts.clear()
            env.step(np.zeros(env.action_space.shape))
            assert len(parts) == 1


def felt_at_end(env):
    """What the accelerometer shows where all of the present state is computed."""
    data = copied(env)
    mujoco.mj_forward(env.model, data)
    return data.sensor("felt").data.copy()


@pytest.mark.parametrize("task", [Feeling(), FeelingBounces()])
def test_forces_are_of_the_end_of_the_step(task):
    env = mjgym.Env(task, observation="dict", dtype="float64")
    plain = mjgym.Env(Ball(), observation="dict", dtype="float64")
    env.reset(seed=1)
    plain.reset(seed=1)
    touching = moving = 0
    for action in actions_for(env, 15):
        observation, other = env.step(action)[0], plain.step(action)[0]
        expected = felt_at_end(env)
        np.testing.assert_allclose(observation["felt"], expected, rtol=1e-6, atol=1e-6)
        # The solver starts from other forces next time: the same motion within its tolerance.
        np.testing.assert_allclose(observation["qpos"], other["qpos"], rtol=0, atol=1e-6)
        moving += not np.allclose(other["felt"], expected, rtol=1e-3)
        touching += env.data.ncon > 0
    assert moving > 10  # without, the sensors are of a physics step before
    assert touching > 1


def test_forces_are_of_the_end_of_the_steps_that_a_task_chooses():
    env = mjgym.Env(FeelingWhenLow(), observation="dict", dtype="float64")
    env.reset(seed=1)
    fresh = {True: [], False: []}
    for action in actions_for(env, 25):
        observation = env.step(action)[0]
        low = bool(observation["qpos"][0] < 0.15)
        fresh[low].append(np.allclose(observation["felt"], felt_at_end(env), rtol=1e-6, atol=1e-6))
    assert len(fresh[True]) > 5
    assert len(fresh[False]) > 5
    assert all(fresh[True])
    assert not any(fresh[False])


def test_a_reading_after_a_physics_step_sees_what_that_step_remembered():
    counted = Observable(Remembered("substeps"), delay=3, buffer_size=2)
    for make in (mjgym.Env, lambda task, **o: mjgym.VectorEnv(task, 3, **o)):
        env = make(
            Bouncing(), observation="dict", dtype="float64", observables={"counted": counted}
        )
        env.reset(seed=0)
        for step in range(1, 6):
            observation = env.step(np.zeros(env.action_space.shape))[0]
            assert (observation["counted"] == SUBSTEPS * step - np.array([4, 3])).all()


@dataclass(frozen=True)
class Remembered(observe.Quantity):
    """An entry of the task's memory."""

    name: str

    def __call__(self, v):
        return np.asarray(v.memory[self.name])


@pytest.mark.gl
def test_colours_show_the_episodes_state():
    def redness(picture):
        """Pixels that are red and those that are blue."""
        red, _, blue = np.moveaxis(picture.astype(int), -1, 0)
        return ((red > 150) & (blue < 60)).sum(), ((blue > 150) & (red < 60)).sum()

    keywords = {"camera": "side", "render_mode": "rgb_array", "observation": "dict+pixels"}
    keywords["pixels"] = {"camera": "side", "width": 48, "height": 48}
    env, envs = mjgym.Env(Glowing(), **keywords), mjgym.VectorEnv(Glowing(), 3, **keywords)
    env.reset(seed=1)
    envs.reset(seed=0)
    seen = set()
    for _ in range(8):
        still = np.zeros(1)
        observation, together = env.step(still)[0], envs.step(np.zeros((3, 1)))[0]
        red, blue = redness(observation["pixels"])
        touched = observation["in contact"] > 0
        assert (red > 20) == touched
        assert (blue > 20) != touched
        seen.add(bool(touched))
        assert np.array_equal(together["pixels"][1], observation["pixels"])
        assert np.array_equal(env.render(), envs.render()[1])
        for i in range(3):
            assert (redness(together["pixels"][i])[0] > 20) == (together["in contact"][i] > 0)
    assert seen == {True, False}
