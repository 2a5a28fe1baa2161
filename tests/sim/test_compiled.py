"""Control steps with a compiled law in between, beside the same steps with its hooks in NumPy."""

import ast
import copy
import dataclasses
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers.rollouts import equal

pytest.importorskip("numba", reason='needs numba: pip install -e ".[fast]"')

from numba import cfunc

from helpers.registered import registered_task
from helpers.toys import ROOM
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.sim import Single
from mjgym.task import Task
from mjgym.task.models import compile_model
from mjgym.tasks.robosuite.lift import Lift
from mjgym.variation import Normal, Uniform, redrawn
from mjgym_fast import available, stepping
from mjgym_fast.agreement import agrees

pytestmark = pytest.mark.numba

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


def in_numpy(task):
    """The same task without a compiled law, so that its hooks are called."""
    refuse = {"compiled_law": lambda self: "not here"}
    own = dataclass(frozen=True)(type("InNumPy", (type(task),), refuse))
    fields = {f.name: getattr(task, f.name) for f in dataclasses.fields(task) if f.init}
    return own(**fields)


def pair(make, task, **options):
    """Environments of a task: with the compiled law, and with that in NumPy."""
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
    @pytest.mark.parametrize("name", FAMILIES)
    def test_of_a_family(self, name):
        assert_same(*pair(Env, task_of(name), **EXACT))
        assert_same(*pair(VectorEnv, task_of(name), num_envs=3, max_episode_steps=4, **EXACT))

    @pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
    def test_of_a_law(self, law):
        task = task_of("Lift", controller=law)
        assert_same(*pair(Env, task, **EXACT))
        assert_same(*pair(VectorEnv, task, num_envs=3, max_episode_steps=4, **EXACT))

    @pytest.mark.parametrize("robot", ["UR5e", "Sawyer", "IIWA", "Kinova3", "Jaco"])
    def test_of_a_robot(self, robot):
        assert_same(*pair(VectorEnv, task_of("Lift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.parametrize("robot", ["Baxter", ("Panda", "Sawyer")])
    def test_of_two_arms(self, robot):
        assert_same(*pair(VectorEnv, task_of("TwoArmLift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.parametrize("robot", ["GR1FixedLowerBody", "SpotWithArm", "Tiago"])
    def test_of_a_torso_and_legs(self, robot):
        assert_same(*pair(VectorEnv, task_of("Lift", robot=robot), num_envs=2, **EXACT))

    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_of_many_in_threads(self, threads):
        options = {"num_envs": 70, "threads": threads, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), **options), steps=3)

    def test_where_masses_vary(self):
        options = {"vary": {"body_mass": Uniform(0.8, 1.2)}, "max_episode_steps": 3, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), num_envs=3, **options))
        assert_same(*pair(Env, task_of("Lift"), **options))

    def test_where_pushes_come_within_an_episode(self):
        push = redrawn(Normal(0, 20), every=0.1)
        options = {"vary": {"xfrc_applied[cube_main, 0]": push}, **EXACT}
        assert_same(*pair(VectorEnv, task_of("Lift"), num_envs=3, **options))
        assert_same(*pair(Env, task_of("Lift"), **options))

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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == env.step(action)[0].tobytes().hex(), done.stderr


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

    @pytest.mark.parametrize(
        ("control", "reason"),
        [
            (
                lambda self, v, action: action,
                "reads its action, which `before_step` could",
            ),
            (
                lambda self, v, action: v.qpos if v.qpos[..., 0] > 0 else -v.qpos,
                "depends on an array's numbers other than by `where`",
            ),
            (lambda self, v, action: v.qpos * float(v.qvel[..., 0]), "other than by `where`"),
            (
                lambda self, v, action: v.qpos * v.dof_damping,
                "reads dof_damping, which",
            ),
            (lambda self, v, action: v.joint("hinge").damping, "reads damping of joint 'hinge'"),
            (lambda self, v, action: v.qacc + 0.0, "reads qacc, which is no position"),
            (lambda self, v, action: v.xp.frexp(v.qpos)[0], "calls frexp"),
            (lambda self, v, action: v.qpos.__iadd__(1.0), "calls add with out"),
            (lambda self, v, action: _long(v.qpos), "takes more than 60000 operations"),
        ],
    )
    def test_that_cannot_be_recorded_runs_in_numpy(self, control, reason):
        own = dataclass(frozen=True)(type("Own", (Turned,), {"control": control}))
        env = Env(own())
        assert env.uncompiled.startswith("Own cannot be compiled: ")
        assert reason in env.uncompiled
        env.reset(seed=0)
        env.step(env.action_space.sample())

    def test_in_single_precision_runs_in_numpy(self):
        own = {"memory": lambda self, v: {"goal": v.xp.astype(v.qpos[..., 0], v.xp.float32)}}
        own["substep"] = lambda self, v: {}
        own["control"] = lambda self, v, action: v.memory["goal"][..., None] + v.qpos
        own["observation"] = lambda self, v: {"qpos": v.qpos}
        env = Env(dataclass(frozen=True)(type("Own", (Turned,), own))())
        assert "computes in single precision with the memory 'goal'" in env.uncompiled

    def test_that_gives_other_numbers_is_found(self):
        task, other = task_of("Lift"), task_of("Lift", controller={"type": "OSC_POSE", "kp": 151.0})
        law = task.compiled_law()
        assert law.exact
        assert agrees(law, task, Single(compile_model(task)), 0.0)
        assert not agrees(law, other, Single(compile_model(task)), 1e-6)

    def test_that_reads_a_random_number_runs_in_numpy(self):
        rng = np.random.default_rng(0)
        own = {"control": lambda self, v, action: v.qpos * rng.uniform()}
        available.warned.cache_clear()
        env = Env(dataclass(frozen=True)(type("Own", (Turned,), own))())
        with pytest.warns(RuntimeWarning, match="gives other numbers on this machine"):
            env.reset(seed=0)


def _long(x):
    for i in range(60_001):
        x = x + i
    return x


@cfunc("int64(int64, int64, int64, int64)")
def raises(phase, fields, memory, work):
    return 1 // (memory - memory)  # numba's own way with a division by zero: an exception


@dataclass(frozen=True)
class LiftThatRaises(Lift):
    def compiled_law(self):
        law = copy.copy(super().compiled_law())
        law.address = raises.address
        return law


class TestFailures:
    """A law that cannot be computed is a divergence, and one that cannot be compiled is said."""

    @pytest.mark.parametrize("count", [None, 3])
    def test_a_law_that_raises_ends_the_episode(self, count, unraisable):
        env = Env(LiftThatRaises()) if count is None else VectorEnv(LiftThatRaises(), count)
        assert env.uncompiled == ""
        env.reset(seed=0)
        *_, truncated, info = env.step(np.zeros(env.action_space.shape))
        assert np.all(truncated)
        assert np.all(info["diverged"])
        # Each once, and not in all of 25 physics steps.
        assert [x.exc_type for x in unraisable] == [ZeroDivisionError] * (count or 1)

    def test_nothing_is_compiled_within_a_step(self):
        """Where a full disk would be an error in the middle of an episode."""
        before = list(stepping._step.signatures)
        for make, options in ((Env, {}), (VectorEnv, {"num_envs": 3})):
            env = make(task_of("TwoArmLift"), vary={"body_mass": Uniform(0.8, 1.2)}, **options)
            env.reset(seed=0)
            env.step(env.action_space.sample())
        assert stepping._step.signatures == before

    def test_a_law_that_gives_other_numbers_is_said(self, monkeypatch):
        monkeypatch.setattr("mjgym_fast.agreement.agrees", lambda *_: False)
        available.warned.cache_clear()
        env = Env(Lift(table_friction=(0.9, 0.005, 0.0001)))
        with pytest.warns(RuntimeWarning, match="gives other numbers on this machine"):
            env.reset(seed=0)
        assert env.uncompiled == "the compiled law gives other numbers on this machine than NumPy"
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
print(len([x for x in said if "control laws run on arrays" in str(x.message)]))
print(mjgym.fingerprint(env)["law"])
"""


def reported(before="", **environment):
    """How often a program warns, and the law that it runs, after some preparation."""
    done = subprocess.run(
        [sys.executable, "-c", before + REPORT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    count, law = done.stdout.splitlines()
    return int(count), ast.literal_eval(law)


class TestPrograms:
    """Each in a process of its own, as a cache is read once."""

    def test_a_cache_that_has_been_cut(self, tmp_path):
        program = "import mjgym_fast.stepping"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        for path in files:
            path.write_bytes(path.read_bytes()[:40])
        count, law = reported(NUMBA_CACHE_DIR=str(tmp_path))
        assert (count, law["runs"]) == (1, "arrays")
        assert "numba cannot compile it or keep it in its cache: " in law["reason"]

    def test_a_disk_that_is_full(self, tmp_path):
        full = (
            "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
        )
        count, law = reported(full, NUMBA_CACHE_DIR=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
        assert (count, law["runs"]) == (1, "arrays")
        assert "OSError" in law["reason"]

    def test_a_blas_of_another_kind(self):
        other = "from mjgym_fast import foreign; foreign.blas = lambda: None"
        reason = "NumPy does not multiply by the OpenBLAS of its own wheels"
        assert reported(other) == (1, {"runs": "arrays", "reason": reason})

    def test_numba_switched_off_is_no_warning(self):
        count, law = reported(NUMBA_DISABLE_JIT="1")
        assert count == 0
        assert law == {"runs": "arrays", "reason": "NUMBA_DISABLE_JIT=1 switches numba off"}
