"""The samplers of starts: ranges, distributions, order of draws, and the search for free ones."""

import math

import mujoco
import numpy as np
import pytest

from mjgym.resets import (
    place_bodies,
    put,
    random_joints,
    random_pose,
    settle,
    unit_vector,
    until_free,
)
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


class TestUnitVector:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
    def test_normalises_normal_numbers(self, size):
        """So that no direction is preferred."""
        normal = np.random.default_rng(5).normal(size=size)
        drawn = unit_vector(np.random.default_rng(5), size)
        np.testing.assert_allclose(drawn, normal / math.sqrt((normal**2).sum()), rtol=1e-15)


class TestRandomJoints:
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

    def test_draws_joint_by_joint_in_the_models_order(self):
        v = simulation(JOINTS).view
        drawn_from, rng = np.random.default_rng(3), np.random.default_rng(3)
        random_joints(v, drawn_from)

        def unit(x):
            return x / np.linalg.norm(x)

        expected = np.zeros(v.nq)
        expected[LOOSE_HINGE] = rng.uniform(-math.pi, math.pi)
        expected[HINGE] = rng.uniform(math.radians(-30), math.radians(120))
        expected[TURN] = unit(rng.uniform(size=4))  # as published: no uniform rotation
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


BALLS = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="a" pos="0 0 5"><freejoint name="a"/><geom size=".1"/></body>
    <body name="b" pos="0 0 6"><freejoint name="b"/><geom type="box" size=".1 .1 .1"/></body>
    <body name="post" pos="3 0 1">
      <geom size=".1"/>
      <body name="top" pos="0 0 .2"><geom size=".1"/></body>
    </body>
    <body name="door" pos="0 3 1"><joint name="door"/><geom size=".1" pos=".2 0 0"/></body>
  </worldbody>
</mujoco>
"""
BOX = (-0.6, -0.4, 0.2), (0.6, 0.4, 0.2)


class TestPut:
    def test_moves_a_free_body_by_its_joint_and_stops_it(self):
        v = simulation(BALLS).view
        v.qvel = 1.0
        put(v, "a", (1, 2, 3), (0, 0, 0, 2))
        v.forward()
        np.testing.assert_array_equal(v.body("a").xpos, (1, 2, 3))
        np.testing.assert_array_equal(v.body("a").xquat, (0, 0, 0, 1))
        assert not v.joint("a").qvel.any()
        assert v.joint("b").qvel.all()

    def test_moves_a_fixed_body_in_the_model_with_all_that_is_on_it(self):
        v = simulation(BALLS).view
        put(v, "post", (1, 2, 3))
        v.forward()
        np.testing.assert_array_equal(v.body("post").pos, (1, 2, 3))
        np.testing.assert_allclose(v.body("top").xpos, (1, 2, 3.2))

    @pytest.mark.parametrize(
        ("body", "reason"), [("top", "not in the world but on another"), ("door", "not free")]
    )
    def test_refuses_what_cannot_be_put(self, body, reason):
        v = simulation(BALLS).view
        before = v.body_pos.copy()
        with pytest.raises(ValueError, match=f"'{body}'.*{reason}"):
            put(v, body, (0, 0, 0))
        np.testing.assert_array_equal(v.body_pos, before)


class TestRandomPose:
    def test_is_uniform_in_the_box_and_about_the_vertical(self):
        rng = np.random.default_rng(0)
        poses = [random_pose(rng, ((-1, 0, 2), (1, 3, 2))) for _ in range(N)]
        places = np.array([pos for pos, _ in poses])
        quats = np.array([quat for _, quat in poses])
        assert distance(places[:, 0], uniform(-1, 1)) < 1.95
        assert distance(places[:, 1], uniform(0, 3)) < 1.95
        assert (places[:, 2] == 2).all()
        assert not quats[:, 1:3].any()
        angles = 2 * np.arctan2(quats[:, 3], quats[:, 0])
        assert distance(angles, uniform(-np.pi, np.pi)) < 1.95


class TestPlaceBodies:
    def test_finds_places_where_nothing_touches(self):
        v = simulation(BALLS).view
        rng = np.random.default_rng(0)
        places = []
        for _ in range(300):
            place_bodies(v, rng, ["post", "a", "b"], BOX)
            assert v.ncon == 0
            places.append([v.body(name).xpos.copy() for name in ("post", "a", "b")])
        places = np.array(places)
        assert (np.abs(places[..., :2]) <= (0.6, 0.4)).all()
        # The first one is anywhere, whatever is placed later.
        assert distance(places[:, 0, 0], uniform(-0.6, 0.6)) < 1.95
        assert np.linalg.norm(places[:, 0] - places[:, 1], axis=-1).min() > 0.2

    def test_can_leave_them_straight(self):
        v = simulation(BALLS).view
        place_bodies(v, np.random.default_rng(0), ["b"], BOX, turned=False)
        np.testing.assert_array_equal(v.body("b").xquat, (1, 0, 0, 0))

    def test_names_the_body_that_has_no_place(self):
        v = simulation(BALLS).view
        small = (-0.01, -0.01, 0.2), (0.01, 0.01, 0.2)
        with pytest.raises(RuntimeError, match="no place for 'b' without contacts in 7 attempts"):
            place_bodies(v, np.random.default_rng(0), ["a", "b"], small, attempts=7)

    def test_what_is_ignored_may_be_touched(self):
        v = simulation(BALLS).view
        small = (-0.01, -0.01, 0.2), (0.01, 0.01, 0.2)
        place_bodies(v, np.random.default_rng(0), ["a"], small)
        place_bodies(v, np.random.default_rng(0), ["b"], small, attempts=1, ignored=["a"])
        assert v.ncon > 0

    def test_what_hangs_on_a_body_counts_as_the_body(self):
        v = simulation(BALLS).view
        put(v, "a", (0, 0, 0.4))
        beside = (0, 0, 0.2), (0, 0, 0.2)  # the top of the post would be in the ball
        with pytest.raises(RuntimeError, match="'post'"):
            place_bodies(v, np.random.default_rng(0), ["post"], beside, attempts=1)

    def test_what_comes_near_within_its_margin_does_not_touch(self):
        v = simulation(BALLS.replace('<geom type="box"', '<geom margin=".05" type="box"')).view
        place = (0, 0, 0.13), (0, 0, 0.13)
        place_bodies(v, np.random.default_rng(0), ["b"], place, attempts=1)
        assert v.ncon > 0
        assert v.contact.dist.min() > 0


class TestSettle:
    def test_lets_some_fall_and_holds_the_others(self):
        v = simulation(BALLS).view
        put(v, "a", (0, 0, 0.12))
        put(v, "b", (1, 0, 0.12))
        v.joint("door").qvel = 2.0
        v.time = 0.5
        before = v.joint("a").qpos.copy(), v.joint("door").qpos.copy()
        settle(v, ["b"])
        assert v.body("b").xpos[2] == pytest.approx(0.1, abs=1e-3)
        assert np.abs(v.joint("b").qvel).max() < 1e-3
        np.testing.assert_array_equal(v.joint("a").qpos, before[0])
        np.testing.assert_array_equal(v.joint("door").qpos, before[1])
        assert v.joint("door").qvel == 2.0
        assert not v.joint("a").qvel.any()
        assert v.time == 0.5
        v.step(100)  # it stays at rest, and the held one falls now
        assert v.body("b").xpos[2] == pytest.approx(0.1, abs=1e-3)
        assert v.body("a").xpos[2] < 0.115

    def test_goes_on_when_the_time_is_up(self):
        v = simulation(BALLS).view
        put(v, "a", (0, 0, 100))
        settle(v, ["a"], time_limit=0.5)
        assert v.body("a").xpos[2] == pytest.approx(100 - 9.81 * 0.5**2 / 2, abs=0.02)
        assert v.time == 0

    def test_contacts_of_what_is_held_are_left_out(self):
        v = simulation(BALLS).view
        put(v, "a", (0, 0, 0.05))  # within the ground
        put(v, "b", (2, 0, 0.12))
        v.detect_contacts()
        assert v.ncon == 1
        found, step = set(), v.step
        v.__dict__["step"] = lambda **options: (found.add(int(v.ncon)), step(**options))
        settle(v, ["b"])
        assert found == {0, 4}  # of the box in the air, and on the ground
        v.detect_contacts()
        assert v.ncon == 5
