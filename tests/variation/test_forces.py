"""Applied forces that a user varies: held, drawn anew within an episode, single and batched."""

import gymnasium as gym
import numpy as np
import pytest

import mjgym
from helpers.equivalence import assert_every_slot_equals_a_single_env, assert_states_go_on
from helpers.lanes import mostly_nightly
from helpers.toys import Cart
from mjgym.variation import Bernoulli, Constant, Normal, Sequence, Uniform, factor, redrawn, shared

ID = "dmc/walker-walk-v0"
VARY = {
    "xfrc_applied[torso, 0]": redrawn(Normal(0, 50), every=Uniform(0.05, 0.2)),
    "qfrc_applied[right_knee]": Uniform(-1, 1),
    "body_mass[torso]": factor(Uniform(0.5, 2)),
}


def pushes(env, steps):
    """The force on the cart before and after each of some steps."""
    seen = [env.data.body("cart").xfrc_applied[0]]
    for _ in range(steps):
        env.step(np.zeros(1))
        seen.append(env.data.body("cart").xfrc_applied[0])
    return seen


def cart(value, **options):
    env = mjgym.Env(Cart(), vary={"xfrc_applied[cart, 0]": value}, **options)
    env.reset(seed=0)
    return env


class TestWhen:
    def test_held_for_an_episode(self):
        env = cart(Sequence([1.0, 2.0]))
        assert pushes(env, 3) == [1, 1, 1, 1]
        env.reset()
        assert pushes(env, 1) == [2, 2]

    def test_drawn_anew_at_intervals(self):
        """Every 0.05 s with steps of 0.02 s: after 3, 5 and 8 steps, not always after 3."""
        env = cart(redrawn(Sequence([1.0, 2.0, 3.0, 4.0]), every=0.05))
        # The force of a step is drawn before it.
        assert pushes(env, 9) == [1, 1, 1, 1, 2, 2, 3, 3, 3, 4]

    def test_no_more_often_than_the_actions(self):
        env = cart(redrawn(Sequence([1.0, 2.0, 3.0]), every=1e-4))
        assert pushes(env, 4) == [1, 1, 2, 3, 1]

    @pytest.mark.parametrize("every", ["reset", "never"])
    def test_an_episodes_intervals_begin_with_it(self, every):
        env = cart(redrawn(Normal(0, 1), every=0.05), vary_every=every)
        seen = pushes(env, 4)
        assert len(set(seen)) == 2
        env.reset()
        again = pushes(env, 4)
        assert len(set(again)) == 2
        assert (again[0] == seen[-1]) == (every == "never")


class TestPhysics:
    def test_a_force_accelerates(self):
        env = cart(3.0)
        mass = env.model.body("cart").mass[0]
        assert env.data.qacc[0] == pytest.approx(3 / mass)  # at the start already
        env.step(np.zeros(1))
        assert env.data.qvel[0] == pytest.approx(3 / mass * 0.02)

    def test_in_a_joint(self):
        env = mjgym.Env(Cart(), vary={"qfrc_applied[slide]": 3.0})
        env.reset(seed=0)
        assert env.data.qacc[0] == pytest.approx(3 / env.model.body("cart").mass[0])

    def test_starts_are_those_without(self):
        """A task that steps in `initialize` is not pushed about there."""
        plain, pushed = gym.make(ID), gym.make(ID, vary={"xfrc_applied[torso]": Normal(0, 50)})
        plain.reset(seed=4), pushed.reset(seed=4)
        assert np.array_equal(plain.unwrapped.data.qpos, pushed.unwrapped.data.qpos)

    def test_one_draw_for_all(self):
        vary = {"qfrc_applied": redrawn(shared(Normal(0, 1)), every=0.1)}
        env = gym.make(ID, vary=vary).unwrapped
        env.reset(seed=0)
        assert len(set(env.data.qfrc_applied)) == 1


class TestMany:
    @pytest.mark.parametrize("id", mostly_nightly([ID, "robosuite/Lift-v0"], quick=4))
    def test_a_batch_equals_single_environments(self, id):
        body = "torso" if id == ID else "cube_main"
        vary = {f"xfrc_applied[{body}, :3]": redrawn(Normal(0, 2), every=Uniform(0.05, 0.2))}
        assert_every_slot_equals_a_single_env(id, steps=12, vary=vary)

    def test_those_that_wait_are_not_pushed(self):
        envs = mjgym.VectorEnv(
            Cart(), 2, vary={"xfrc_applied[cart, 0]": redrawn(Normal(0, 1), every=0.02)}
        )
        envs.reset(seed=0)
        before = envs.get_state()["xfrc_applied"]
        envs._episodes.step(np.zeros((2, 1)), np.array([True, False]))
        envs._episodes.step(np.zeros((2, 1)), np.array([True, False]))
        after = envs.get_state()["xfrc_applied"]
        assert not np.array_equal(before[0], after[0])
        assert np.array_equal(before[1], after[1])


class TestStates:
    def test_go_on_bit_for_bit(self):
        assert_states_go_on(ID, before=9, vary=VARY, dtype="float64")

    def test_a_specification_survives_json(self):
        env = gym.make(ID, vary=VARY)
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        env.reset(seed=0), again.reset(seed=0)
        action = np.zeros(env.action_space.shape)
        first = [env.step(action)[0] for _ in range(12)]
        assert np.array_equal(first, [again.step(action)[0] for _ in range(12)])


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"xfrc_applied[world]": 1.0}, "body 'world' does not move"),
        ({"qfrc_applied": factor(2.0)}, "a factor of a force that is 0"),
        ({"body_mass": redrawn(1.0, every=1)}, "only qfrc_applied and xfrc_applied are redrawn"),
        ({"xfrc_aplied[torso]": 1.0}, "did you mean xfrc_applied"),
        (
            {"body_mass[torso]": (0.5, 1.5)},
            r"of shape \(1,\): \(0.5, 1.5\) has shape \(2,\); a range is a distribution:"
            r" Uniform\(0.5, 1.5\)",
        ),
    ],
)
def test_what_is_wrong_is_said_at_make(vary, words):
    with pytest.raises(ValueError, match=words):
        gym.make(ID, vary=vary)


@pytest.mark.parametrize("every", [0, -1.0, Uniform(-1, 1), Constant([1.0, 2.0]), Bernoulli()])
def test_intervals_are_positive(every):
    with pytest.raises(ValueError, match="expected positive seconds"):
        redrawn(Normal(0, 1), every=every)
