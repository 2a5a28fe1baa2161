"""Ids: which there are, how they are found, and how a user adds one."""

import dataclasses
import functools
import importlib
import json
import pickle
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import mjgym
from helpers import suite
from helpers.small_process import fresh
from mjgym import registry
from mjgym.envs.options import Options, VectorOptions, WarpOptions, names
from mjgym.task.task_fields import check_fields
from mjgym.tasks.dmc.cartpole import Cartpole

MAKERS = {"make": gymnasium.make, "make_vec": gymnasium.make_vec}


class TestTable:
    @pytest.mark.weekly
    def test_is_that_of_the_code(self, tmp_path):
        program = """
            from mjgym import registry
            print(registry.TABLE.read_text() == registry.packaged_table())
        """
        assert fresh(program, folder=tmp_path) == "True\n"

    def test_imports_a_task_when_it_is_made(self, tmp_path):
        program = """
            import sys
            import gymnasium, mjgym
            def tasks():
                return [name for name in sys.modules if name.startswith("mjgym.tasks.dmc.")]
            print(tasks())
            print(mjgym.registry.registration("dmc/walker-run-v0").summary[:5], tasks())
            gymnasium.make("dmc/walker-run-v0")
            print("mjgym.tasks.dmc.walker" in tasks(), "mjgym.tasks.dmc.dog" in tasks())
        """
        assert fresh(program, folder=tmp_path).splitlines()[::2] == ["[]", "True False"]

    @pytest.mark.slow
    def test_a_class_of_ones_own_cannot_take_a_packaged_id(self, tmp_path):
        (tmp_path / "own.py").write_text(
            "from dataclasses import dataclass\n"
            "from mjgym import register\n"
            "from mjgym.tasks.dmc.pendulum import Pendulum\n"
            "@register('dmc/cartpole-balance-v0')\n"
            "@dataclass(frozen=True)\n"
            "class Own(Pendulum):\n"
            "    pass\n"
        )
        program = """
            try:
                import own
            except ValueError as error:
                print(error)
        """
        assert "dmc/cartpole-balance-v0 is registered already" in fresh(program, folder=tmp_path)


class TestIds:
    def test_the_suite_has_the_recorded_ids(self):
        assert registry.ids(namespace="dmc") == sorted(suite.IDS)
        assert len(suite.IDS) == 51
        assert set(suite.IDS) <= set(gymnasium.registry)

    @pytest.mark.parametrize("name", suite.TASKS)
    def test_tags_are_the_recorded_ones(self, name):
        recorded = {tag.lower() for tag in suite.TASKS[name]["tags"]}
        assert registry.registration(f"dmc/{name}-v0").tags == recorded

    def test_benchmarking_and_extra_share_the_suite(self):
        benchmarking = registry.ids(namespace="dmc", tag="benchmarking")
        extra = registry.ids(namespace="dmc", tag="extra")
        assert len(benchmarking) == 28
        assert sorted(benchmarking + extra) == sorted(suite.IDS)

    def test_several_tags_narrow_the_search(self):
        easy, both = registry.ids(tag="easy"), registry.ids(tag=("easy", "benchmarking"))
        assert {"dmc/reacher-easy-v0", "dmc/point_mass-easy-v0"} <= set(both) <= set(easy)
        assert registry.ids(tag=["easy", "hard"]) == []
        assert registry.ids(tag=()) == registry.ids()
        assert registry.ids() == sorted(registry.ids())
        assert set(registry.ids(namespace="dmc")) <= set(registry.ids())

    def test_an_unknown_tag_or_namespace_names_the_nearest(self):
        with pytest.raises(ValueError, match=r"tag.*'benchmarkin'.*benchmarking"):
            registry.ids(tag="benchmarkin")
        with pytest.raises(ValueError, match=r"tag.*'esy'.*easy"):
            registry.ids(tag=("hard", "esy"))
        with pytest.raises(ValueError, match=r"tag.*'qqq'.*benchmarking.*extra"):  # all of them
            registry.ids(tag="qqq")
        with pytest.raises(ValueError, match=r"namespace.*'dm'.*dmc"):
            registry.ids(namespace="dm")
        with pytest.raises(ValueError, match=r"namespace.*''.*dmc"):
            registry.ids(namespace="")
        with pytest.raises(ValueError, match=r"tag.*''.*easy"):
            registry.ids(tag="")

    def test_an_unknown_id_names_the_nearest(self):
        with pytest.raises(gymnasium.error.NameNotFound, match="cartpole-swingup-v0"):
            registry.registration("dmc/cartpole-swngup-v0")
        with pytest.raises(gymnasium.error.NameNotFound, match=r"no id 'qqq'$"):
            registry.registration("qqq")

    def test_a_registration_makes_the_task(self):
        registration = registry.registration("dmc/walker-run-v0")
        assert registration.id == "dmc/walker-run-v0"
        assert registration.task_class(**registration.fields).speed == 8


class TestSpecs:
    @pytest.mark.parametrize("id", suite.IDS)
    def test_are_plain_data(self, id):
        spec = gymnasium.spec(id)
        assert {type(value) for value in spec.kwargs.values()} <= {str, int, float, bool}
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert EnvSpec.from_json(spec.to_json()) == spec
        assert id in str(spec)

    @pytest.mark.parametrize("id", suite.IDS)
    def test_have_the_published_step_limit(self, id):
        name = id.removeprefix("dmc/").removesuffix("-v0")
        assert gymnasium.spec(id).max_episode_steps == suite.TASKS[name]["step_limit"]

    @pytest.mark.weekly
    def test_reach_another_process(self, tmp_path):
        specs = [gymnasium.spec(i).to_json() for i in ("dmc/walker-run-v0", "dmc/lqr-lqr_2_1-v0")]
        program = """
            import os, json, gymnasium
            from gymnasium.envs.registration import EnvSpec
            for text in json.loads(os.environ["SPECS"]):
                env = gymnasium.make(EnvSpec.from_json(text))
                env.reset(seed=0)
                print(env.spec.id, env.step(env.action_space.sample() * 0)[1])
        """
        printed = fresh(program, folder=tmp_path, SPECS=json.dumps(specs)).split()
        for id, reward in zip(printed[::2], printed[1::2], strict=True):
            env = gymnasium.make(id)
            env.reset(seed=0)
            assert env.step(env.action_space.sample() * 0)[1] == float(reward)
        assert printed[::2] == ["dmc/walker-run-v0", "dmc/lqr-lqr_2_1-v0"]


def length(env):
    """Control steps of an episode, in an environment or in a batch of one; None beyond 2000."""
    env.reset(seed=0)
    for step in range(1, 2001):
        _, _, terminated, truncated, _ = env.step(np.zeros(env.action_space.shape))
        if terminated or truncated:
            assert not terminated
            return step
    return None


class TestMake:
    @pytest.mark.weekly
    def test_needs_no_import_of_ours(self, tmp_path):
        program = """
            import sys, gymnasium
            assert "mjgym" not in sys.modules
            env = gymnasium.make("mjgym:dmc/cartpole-swingup-v0")
            env.reset(seed=0)
            print(env.step(env.action_space.sample())[0].shape)
            envs = gymnasium.make_vec("mjgym:dmc/cartpole-swingup-v0", num_envs=3)
            envs.reset(seed=0)
            print(envs.step(envs.action_space.sample())[0].shape)
        """
        assert fresh(program, folder=tmp_path).splitlines() == ["(5,)", "(3, 5)"]

    def test_makes_what_is_registered(self):
        env = gymnasium.make("dmc/walker-run-v0")
        envs = gymnasium.make_vec("dmc/walker-run-v0", num_envs=2)
        assert env.unwrapped.task == envs.task == suite.task("walker-run")
        assert env.unwrapped.task.speed == 8
        assert isinstance(env.unwrapped, mjgym.Env)
        assert isinstance(envs, mjgym.VectorEnv)
        assert env.spec.id == envs.spec.id == "dmc/walker-run-v0"

    @pytest.mark.parametrize("maker", MAKERS)
    def test_the_fields_of_the_task_are_arguments(self, maker):
        made = MAKERS[maker]("dmc/cartpole-swingup-v0", poles=2)
        assert made.unwrapped.task == Cartpole(swingup=True, poles=2)

    @pytest.mark.parametrize("maker", MAKERS)
    def test_the_fields_of_an_id_can_be_overridden(self, maker):
        made = MAKERS[maker]("dmc/cartpole-swingup-v0", swingup=False)
        assert made.unwrapped.task == Cartpole()

    @pytest.mark.parametrize("maker", MAKERS)
    @pytest.mark.parametrize(
        ("wrong", "near"),
        [
            ("polse", "poles"),
            ("observatoin", "observation"),
            ("max_episode_step", "max_episode_s"),
            ("horizon", "the control steps of an episode are max_episode_steps"),
        ],
    )
    def test_an_unknown_argument_names_the_nearest(self, maker, wrong, near):
        with pytest.raises(TypeError, match=f"Cartpole.*'{wrong}'.*{near}"):
            MAKERS[maker]("dmc/cartpole-swingup-v0", **{wrong: 2})

    @pytest.mark.parametrize("maker", MAKERS)
    def test_an_argument_like_no_other_gets_the_list(self, maker):
        with pytest.raises(TypeError, match=r"'qqq'.*swingup.*poles.*observation.*dtype"):
            MAKERS[maker]("dmc/cartpole-swingup-v0", qqq=2)

    def test_arguments_of_the_batch_are_none_of_the_single_env(self):
        with pytest.raises(TypeError, match="threads"):
            gymnasium.make("dmc/cartpole-swingup-v0", threads=2)
        gymnasium.make_vec("dmc/cartpole-swingup-v0", threads=2)

    @pytest.mark.parametrize("name", sorted(set(names(WarpOptions)) - set(names(VectorOptions))))
    def test_arguments_of_another_backend_name_it(self, name):
        with pytest.raises(TypeError, match=f"{name}: only of backend='warp', not of 'mujoco'"):
            gymnasium.make_vec("dmc/cartpole-swingup-v0", **{name: 1})

    @pytest.mark.parametrize("maker", MAKERS)
    def test_a_wrong_value_is_named(self, maker):
        with pytest.raises(ValueError, match=r"poles.*0"):
            MAKERS[maker]("dmc/cartpole-swingup-v0", poles=0)

    @pytest.mark.parametrize("maker", MAKERS)
    @pytest.mark.parametrize(
        ("id", "error", "near"),
        [
            ("dmc/cartpole-swngup-v0", gymnasium.error.NameNotFound, "cartpole-swingup"),
            ("dcm/cartpole-swingup-v0", gymnasium.error.NamespaceNotFound, "dmc"),
            ("dmc/cartpole-swingup-v7", gymnasium.error.VersionNotFound, "v0"),
        ],
    )
    def test_an_unknown_id_names_the_nearest(self, maker, id, error, near):
        with pytest.raises(error, match=near):
            MAKERS[maker](id)

    def test_some_tasks_have_no_limit(self):
        assert gymnasium.make("dmc/lqr-lqr_2_1-v0").spec.max_episode_steps is None
        assert length(gymnasium.make_vec("dmc/lqr-lqr_2_1-v0")) is None


# What the design promises: one new file, and no other is edited.
MODULE = '''
"""Balance an upright stick."""

from dataclasses import dataclass

import mujoco

from mjgym import Task, register
from mjgym.rewards import tolerance

MJCF = """
<mujoco>
  <option timestep=".01"/>
  <worldbody><body name="stick"><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/></body></worldbody>
  <actuator><motor joint="hinge" ctrlrange="-1 1" gear="9"/></actuator>
</mujoco>
"""


@register("mine/stick-upright-v0", tags=("sticks",))
@register("mine/stick-wide-v3", tags=("sticks", "wide"), margin=2.0)
@dataclass(frozen=True)
class Stick(Task):
    """Keep the stick upright."""

    margin: float = 1.0  # rad

    time_limit = 0.5  # s
    control_timestep = 0.02  # s

    def model(self):
        return mujoco.MjSpec.from_string(MJCF)

    def initialize(self, v, rng):
        v.qpos[:] = rng.uniform(-0.1, 0.1, size=1)

    def observation(self, v):
        return {"angle": v.qpos, "velocity": v.qvel}

    def terms(self, v):
        return {"upright": tolerance(v.qpos[..., 0], margin=self.margin)}
'''


@pytest.fixture
def stick(tmp_path, monkeypatch, own_ids):
    (tmp_path / "my_sticks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("my_sticks")
    del sys.modules["my_sticks"]


class TestOwnTasks:
    def test_work_with_make_and_make_vec(self, stick):
        env = gymnasium.make("mine/stick-wide-v3", dtype="float64")
        envs = gymnasium.make_vec("mine/stick-wide-v3", num_envs=3, dtype="float64")
        assert env.unwrapped.task == envs.task == stick.Stick(margin=2.0)
        observation, _ = env.reset(seed=4)
        observations, _ = envs.reset(seed=4)
        for _ in range(25):
            assert observation.tolist() == observations[0].tolist()
            observation, reward, terminated, truncated, info = env.step(np.array([0.1]))
            observations, rewards, _, truncations, _ = envs.step(np.full((3, 1), 0.1))
            assert reward == rewards[0] == info["terms/upright"]
        assert len({tuple(row) for row in observations.tolist()}) == 3
        assert truncated
        assert truncations.all()
        assert not terminated
        assert gymnasium.make("mine/stick-upright-v0", margin=0.5).unwrapped.task.margin == 0.5

    def test_are_found(self, stick):
        assert registry.ids(namespace="mine") == ["mine/stick-upright-v0", "mine/stick-wide-v3"]
        assert registry.ids(tag=("wide", "sticks")) == ["mine/stick-wide-v3"]
        assert set(registry.ids(namespace="dmc")) == set(suite.IDS)
        assert gymnasium.spec("mine/stick-upright-v0").max_episode_steps == 25

    @pytest.mark.weekly
    def test_in_a_fresh_interpreter_by_the_name_of_their_module(self, tmp_path):
        (tmp_path / "my_sticks.py").write_text(MODULE)
        program = """
            import gymnasium
            env = gymnasium.make("my_sticks:mine/stick-upright-v0")
            envs = gymnasium.make_vec("my_sticks:mine/stick-upright-v0", num_envs=2)
            print(env.reset(seed=0)[0].shape, envs.reset(seed=0)[0].shape)
        """
        assert fresh(program, folder=tmp_path) == "(2,) (2, 2)\n"

    @pytest.mark.slow
    def test_of_a_script_itself(self, tmp_path):
        program = MODULE + '\nimport gymnasium\nprint(gymnasium.make("mine/stick-wide-v3").spec.id)'
        (tmp_path / "script.py").write_text(program)
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.stdout == "mine/stick-wide-v3\n", done.stderr

    def test_a_tag_without_its_comma_is_refused(self, own_ids):
        with pytest.raises(TypeError, match=r"tags: .* text; write \('sticks',\)"):
            mjgym.register("mine/stick-tagged-v0", tags=("sticks"))

    def test_written_in_a_function_are_refused_with_the_reason(self, own_ids):
        # A spec names its class as "module:Class", where nothing finds what a function holds.
        with pytest.raises(TypeError, match=r"mine/inner-v0.*Inner.*(function|module)"):

            @mjgym.register("mine/inner-v0")
            @dataclasses.dataclass(frozen=True)
            class Inner(Cartpole):
                pass

        assert "mine/inner-v0" not in registry.ids()


class TestRegister:
    def test_unknown_fields_are_refused(self, own_ids):
        with pytest.raises(TypeError, match=r"mine/cartpole-v0.*Cartpole.*'polse'.*poles"):
            mjgym.register("mine/cartpole-v0", polse=2)(Cartpole)
        assert "mine/cartpole-v0" not in registry.ids()

    @pytest.mark.parametrize("missing", ["time_limit", "control_timestep"])
    def test_a_task_without_its_times_is_refused(self, missing, own_ids):
        times = {"time_limit": 1.0, "control_timestep": 0.1}
        del times[missing]
        fields = [(name, float, value) for name, value in times.items()]
        timeless = dataclasses.make_dataclass("Timeless", fields, bases=(mjgym.Task,), frozen=True)
        with pytest.raises(TypeError, match=f"mine/timeless-v0.*Timeless.*{missing}"):
            mjgym.register("mine/timeless-v0")(timeless)
        assert "mine/timeless-v0" not in registry.ids()

    @pytest.mark.parametrize("id", ["mine/cart pole!-v0", "mine/cartpole", "cartpole-v0", ""])
    def test_a_malformed_id_is_refused_and_leaves_nothing(self, id, own_ids):
        before = registry.ids()
        with pytest.raises((ValueError, gymnasium.error.Error), match=r"[iI][dD]"):
            mjgym.register(id)(Cartpole)
        assert registry.ids() == before

    def test_a_class_with_fields_of_its_own_is_a_dataclass_of_its_own(self, own_ids):
        heavy = type("Heavy", (Cartpole,), {"__annotations__": {"mass": float}, "mass": 2.0})
        with pytest.raises(TypeError, match=r"put @dataclass\(frozen=True\)"):
            mjgym.register("mine/heavy-v0")(heavy)

    def test_a_plain_value_is_the_default_of_an_inherited_field(self):
        short = dataclasses.dataclass(frozen=True)(type("Short", (Cartpole,), {"time_limit": 5.0}))
        assert (short().time_limit, short(time_limit=2.0).time_limit) == (5.0, 2.0)
        assert short(True).swingup is True  # the times are no positional arguments
        with pytest.raises(TypeError, match=r"put @dataclass\(frozen=True\)"):
            type("Bare", (Cartpole,), {"time_limit": 5.0})()

    @pytest.mark.parametrize("what", [object, dataclasses.make_dataclass("Other", [])])
    def test_what_is_no_task_is_refused(self, what, own_ids):
        with pytest.raises(TypeError, match=r"mine/other-v0.*Task"):
            mjgym.register("mine/other-v0")(what)
        assert "mine/other-v0" not in registry.ids()

    @pytest.mark.parametrize(
        "name",
        sorted(
            {"num_envs", "wrappers", *names(Options), *names(VectorOptions), *names(WarpOptions)}
        ),
    )
    def test_a_field_that_would_hide_an_argument_is_refused(self, name, own_ids):
        hiding = dataclasses.make_dataclass(
            "Hiding",
            [(name, int, dataclasses.field(default=1))],
            bases=(Cartpole,),
            namespace={"__module__": __name__},
            frozen=True,
        )
        with pytest.raises(TypeError, match=f"mine/hiding-v0.*Hiding.*'{name}'.*make"):
            mjgym.register("mine/hiding-v0")(hiding)
        assert "mine/hiding-v0" not in registry.ids()
        assert "mine/hiding-v0" not in gymnasium.registry


def test_an_id_stands_for_one_thing():
    id, cls = "dmc/cartpole-swingup-v0", Cartpole
    before = mjgym.registry.registration(id)
    for fields in ({}, {**before.fields, "time_limit": 3.0}):
        with pytest.raises(ValueError, match=r"dmc/cartpole-swingup-v0 is registered already, for"):
            mjgym.register(id, **fields)(cls)
    assert mjgym.registry.registration(id) is before
    assert gymnasium.make(id).spec.max_episode_steps == 1000


class TestTimeLimit:
    """The field `time_limit` in `make`, around whose environments Gymnasium puts a limit."""

    ID = "dmc/cartpole-swingup-v0"  # 10 s in steps of 0.01 s

    def test_a_shorter_one_holds_as_in_make_vec(self):
        for make in MAKERS.values():
            assert length(make(self.ID, time_limit=0.25)) == 25

    def test_it_holds_again_in_the_next_episode_and_in_copies(self):
        env = gymnasium.make(self.ID, time_limit=0.1)
        assert [length(env), length(env)] == [10, 10]
        assert length(pickle.loads(pickle.dumps(env))) == 10
        assert length(gymnasium.make(env.spec)) == 10

    def test_the_first_of_two_limits_ends(self):
        assert length(gymnasium.make(self.ID, time_limit=0.25, max_episode_steps=20)) == 20
        assert length(gymnasium.make(self.ID, time_limit=0.25, max_episode_steps=30)) == 25
        for given, ended in ((20, 20), (30, 25), (-1, 25)):
            envs = gymnasium.make_vec(self.ID, time_limit=0.25, max_episode_steps=given)
            assert length(envs) == ended

    def test_the_registered_one_changes_nothing(self):
        assert length(gymnasium.make(self.ID, time_limit=10.0)) == 1000
        assert length(gymnasium.make(self.ID, max_episode_steps=1200)) == 1200

    @pytest.mark.parametrize(
        ("longer", "given", "steps"), [(20.0, 2000, 2000), (float("inf"), -1, None)]
    )
    def test_a_longer_one_is_refused_with_what_to_give(self, longer, given, steps):
        with pytest.raises(ValueError, match=rf"registered 1000 .*max_episode_steps={given} "):
            gymnasium.make(self.ID, time_limit=longer)
        assert length(gymnasium.make_vec(self.ID, time_limit=longer)) == steps

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("timestep", "given", "ended"),
        [(0.04, {}, 500), (0.01, {}, 1000), (0.01, {"max_episode_steps": 1500}, 1500)],
    )
    def test_it_is_in_seconds_whatever_the_control_timestep(self, timestep, given, ended):
        """Fewer control steps in as many seconds, as in dm_control; never more than registered."""
        id, options = "dmc/ball_in_cup-catch-v0", {"control_timestep": timestep, **given}  # 20 s
        for make in MAKERS.values():
            assert length(make(id, **options)) == ended

    def test_the_tabletops_horizon_counts_control_steps(self):
        for frequency in (10, 50):
            env = gymnasium.make("robosuite/Lift-v0", control_frequency=frequency)
            assert env.unwrapped.task.episode_steps() == 1000
            assert env.unwrapped.max_episode_steps is None  # beside the registered one

    def test_a_task_without_a_limit_takes_any(self):
        assert length(gymnasium.make("dmc/lqr-lqr_2_1-v0", time_limit=0.3)) == 10


NAN, HUGE = float("nan"), 10**9


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"time_limit": -1}, "Walker: time_limit must be positive, got -1 s"),
        ({"time_limit": 0}, "Walker: time_limit must be positive"),
        ({"time_limit": NAN}, "Walker: time_limit must be a number"),
        ({"control_timestep": 0}, "Walker: control_timestep must be positive"),
        ({"control_timestep": NAN}, "Walker: control_timestep must be a number"),
        ({"speed": NAN}, "Walker: speed must be a number, got nan"),
        ({"width": 2.5}, "width: must be a whole number, got 2.5"),
        ({"height": 1e9}, "height: must be a whole number, got 1000000000.0"),
        ({"width": HUGE}, "width: must be from 1 to 16384, got 1000000000"),
        ({"width": True}, "width: must be a whole number, got True"),
        ({"observation": "pixels", "pixels": {"height": HUGE}}, "pixels: height: must be from 1"),
    ],
)
def test_a_number_that_cannot_be_is_refused(make, arguments, words):
    with pytest.raises(ValueError, match=words):
        make("dmc/walker-walk-v0", **arguments)


def test_a_physics_timestep_is_positive():
    with pytest.raises(ValueError, match="Velocity: physics_timestep must be positive, got 0 s"):
        gymnasium.make("legged/go1-velocity-v0", physics_timestep=0)


@pytest.mark.parametrize("steps", [NAN, 2.5, 0, -5])
def test_a_limit_is_a_whole_number_of_steps(steps):
    id = "dmc/walker-walk-v0"
    task = gymnasium.make(id).unwrapped.task
    for made in (
        lambda: gymnasium.make_vec(id, num_envs=2, max_episode_steps=steps),
        lambda: mjgym.Env(task, max_episode_steps=steps),
        lambda: mjgym.VectorEnv(task, 2, max_episode_steps=steps),
    ):
        with pytest.raises(ValueError, match="max_episode_steps: must be"):
            made()
    with pytest.raises((ValueError, TypeError), match="max_episode_steps"):
        gymnasium.make(id, max_episode_steps=steps)  # Gymnasium's own


@pytest.mark.parametrize("argument", ["num_envs", "threads"])
@pytest.mark.parametrize("value", [0, 2.5, NAN])
def test_a_number_of_environments_and_threads_is_whole(argument, value):
    with pytest.raises(ValueError, match=f"{argument}: must be"):
        gymnasium.make_vec("dmc/walker-walk-v0", **{argument: value})


@pytest.mark.parametrize("value", [NAN, (0.0, NAN), [NAN], {"a": NAN}, np.array([1.0, NAN])])
def test_no_field_of_a_task_may_be_nan(value):
    class Reach:
        target: Any

    with pytest.raises(ValueError, match="Reach: target must be a number"):
        check_fields(Reach, {"speed": 1.0, "target": value})


@pytest.mark.parametrize(
    ("id", "fields", "words"),
    [
        ("dmc/walker-walk-v0", {"speed": "fast"}, "Walker: speed must be a number, got 'fast'"),
        ("dmc/walker-walk-v0", {"speed": True}, "Walker: speed must be a number, got True"),
        ("dmc/walker-walk-v0", {"time_limit": "1 s"}, "time_limit must be a number"),
        ("dmc/cartpole-swingup-v0", {"sparse": "x"}, "sparse must be True or False"),
        ("dmc/lqr-lqr_2_1-v0", {"masses": 2.5}, "masses must be a whole number"),
        (
            "l2m/walk_planar-v0",
            {"init_pose": "fast"},
            "init_pose must be a sequence, each a number",
        ),
        ("dmc/walker-walk-v0", {"time_limit": {}}, "time_limit must be a number"),
        ("robosuite/Lift-v0", {"table_size": {}}, "must be a sequence of 3, each a number"),
        ("l2m/walk_planar-v0", {"velocity_weight": "a"}, "must be a number or None"),
        ("robosuite/Lift-v0", {"table_size": [1, 2]}, "must be a sequence of 3, each a number"),
        (
            "legged/go1-velocity-rough-v0",
            {"upright_to": "ground"},
            "upright_to must be 'gravity' or 'terrain', got 'ground'",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named_with_what_it_takes(id, fields, words):
    for make in (gymnasium.make, functools.partial(gymnasium.make_vec, num_envs=2)):
        with pytest.raises(TypeError, match=words):
            make(id, **fields)


def test_a_field_takes_numbers_of_numpy_and_the_lists_of_json():
    gymnasium.make("dmc/walker-walk-v0", speed=np.float32(2))
    gymnasium.make("dmc/walker-walk-v0", speed=2)
    gymnasium.make("soccer/boxhead-1v1-v0", team_size=np.int64(1))
    gymnasium.make("soccer/boxhead-1v1-v0", pitch=[[10.0, 8.0], [12.0, 9.0]])
