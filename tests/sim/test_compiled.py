"""Compiled control steps, beside the same steps with their hooks in NumPy."""

import ast
import pickle
import threading
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers.lanes import mostly_nightly
from helpers.rollouts import equal
from helpers.small_process import fresh

pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')

from helpers.numpy_hooks import in_numpy
from helpers.registered import registered_task
from helpers.toys import ROOM
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.sim import Single
from mjgym.task import Task
from mjgym.task.models import compile_model
from mjgym.tasks.robosuite.lift import Lift
from mjgym.variation import Normal, Uniform, redrawn
from mjgym_fast import available
from mjgym_fast.agreement import Agreement
from mjgym_fast.tracing import Recorder

pytestmark = pytest.mark.compiled

EXACT = {"observation": "dict", "dtype": "float64"}
STEPS = 6
FAMILIES = (
    *("Lift", "Stack", "PickPlace", "NutAssembly", "Door", "Wipe"),
    *("TwoArmLift", "TwoArmPegInHole", "TwoArmHandover"),
)
LAWS = {
    "position": "OSC_POSITION",
    "coupled": {"type": "OSC_POSE", "uncouple_pos_ori": False},
    "world": {"type": "OSC_POSE", "input_ref_frame": "world"},
    "variable": {"type": "OSC_POSE", "impedance_mode": "variable"},
    "absolute": {"type": "OSC_POSE", "input_type": "absolute"},
    "joint position": "JOINT_POSITION",
    "uncompensated": {"type": "JOINT_POSITION", "use_torque_compensation": False, "kd": 20.0},
    "pose ramp": {"type": "OSC_POSE", "interpolation": "linear"},
    "position ramp": {"type": "JOINT_POSITION", "interpolation": "linear"},
    "velocity": "JOINT_VELOCITY",
    "velocity ramp": {"type": "JOINT_VELOCITY", "interpolation": "linear"},
    "torque": {"type": "JOINT_TORQUE", "output_max": 5.0, "output_min": -5.0},
    "kinematics": "IK_POSE",
    "whole body": "WHOLE_BODY_IK",
}


def task_of(name, **fields):
    return registered_task(f"robosuite/{name}-v0", **fields)


def pair(make, task, **options):
    """Environments of a task: compiled, and in NumPy."""
    one, other = make(task, **options), make(in_numpy(task), **options)
    assert (one.uncompiled, other.uncompiled) == ("", "not here")
    return one, other


def play(envs, steps=STEPS, seed=0):
    """All that a user sees of some steps, and the states behind them."""
    seen = [envs.reset(seed=seed)]
    envs.action_space.seed(seed)
    for _ in range(steps):
        action = np.clip(envs.action_space.sample(), -2.0, 2.0)
        seen.append(envs.step(action))
    return seen, envs.get_state()


def assert_same(one, other, **arguments):
    assert equal(play(one, **arguments), play(other, **arguments))
    one.close()
    other.close()


class TestTheSameBits:
    @pytest.mark.parametrize("name", mostly_nightly(FAMILIES, 7))
    def test_of_a_family(self, name):
        assert_same(*pair(Env, task_of(name), **EXACT))
        assert_same(*pair(VectorEnv, task_of(name), num_envs=3, max_episode_steps=4, **EXACT))

    @pytest.mark.parametrize("law", mostly_nightly(LAWS.values(), 7), ids=LAWS)
    def test_of_a_law(self, law):
        task = task_of("Lift", controller=law)
        assert_same(*pair(Env, task, **EXACT))
        assert_same(*pair(VectorEnv, task, num_envs=3, max_episode_steps=4, **EXACT))

    @pytest.mark.parametrize(
        "robot", mostly_nightly(["UR5e", "Sawyer", "IIWA", "Kinova3", "Jaco"], 5)
    )
    def test_of_a_robot(self, robot):
        assert_same(*pair(VectorEnv, task_of("Lift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.weekly
    @pytest.mark.parametrize("robot", ["Baxter", ("Panda", "Sawyer")])
    def test_of_two_arms(self, robot):
        assert_same(*pair(VectorEnv, task_of("TwoArmLift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.weekly
    @pytest.mark.parametrize("robot", ["GR1FixedLowerBody", "SpotWithArm", "Tiago"])
    def test_of_a_torso_and_legs(self, robot):
        assert_same(*pair(VectorEnv, task_of("Lift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.parametrize("threads", mostly_nightly([1, 2, 3], 3))
    def test_of_many_in_threads(self, threads):
        options = {"num_envs": 70, "threads": threads, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), **options), steps=3)

    def test_where_masses_vary(self):
        options = {"vary": {"body_mass": Uniform(0.8, 1.2)}, "max_episode_steps": 3, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), num_envs=3, **options))
        assert_same(*pair(Env, task_of("Lift"), **options))

    @pytest.mark.weekly
    def test_where_pushes_come_within_an_episode(self):
        push = redrawn(Normal(0, 20), every=0.1)
        options = {"vary": {"xfrc_applied[cube_main, 0]": push}, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), num_envs=3, **options))
        assert_same(*pair(Env, task_of("Lift"), **options))

    @pytest.mark.weekly
    @pytest.mark.parametrize("mode", AutoresetMode)
    def test_of_episodes_that_end_at_different_times(self, mode):
        def staggered(envs):
            envs.reset(seed=2)
            envs.set_state({"steps": np.array([0, 1, 3])})
            seen, over = [], np.zeros(3, dtype=bool)
            for k in range(7):
                if mode == AutoresetMode.DISABLED and over.any():
                    seen.append(envs.reset(options={"reset_mask": over}))
                seen.append(envs.step(np.full(envs.action_space.shape, 0.1 * k)))
                over = seen[-1][2] | seen[-1][3]
            return seen

        options = {"num_envs": 3, "max_episode_steps": 4, "autoreset_mode": mode, **EXACT}
        one, other = pair(VectorEnv, task_of("Stack"), **options)
        assert equal(staggered(one), staggered(other))

    def test_from_a_state_that_is_written(self):
        options = {"num_envs": 3, **EXACT}
        one, other = pair(VectorEnv, task_of("Door"), **options)
        for envs in (one, other):
            play(envs, seed=5)
        kept = one.get_state()
        moved = {"qpos": kept["qpos"][[2]] + 1e-3}
        results = []
        for envs in (one, other):
            envs.set_state(kept)
            envs.set_state(moved, ids=[1])
            action = np.full(envs.action_space.shape, 0.3)
            results.append([envs.step(action) for _ in range(2)] + [envs.get_state()])
        assert equal(*results)

    @pytest.mark.parametrize("count", [1, 3])
    def test_of_one_that_diverges(self, count):
        def broken(envs):
            play(envs, steps=2)
            state = envs.get_state()
            state["qvel"] = np.array(state["qvel"])
            state["qvel"].reshape(count, -1)[-1] = 1e9
            envs.set_state({"qvel": state["qvel"]})
            action = np.zeros(envs.action_space.shape)
            return [envs.step(action) for _ in range(2)]

        make, options = (Env, {}) if count == 1 else (VectorEnv, {"num_envs": count})
        one, other = pair(make, task_of("Lift"), **options, **EXACT)
        ours, theirs = broken(one), broken(other)
        assert equal(ours, theirs)
        assert np.array_equal(np.atleast_1d(ours[0][4]["diverged"]), np.arange(count) == count - 1)

    @pytest.mark.weekly
    def test_where_a_task_looks_at_geoms(self):
        @dataclass(frozen=True)
        class Watching(Lift):
            def observation(self, v):
                return {**super().observation(v), "places": v.geom_xpos[..., 2] + 0.0}

        assert_same(*pair(VectorEnv, Watching(), num_envs=66, threads=2, **EXACT), steps=2)


def test_several_batches_go_on_at_once():
    names = ("Lift", "Door", "TwoArmLift")
    alone = [play(VectorEnv(task_of(name), num_envs=4, threads=2, **EXACT)) for name in names]
    together = {}

    def work(name):
        together[name] = play(VectorEnv(task_of(name), num_envs=4, threads=2, **EXACT))

    running = [threading.Thread(target=work, args=(name,)) for name in names]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert equal([together[name] for name in names], alone)


@pytest.mark.weekly
@pytest.mark.parametrize("options", [{}, {"num_envs": 3}])
def test_a_copy_in_another_process_has_a_law_of_its_own(options, tmp_path):
    make = gymnasium.make_vec if options else gymnasium.make
    env = make("robosuite/Lift-v0", **options).unwrapped
    env.reset(seed=0)
    action = np.full(env.action_space.shape, 0.2, dtype=np.float32)
    env.step(action)
    file = tmp_path / "env.pickle"
    file.write_bytes(pickle.dumps(env))
    code = f"""
import pickle, numpy as np
env = pickle.load(open({str(file)!r}, "rb"))
action = np.full(env.action_space.shape, 0.2, dtype=np.float32)
print(env.step(action)[0].tobytes().hex())
"""
    assert fresh(code).strip() == env.step(action)[0].tobytes().hex()


@dataclass(frozen=True)
class Turned(Task):
    """A law of a user's own: a motor pushes a hinge while it is below an angle, and tires."""

    control_every_substep = True
    time_limit: float = 1.0
    control_timestep: float = 0.02
    gain: float = 3.0  # N m/rad

    def model(self):
        return mujoco.MjSpec.from_string(ROOM)

    def initialize(self, v, rng):
        v.qpos = rng.uniform(-1, 1)

    def memory(self, v):
        zero = v.qpos[..., 0] * 0
        return {"goal": zero, "count": v.xp.astype(zero, v.xp.int64), "tired": zero > 0}

    def before_step(self, v, action):
        return {"goal": action[..., 0] + 0.1 * v.qpos[..., 0]}

    def control(self, v, action):
        xp, angle = v.xp, v.joint("hinge").qpos[..., 0]
        push = self.gain * xp.sin(v.memory["goal"] - angle) - 0.1 * v.qvel[..., 0]
        tip = v.body("pole").xpos @ xp.asarray([0.1, 0.2, 0.3])
        push = xp.where(v.memory["tired"] & (angle > 0), xp.tanh(push), push) + tip
        return xp.clip(push, -1.0, 1.0)[..., None]

    def substep(self, v):
        count = v.memory["count"] + 1
        return {"count": count, "tired": (count > 5) | v.memory["tired"]}

    def observation(self, v):
        return {"qpos": v.qpos, "qvel": v.qvel, "count": v.memory["count"]}

    def terms(self, v):
        return {"height": v.body("pole").xpos[..., 2]}


def own(base, **members):
    """A task of a user's own, with other members than its base."""
    return dataclass(frozen=True)(type("Own", (base,), members))()


class TestALawOfTheUsersOwn:
    def test_gives_the_same_bits(self):
        assert_same(*pair(Env, Turned(), **EXACT))
        assert_same(*pair(VectorEnv, Turned(), num_envs=3, **EXACT))
        assert_same(*pair(VectorEnv, Turned(), num_envs=66, threads=2, **EXACT))

    def test_a_subclass_has_its_own(self):
        @dataclass(frozen=True)
        class Weaker(Lift):
            def control(self, v, action):
                return 0.9 * super().control(v, action)

        assert_same(*pair(Env, Weaker(), **EXACT))

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("control", "reason"),
        [
            (
                lambda self, v, action: v.qpos if v.qpos[..., 0] > 0 else -v.qpos,
                "depends on an array's numbers other than by `where`",
            ),
            (lambda self, v, action: v.qpos * float(v.qvel[..., 0]), "other than by `where`"),
            (lambda self, v, action: v.qacc + 0.0, "reads qacc, which is no position"),
            (lambda self, v, action: v.xp.frexp(v.qpos)[0], "calls frexp"),
            (lambda self, v, action: v.qpos.__iadd__(1.0), "calls add with out"),
            (lambda self, v, action: _long(v.qpos), "takes more than 100000 operations"),
        ],
    )
    def test_that_cannot_be_recorded_runs_in_numpy(self, control, reason):
        env = Env(own(Turned, control=control))
        assert env.uncompiled.startswith("Own cannot be compiled: ")
        assert reason in env.uncompiled
        env.reset(seed=0)
        env.step(env.action_space.sample())

    def test_in_single_precision_gives_the_same_bits(self):
        task = own(
            Turned,
            memory=lambda self, v: {"goal": v.xp.astype(v.qpos[..., 0], v.xp.float32)},
            before_step=lambda self, v, action: {"goal": 0.1 * action[..., 0] + 0.3},
            substep=lambda self, v: {},
            control=lambda self, v, action: v.memory["goal"][..., None] * 0.7 + v.qpos,
            observation=lambda self, v: {"qpos": v.qpos, "goal": v.memory["goal"] * 0.1},
        )
        assert_same(*pair(Env, task, **EXACT))
        assert_same(*pair(VectorEnv, task, num_envs=3))

    def test_reads_its_action_and_numbers_of_the_model(self):
        def control(self, v, action):
            return 0.3 * action * v.dof_damping + v.joint("hinge").damping

        assert_same(*pair(Env, own(Turned, control=control), **EXACT))

    @pytest.mark.parametrize(("often", "geoms"), [(False, 0), (False, 100), (True, 0)])
    def test_that_writes_the_state(self, often, geoms):
        """A hook between physics steps would see what followed from the state before."""

        def model(self):
            spec = mujoco.MjSpec.from_string(ROOM)
            for i in range(geoms):
                spec.worldbody.add_geom(size=[0.01, 0, 0], pos=[i, 5, 0])
            return spec

        task = own(
            Turned,
            model=model,
            control_every_substep=often,
            before_step=lambda self, v, action: {
                "qpos": v.xp.where(v.qpos > 0.1, -v.qpos, v.qpos),
                "goal": action[..., 0],
            },
            control=lambda self, v, action: 0.3 * v.memory["goal"][..., None],
        )
        assert_same(*pair(Env, task, **EXACT))
        assert_same(*pair(VectorEnv, task, num_envs=3, max_episode_steps=4))
        envs = VectorEnv(task, 3)
        assert set(envs.in_numpy) == ({"before_step"} if often else set())

    @pytest.mark.parametrize("name", ["goal", "qpos"])
    def test_control_in_numpy_sees_what_was_written_before(self, name):
        task = own(
            Turned,
            control_every_substep=False,
            before_step=lambda self, v, action: {
                name: 0.9 * (v.qpos if name == "qpos" else v.qpos[..., 0])
            },
            control=lambda self, v, action: (
                v.xp.frexp(v.memory["goal"])[0][..., None] * 0.1 + 0.1 * v.qpos
            ),
        )
        assert_same(*pair(Env, task, **EXACT))
        assert set(Env(task).in_numpy) == {"before_step", "control"}

    def test_with_a_memory_of_small_numbers_runs_in_numpy(self):
        def memory(self, v):
            return {"turns": v.xp.astype(v.qpos[..., 0], v.xp.int32)}

        env = Env(own(Dice, memory=memory))
        env.reset(seed=0)
        assert env.uncompiled == "Own cannot be compiled: its memory has numbers of int32"
        env.step(env.action_space.sample())

    def test_that_gives_other_numbers_is_found(self):
        task, other = task_of("Lift"), task_of("Lift", controller={"type": "OSC_POSE", "kp": 151.0})
        step = task.compiled_step("float32", None, task.varies)

        def differing(task):
            sample = Single(compile_model(task))
            sample.forward()
            recorder = Recorder(task, sample, task.memory(sample.view), None, "float32", {})
            return Agreement(step, recorder, sample, 0.0).differing

        assert step.recording.exact
        assert not differing(task)
        assert differing(other) == {"control"}

    def test_that_reads_a_random_number_runs_in_numpy(self):
        rng = np.random.default_rng(0)
        available.warned.cache_clear()
        env = Env(own(Turned, control=lambda self, v, action: v.qpos * rng.uniform()))
        with pytest.warns(RuntimeWarning, match="give other numbers on this machine"):
            env.reset(seed=0)


DICE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <site name="target"/>
    <body name="die" pos="0 0 1">
      <freejoint name="free"/>
      <geom size="0.1 0.1 0.1" type="box"/>
      <body name="arm"><joint name="hinge"/><geom size="0.05" pos="0.2 0 0"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Dice(Task):
    """Starts that are drawn and written in many ways, of episodes that end at once."""

    varies = ("site_pos",)
    time_limit: float = 0.04
    control_timestep: float = 0.02
    largest: float = 0.5

    def model(self):
        return mujoco.MjSpec.from_string(DICE)

    def initialize(self, v, rng):
        turn = rng.normal(size=4)
        v.qpos[3:7] = turn / np.linalg.norm(turn)
        v.qpos[:2] += self.largest * rng.random(2)
        v.qpos[2] *= rng.uniform(0.9, 1.1)
        v.joint("hinge").qpos = np.where(rng.uniform() < 0.5, 0.1, rng.exponential(0.2))
        speeds = rng.standard_normal(v.model.nv)
        speeds[-1] = 0.0
        v.qvel = np.clip(speeds, -1.0, 1.0)
        v.qvel[:3] *= rng.uniform([0.1, 0.2, 0.3], 1.0)
        angle = rng.uniform(-np.pi, np.pi)
        v.site("target").pos[:2] = np.array([np.cos(angle), np.sin(angle)])
        v.ctrl[:] = rng.uniform(-v.qpos[2], v.qpos[2])

    def observation(self, v):
        return {"qpos": v.qpos, "qvel": v.qvel, "target": v.site("target").xpos}

    def terms(self, v):
        return {"height": v.qpos[..., 2]}


class TestStarts:
    """Starts that one compiled function writes; in a batch, those of the later episodes."""

    def test_are_drawn_as_in_numpy(self):
        for make, more in ((VectorEnv, {"num_envs": 5, "threads": 2}), (Env, {})):
            one, other = pair(make, Dice(), **more, **EXACT)
            assert "initialize" not in one.in_numpy
            for seed in (3, 4, 5):
                assert equal(play(one, seed=seed), play(other, seed=seed))

    def test_are_those_of_single_environments(self):
        envs, single = VectorEnv(Dice(), 3, **EXACT), Env(Dice(), **EXACT)
        envs.reset(seed=4), envs.step(envs.action_space.sample())
        for _ in range(3):
            starts = envs.reset()[0]
        single.reset(seed=6)
        for _ in range(3):
            start = single.reset()[0]
        assert equal({name: x[2] for name, x in starts.items()}, start)

    def test_with_numbers_that_vary(self):
        vary = {"body_mass": Uniform(0.9, 1.1), "site_pos": Normal(0.0, 0.1)}
        assert_same(*pair(VectorEnv, Dice(), num_envs=4, vary=vary, **EXACT))

    @pytest.mark.parametrize(
        ("initialize", "reason"),
        [
            (lambda self, v, rng: v.forward(), "calls forward"),
            (lambda self, v, rng: v.qpos.__setitem__(0, v.xpos[1, 0]), "reads xpos, which follows"),
            (lambda self, v, rng: rng.permutation(3), "draws by permutation"),
            (lambda self, v, rng: v.geom("floor").pos.fill(1.0), "read-only"),
            (
                lambda self, v, rng: (v.model.geom_pos.fill(1.0), v.forward()),
                "calls forward",
            ),
            (lambda self, v, rng: v.model.geom_pos.fill(1.0), "writes geom_pos of the model"),
            (lambda self, v, rng: v.qpos.fill(1.0), "draws nothing"),
            (
                lambda self, v, rng: v.qpos.fill(np.asarray(rng.random(), dtype=float)),
                "takes numbers out of arrays",
            ),
        ],
    )
    def test_that_cannot_be_compiled_say_why(self, initialize, reason):
        task = own(Dice, initialize=initialize)
        envs = VectorEnv(task, 2)
        assert reason in envs.in_numpy["initialize"]
        assert not envs.uncompiled
        np.testing.assert_array_equal(compile_model(task).geom("floor").pos, 0.0)

    def test_that_give_other_numbers_stay_in_python(self, monkeypatch):
        monkeypatch.setattr("mjgym_fast.tracing.NotedDraws.exponential", lambda self, x: 2 * x)
        one, other = pair(Env, Dice(largest=0.4), **EXACT)
        assert one.in_numpy["initialize"] == "gives other numbers than NumPy"
        for seed in (3, 4):
            assert equal(play(one, seed=seed), play(other, seed=seed))

    def test_that_are_not_finite_are_drawn_again(self):
        def initialize(self, v, rng):
            v.qpos[0] = np.where(rng.random() < 0.3, np.inf, 1.0)

        envs = VectorEnv(own(Dice, initialize=initialize), 64)
        envs.reset(seed=0), envs.step(envs.action_space.sample())
        assert np.isfinite(envs.reset()[0]).all()


def _long(x):
    for i in range(100_001):
        x = x + i
    return x


@dataclass(frozen=True)
class Singular(Turned):
    """Solves a system that has no solution from the second physics step on."""

    def control(self, v, action):
        xp = v.xp
        rows = xp.asarray([[2.0, 1.0], [1.0, 1.0]]) - (v.memory["count"] > 0)[..., None, None]
        return xp.linalg.solve(rows, rows[..., :1])[..., 0, :1]


class TestFailures:
    """A law that cannot be computed is a divergence, and one that cannot be compiled is said."""

    @pytest.mark.parametrize("count", [None, 3])
    def test_a_hook_that_cannot_be_computed_ends_the_episode(self, count):
        env = Env(Singular()) if count is None else VectorEnv(Singular(), count)
        assert env.uncompiled == ""
        env.reset(seed=0)
        *_, truncated, info = env.step(np.zeros(env.action_space.shape))
        assert np.all(truncated)
        assert np.all(info["diverged"])

    def test_hooks_that_give_other_numbers_are_said(self, monkeypatch):
        monkeypatch.setattr("mjgym_fast.agreement._equal", lambda *_: False)
        available.warned.cache_clear()
        env = Env(Lift(table_friction=(0.9, 0.005, 0.0001)))
        with pytest.warns(RuntimeWarning, match="give other numbers on this machine"):
            env.reset(seed=0)
        assert env.uncompiled == "compiled hooks give other numbers on this machine than NumPy"
        env.step(env.action_space.sample())


REPORT = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import gymnasium, mjgym
    for _ in range(2):
        env = gymnasium.make("robosuite/Lift-v0")
    env.reset(seed=0)
    env.step(env.action_space.sample())
print(len([x for x in said if "hooks run on arrays" in str(x.message)]))
print(mjgym.fingerprint(env)["hooks"])
"""


def reported(before="", **environment):
    """How often a program warns, and how its hooks run, after some preparation."""
    count, hooks = fresh(before + REPORT, **environment).splitlines()
    return int(count), ast.literal_eval(hooks)


class TestPrograms:
    """Each in a process of its own, as what is found is kept."""

    def test_hooks_switched_off_are_no_warning(self):
        count, hooks = reported(MJGYM_DISABLE_COMPILED="1")
        assert count == 0
        assert hooks["reason"] == "MJGYM_DISABLE_COMPILED=1 switches compiled hooks off"

    @pytest.mark.weekly
    def test_a_full_disk_is_no_matter(self):
        full = (
            "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        )
        count, hooks = reported(full, PYTHONDONTWRITEBYTECODE="1")
        assert (count, hooks["run"]) == (0, "compiled")
