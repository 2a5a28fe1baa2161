"""The samplers of starts: ranges, distributions, order of draws, and the search for free ones."""

import math

import mujoco
import numpy as np
import pytest

from mjgym.resets import random_joints, unit_vector, until_free
from mjgym.sim import Single

JOINTS = """
<mujoco>
  <worldbody>
    <body><joint name="loose_hinge" type="hinge"/><geom size=".1"/></body>
    <body><joint name="hinge" type="hinge" range="-30 120"/><geom size=".1"/></body>
    <body><freejoint name="free"/><geom size=".1"/></body>
    <body><joint name="loose_slide" type="slide"/><geom size=".1"/></body>
    <body><joint name="slide" type="slide" range="1 3"/><geom size=".1"/></body>
    <body><joint name="loose_ball" type="ball"/><geom size=".1"/></body>
    <body><joint name="ball" type="ball" range="0 90"/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""
LOOSE_HINGE, HINGE, PLACE, TURN, LOOSE_SLIDE, SLIDE = 0, 1, slice(2, 5), slice(5, 9), 9, 10
LOOSE_BALL, BALL = slice(11, 15), slice(15, 19)
N = 4000


def simulation(xml):
    single = Single(mujoco.MjModel.from_xml_string(xml))
    single.restore_defaults()
    single.forward()
    return single


def distance(samples, cumulative):
    """Kolmogorov's distance from a distribution, times sqrt(n); above 1.95 in 1 of 1000 cases."""
    x = np.sort(samples)
    steps = np.arange(len(x) + 1) / len(x)
    expected = cumulative(x)
    largest = max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max())
    return largest * math.sqrt(len(x))


def uniform(low, high):
    return lambda x: np.clip((x - low) / (high - low), 0, 1)


@pytest.fixture(scope="module")
def starts():
    v = simulation(JOINTS).view
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(N):
        random_joints(v, rng)
        rows.append(v.qpos.copy())
    return np.array(rows)


class TestUnitVector:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
    def test_has_length_one_and_no_preferred_direction(self, size):
        rng = np.random.default_rng(0)
        vectors = np.array([unit_vector(rng, size) for _ in range(N)])
        assert vectors.shape == (N, size)
        np.testing.assert_allclose((vectors**2).sum(axis=-1), 1, rtol=1e-14)
        assert np.abs(vectors.mean(axis=0)).max() < 4 / math.sqrt(N)
        second_moments = vectors.T @ vectors / N
        np.testing.assert_allclose(second_moments, np.eye(size) / size, atol=4 / math.sqrt(N))

    def test_of_three_is_uniform_on_the_sphere(self):
        rng = np.random.default_rng(0)
        vectors = np.array([unit_vector(rng, 3) for _ in range(N)])
        for axis in range(3):  # Archimedes: every coordinate is uniform
            assert distance(vectors[:, axis], uniform(-1, 1)) < 1.95

    def test_normalises_normal_numbers(self):
        normal = np.random.default_rng(5).normal(size=4)
        drawn = unit_vector(np.random.default_rng(5), 4)
        np.testing.assert_allclose(drawn, normal / math.sqrt((normal**2).sum()), rtol=1e-15)


class TestRandomJoints:
    def test_hinges_and_slides_are_uniform_in_their_ranges(self, starts):
        for column, low, high in [
            (LOOSE_HINGE, -math.pi, math.pi),
            (HINGE, -math.pi / 6, 2 * math.pi / 3),
            (SLIDE, 1, 3),
        ]:
            samples = starts[:, column]
            assert low <= samples.min() < samples.max() <= high
            assert distance(samples, uniform(low, high)) < 1.95

    def test_an_unlimited_slide_and_the_place_of_a_free_joint_stay(self):
        v = simulation(JOINTS).view
        v.qpos[LOOSE_SLIDE] = 0.25
        v.qpos[PLACE] = 1, 2, 3
        random_joints(v, np.random.default_rng(0))
        assert v.qpos[LOOSE_SLIDE] == 0.25
        assert v.qpos[PLACE].tolist() == [1, 2, 3]

    def test_velocities_and_controls_stay(self):
        v = simulation(JOINTS).view
        v.qvel = np.arange(v.nv)
        random_joints(v, np.random.default_rng(0))
        assert v.qvel.tolist() == list(range(v.nv))

    def test_quaternions_have_length_one(self, starts):
        for part in (TURN, LOOSE_BALL, BALL):
            np.testing.assert_allclose((starts[:, part] ** 2).sum(axis=-1), 1, rtol=1e-14)

    def test_an_unlimited_ball_is_a_uniform_rotation(self, starts):
        q = starts[:, LOOSE_BALL]
        assert np.abs(q.mean(axis=0)).max() < 4 / math.sqrt(N)
        np.testing.assert_allclose(q.T @ q / N, np.eye(4) / 4, atol=4 / math.sqrt(N))
        # The angle of a uniform rotation has the density (1 - cos a) / pi on (0, pi).
        angles = 2 * np.arccos(np.abs(q[:, 0]).clip(max=1))
        assert distance(angles, lambda a: (a - np.sin(a)) / math.pi) < 1.95

    def test_a_limited_ball_turns_about_any_axis_by_up_to_its_limit(self, starts):
        q = starts[:, BALL]
        angles = 2 * np.arctan2(np.linalg.norm(q[:, 1:], axis=-1), q[:, 0])
        assert angles.max() <= math.pi / 2
        assert distance(angles, uniform(0, math.pi / 2)) < 1.95
        axes = q[:, 1:] / np.linalg.norm(q[:, 1:], axis=-1, keepdims=True)
        for axis in range(3):
            assert distance(axes[:, axis], uniform(-1, 1)) < 1.95

    def test_a_free_joint_turns_by_four_positive_numbers(self, starts):
        q = starts[:, TURN]
        assert q.min() > 0  # as published, and so not a uniform rotation
        rng = np.random.default_rng(7)
        cubes = rng.uniform(size=(N, 4))
        expected = np.sort((cubes / np.linalg.norm(cubes, axis=-1, keepdims=True)).ravel())
        got = np.sort(q.ravel())
        assert np.abs(got - expected).max() < 0.03

    def test_draws_joint_by_joint_in_the_models_order(self):
        v = simulation(JOINTS).view
        drawn_from, rng = np.random.default_rng(3), np.random.default_rng(3)
        random_joints(v, drawn_from)

        def unit(x):
            return x / np.linalg.norm(x)

        expected = np.zeros(v.nq)
        expected[LOOSE_HINGE] = rng.uniform(-math.pi, math.pi)
        expected[HINGE] = rng.uniform(math.radians(-30), math.radians(120))
        expected[TURN] = unit(rng.uniform(size=4))
        expected[SLIDE] = rng.uniform(1, 3)
        expected[LOOSE_BALL] = unit(rng.normal(size=4))
        axis = unit(rng.normal(size=3))
        half = rng.uniform(0, 1) * math.radians(90) / 2
        expected[BALL] = [math.cos(half), *(math.sin(half) * axis)]
        np.testing.assert_allclose(v.qpos, expected, rtol=1e-14, atol=1e-15)
        assert drawn_from.uniform() == rng.uniform()  # and not one number more


FLOOR = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="ball">
      <joint name="height" type="slide" axis="0 0 1"/>
      <joint name="along" type="slide" axis="1 0 0"/>
      <geom size=".1"/>
    </body>
  </worldbody>
</mujoco>
"""


class TestUntilFree:
    def test_returns_after_the_first_start_without_contacts(self):
        v = simulation(FLOOR).view
        heights = iter([-1.0, 0.0, 0.05, 0.3, 0.4])
        until_free(v, lambda: v.qpos.__setitem__(0, next(heights)))
        assert v.qpos[0] == 0.3
        assert next(heights) == 0.4
        assert v.ncon == 0
        assert v.body("ball").xpos[2] == 0.3  # and everything is computed for it

    def test_what_is_not_drawn_again_keeps_the_rejected_value(self):
        v = simulation(FLOOR).view
        attempts = []

        def draw():
            if not attempts:
                v.qpos[1] = 0.7
            v.qpos[0] = float(len(attempts))
            attempts.append(v.qpos.copy())

        until_free(v, draw)
        assert len(attempts) == 2
        assert v.qpos.tolist() == [1.0, 0.7]

    def test_gives_up_after_the_attempts(self):
        v = simulation(FLOOR).view
        calls = []

        def draw():
            calls.append(None)
            v.qpos[0] = 0.0

        with pytest.raises(RuntimeError, match="without contacts in 7 attempts"):
            until_free(v, draw, attempts=7)
        assert len(calls) == 7

    def test_the_last_attempt_counts(self):
        v = simulation(FLOOR).view
        heights = iter([0.0, 0.0, 1.0])
        until_free(v, lambda: v.qpos.__setitem__(0, next(heights)), attempts=3)
        assert v.qpos[0] == 1.0

    def test_without_a_limit_it_goes_on(self):
        v = simulation(FLOOR).view
        calls = []

        def draw():
            calls.append(None)
            v.qpos[0] = 0.0 if len(calls) < 3000 else 1.0

        until_free(v, draw)
        assert len(calls) == 3000

    def test_no_attempts_are_none(self):
        v = simulation(FLOOR).view

        def draw():
            raise AssertionError("this is an attempt")

        with pytest.raises(RuntimeError, match="0 attempts"):
            until_free(v, draw, attempts=0)

    def test_an_error_of_the_draw_comes_through(self):
        v = simulation(FLOOR).view

        def draw():
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            until_free(v, draw)
