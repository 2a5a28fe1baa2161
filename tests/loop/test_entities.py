"""Entities of one's own: a button, written once and attached twice to tasks of all sorts."""

import sys
from dataclasses import dataclass
from types import ModuleType

import array_api_strict
import gymnasium as gym
import mujoco
import numpy as np
import pytest

import mjgym
from helpers.equivalence import assert_every_slot_equals_a_single_env, assert_states_go_on
from helpers.guide_code import FOLDER, program
from helpers.lanes import mostly_nightly
from helpers.toys import Cart
from mjgym.checks import check
from mjgym.checks.array_libraries import failures
from mjgym.observables import observe
from mjgym.task import registrations
from mjgym.task.models import compile_model

OWN = "my/finger-press-v0"
IDS = (OWN, "my/ant-buttons-v0", "my/lift-buttons-v0")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The guide's program as a module; its ids are gone again for tests that look at all ids."""
    module = ModuleType("composing_page")
    sys.modules[module.__name__] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))  # where it exports a model to
        exec(compile(program(FOLDER / "composing.md"), "composing.md", "exec"), vars(module))
    yield module
    del sys.modules[module.__name__]
    for id in IDS:
        registrations.pop(id)
        gym.registry.pop(id)


@pytest.mark.parametrize("id", mostly_nightly(IDS, 3))
def test_single_equals_batch(page, id):
    assert_every_slot_equals_a_single_env(id)


@pytest.mark.parametrize("id", IDS)
def test_hooks_run_on_other_arrays(page, id):
    envs = gym.make_vec(id, num_envs=3).unwrapped
    envs.reset(seed=0)
    action = np.zeros(envs.action_space.shape)
    assert not list(failures(envs.task, envs.view, action, array_api_strict))


@pytest.mark.weekly
def test_the_check_finds_nothing(page):
    findings = check(OWN)
    assert [f for f in findings if f.status != "pass"] == []


@pytest.mark.slow
def test_each_button_counts_its_own_presses(page):
    envs = gym.make_vec(OWN, num_envs=2, observation="dict")
    envs.reset(seed=0)
    for z in (0, -0.07, 0, -0.07, 0):
        for _ in range(10):  # the first presses the left one, the second the right one
            observation, *_ = envs.step(np.array([[-0.2, z], [0.2, z]]))
    assert observation["left/presses"].ravel().tolist() == [2, 0]
    assert observation["right/presses"].ravel().tolist() == [0, 2]


def test_a_short_press_within_a_control_step_counts(page):
    env = gym.make(OWN, observation="dict").unwrapped
    env.reset(seed=0)
    joint = env.model.joint("right/cap")
    state = env.get_state()
    state["qpos"][joint.qposadr] = -0.02  # down, and up again after some physics steps
    env.set_state({"qpos": state["qpos"]})
    observation, *_ = env.step(np.zeros(2))
    assert observation["right/presses"] == 1
    assert env.data.joint("right/cap").qpos > -0.01


def test_the_task_goes_on_as_without_entities(page):
    """A base task's entries and rewards are the same to the bit where no entity is touched."""
    plain = gym.make("locomotion/ant-go_to_target-v0", observation="dict")
    more = gym.make("my/ant-buttons-v0", observation="dict")
    own, (joined, _) = plain.reset(seed=3)[0], more.reset(seed=3)
    for _ in range(3):
        for name in own:
            assert np.allclose(own[name], joined[name], atol=1e-5), name
        action = plain.action_space.sample()
        own, joined = plain.step(action)[0], more.step(action)[0]


def test_snapshots_and_pickles(page):
    assert_states_go_on(OWN)


def test_entities_by_keyword(page):
    middle = page.Button(name="left", pos=(0, 0.5, 0))
    env = gym.make(OWN, entities=(middle, page.Button(name="right")))
    assert env.unwrapped.model.body("left/").pos.tolist() == [0, 0.5, 0]
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.task == env.unwrapped.task


@dataclass(frozen=True)
class Ball(mjgym.Entity):
    """A ball that starts anywhere and is pushed by nobody.

    Observation: `place`, where it is.
    """

    free = True

    @property
    def varies(self):
        return ("geom_rgba",)

    @property
    def observables(self):
        return {"height": mjgym.Observable(observe.body("ball").xpos[..., 2], delay=1)}

    def model(self):
        return mujoco.MjSpec.from_string(
            "<mujoco><worldbody><body name='ball'><geom name='ball' size='.1'/></body>"
            "<camera name='eye'/></worldbody></mujoco>"
        )

    def initialize(self, v, rng):
        v.joint("").qpos[:3] = rng.uniform(1, 2, 3)
        v.geom("ball").rgba[:3] = rng.uniform(size=3)

    def memory(self, v):
        return {"steps": v.xp.zeros(v.lead), "passed": v.xp.zeros(v.lead)}

    def before_step(self, v):
        return {"steps": v.memory["steps"] + 1}

    def update(self, v):
        return {"passed": v.memory["steps"]}

    def observation(self, v):
        return {"place": v.take("xpos", ("ball",))[..., 0, :], "steps": v.memory["passed"]}


@dataclass(frozen=True)
class CartAndBalls(mjgym.WithEntities, Cart):
    """A cart with balls."""

    entities = (Ball(name="a"), Ball(name="b"))


class TestHooks:
    def test_starts_callbacks_and_observables(self):
        env = mjgym.Env(CartAndBalls(), observation="dict")
        observation, _ = env.reset(seed=0)
        assert observation["a/place"].min() > 1
        assert (observation["a/place"] < 2).all()
        assert not np.array_equal(observation["a/place"], observation["b/place"])
        assert observation["a/height"] == observation["a/place"][2]
        colours = env.model.geom("a/ball").rgba, env.model.geom("b/ball").rgba
        assert not np.array_equal(*colours)
        for k in range(3):
            observation, *_ = env.step(np.zeros(1))
            assert observation["b/steps"] == k + 1
        assert observation["a/height"] > observation["a/place"][2]  # the delayed one still falls

    def test_a_view_of_its_own_names(self):
        env = mjgym.Env(CartAndBalls())
        env.reset(seed=0)
        ball = CartAndBalls().entities[1]
        view = ball.view(env.view)
        assert view.names("body") == ("", "ball")
        assert view.names("camera") == ("eye",)
        assert view.body("ball").xpos is not None
        assert set(view.memory) == {"steps", "passed"}
        assert view.rows("xpos", ("ball",)) == env.view.rows("xpos", ("b/ball",))
        with pytest.raises(KeyError, match="b/bal"):
            view.take("xpos", ("bal",))


class TestMistakes:
    @pytest.mark.parametrize("member", ["memory", "varies", "observables"])
    def test_an_override_without_super(self, member):
        own = {"memory": lambda self, v: {}, "varies": ("geom_rgba",), "observables": {}}[member]
        with pytest.raises(TypeError, match=rf"Bad\.{member} leaves out .* super\(\)\.{member}"):
            type("Bad", (mjgym.WithEntities, Cart), {member: own})

    def test_an_override_with_super(self):
        @dataclass(frozen=True)
        class Good(mjgym.WithEntities, Cart):
            entities = (Ball(name="a"),)

            def memory(self, v):
                return {**super().memory(v), "own": v.xp.zeros(v.lead)}

        env = mjgym.Env(Good())
        env.reset(seed=0)
        assert {"a/steps", "own"} <= set(env.view.memory)

    def test_an_unknown_body(self):
        task = CartAndBalls(entities=(Ball(name="a", body="crt"),))
        with pytest.raises(ValueError, match=r"entity 'a': the scene has no body 'crt'.*cart"):
            compile_model(task)

    def test_two_of_one_name(self):
        with pytest.raises(ValueError, match="a/"):
            compile_model(CartAndBalls(entities=(Ball(name="a"), Ball(name="a"))))

    @pytest.mark.parametrize("entities", [Ball(name="a"), (Ball,), ("a",)])
    def test_something_else(self, entities):
        with pytest.raises(TypeError, match="entities: expected a tuple of entities, got"):
            CartAndBalls(entities=entities)

    def test_the_task_class_first(self):
        with pytest.raises(TypeError, match="Behind: WithEntities comes before Cart"):
            type("Behind", (Cart, mjgym.WithEntities), {})

    def test_an_observable_of_no_entry(self):
        class Misspelt(Ball):
            observables = {"plce": mjgym.Observable(delay=1)}

        words = r"no entry 'a/plce'; did you mean a/place\?"
        with pytest.raises(ValueError, match=words):
            mjgym.Env(CartAndBalls(entities=(Misspelt(name="a"),)))

    def test_a_model_that_is_no_spec(self):
        class Text(Ball):
            def model(self):
                return "<mujoco/>"

        with pytest.raises(TypeError, match=r"attach: child: expected a mujoco.MjSpec, got '<m"):
            mjgym.Env(CartAndBalls(entities=(Text(name="a"),)))
