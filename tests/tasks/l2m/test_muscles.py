"""The laws of muscles, limits and contacts by themselves."""

import numpy as np
import pytest

from mjgym.muscles import (
    Activation,
    CoordinateLimits,
    PathPoint,
    Paths,
    SpheresOnPlane,
    Splines,
    Thelen,
    cubic_spline,
)

KNOTS = [-2.0, -1.2, -0.5, 0.1, 0.9, 2.0]


def thelen(**changes):
    """Two muscles, of which the second has no pennation."""
    pair = {
        "force": 1000.0, "fibre": 0.1, "tendon": 0.25, "tendon_strain": 0.049,
        "passive_strain": 0.6, "passive_shape": 5.0,
    } | changes  # fmt: skip
    arrays = {name: np.full(2, value) for name, value in pair.items()}
    return Thelen(pennation=np.array([0.3, 0.0]), **arrays)


class TestSplines:
    def test_cubics_are_themselves(self):
        """The ends take their third derivatives from the outermost points."""
        cubic = np.polynomial.Polynomial([0.3, -1.0, 0.5, 0.25])
        spline = Splines.from_pieces([cubic_spline(KNOTS, cubic(np.array(KNOTS)).tolist())])
        x = np.linspace(KNOTS[0], KNOTS[-1], 50, endpoint=False)
        for order, found in enumerate(spline(x)):
            np.testing.assert_allclose(found[:, 0], cubic.deriv(order)(x), atol=1e-12)

    def test_two_points_are_a_line(self):
        value, slope, bend, _ = Splines.from_pieces([cubic_spline([0, 2], [1, 5])])(
            np.array([-1.0, 1, 3])
        )
        np.testing.assert_allclose(value[:, 0], [-1, 3, 7])
        np.testing.assert_allclose(slope[:, 0], 2)
        assert not bend.any()

    def test_they_go_on_straight(self):
        y = np.sin(KNOTS).tolist()
        spline = Splines.from_pieces([cubic_spline(KNOTS, y)])
        inside, slope, _, _ = spline(np.array([KNOTS[-1] - 1e-9]))
        outside, after, bend, _ = spline(np.array([KNOTS[-1] + 1]))
        np.testing.assert_allclose(outside, inside + slope, atol=1e-7)
        np.testing.assert_allclose(after, slope, atol=1e-7)
        assert not bend.any()

    def test_smooth_at_knots_of_others(self):
        splines = Splines.from_pieces(
            [cubic_spline(KNOTS, np.cos(KNOTS)), cubic_spline([0, 1], [0, 1])]
        )
        for knot in [*KNOTS, 0.0, 1.0]:
            left, right = (splines(np.array(knot + d))[:3] for d in (-1e-10, 1e-10))
            for one, other in zip(left[:2], right[:2], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-8)

    def test_a_value_may_be_held_while_its_slope_goes_on(self):
        spline = cubic_spline(KNOTS, np.cos(KNOTS))
        free, held = (Splines.from_pieces([spline], within) for within in ([None], [(-1.0, 0.5)]))
        x = np.array([-1.8, 0.2, 1.5])
        np.testing.assert_allclose(held(x)[1], free(x)[1])
        np.testing.assert_allclose(held(x)[0], free(np.array([-1.0, 0.2, 0.5]))[0], atol=1e-12)

    @pytest.mark.parametrize("x", [[0.0], [0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0]])
    def test_knots_that_make_none(self, x):
        with pytest.raises(ValueError, match="ascending knots"):
            cubic_spline(x, [0.0] * len(x))


class TestActivation:
    def test_it_rises_and_falls(self):
        """Faster upwards than downwards."""
        law = Activation()
        up, down = law.rate(np.array([0.2, 0.8]), np.array([0.8, 0.2]))
        assert up > 0 > down
        assert up > -down

    def test_it_comes_to_the_excitation(self):
        law, state = Activation(), np.array([0.05, 0.9])
        for _ in range(2000):
            state = law.after(state, np.array([0.6, 0.3]), 1e-3)
        np.testing.assert_allclose(state, [0.6, 0.3], atol=1e-9)

    def test_second_order(self):
        law, ends = Activation(), []
        for n in (10, 20, 1000):
            state = np.array(0.1)
            for _ in range(n):
                state = law.after(state, np.array(0.9), 0.01 / n)
            ends.append(float(state))
        assert abs(ends[1] - ends[2]) < 0.3 * abs(ends[0] - ends[2])

    def test_never_below_the_least(self):
        """The state goes on falling, as OpenSim's does, but not the activation."""
        law, state = Activation(), np.array(0.02)
        for _ in range(500):
            state = law.after(state, np.array(0.0), 1e-3)
        assert state < 0.01
        assert law.value(state) == 0.01


class TestThelen:
    def test_tendon(self):
        law = thelen()
        along = 0.1 * np.cos(law.pennation)
        lengths = law.tendon * np.array([[0.9], [1.0], [1.0 + 0.049]]) + along
        force = law.stretched(lengths, law.fibre * np.ones((3, 1))).force
        np.testing.assert_allclose(force[:2], 0, atol=1e-12)
        np.testing.assert_allclose(force[2], 1, atol=2e-3)

    def test_slopes(self):
        """Of the tendon with strain, and of the fibre's velocity with its length."""
        law, step = thelen(), 1e-7
        rng = np.random.default_rng(0)
        for _ in range(50):
            fibre = law.fibre * rng.uniform(0.6, 1.4, 2)
            length = law.tendon * rng.uniform(1.001, 1.04, 2) + fibre * np.sqrt(
                1 - (law.fibre * np.sin(law.pennation) / fibre) ** 2
            )
            low, high = (law.stretched(length + d, fibre).force for d in (-step, step))
            slope = law.stretched(length, fibre).slope / law.tendon
            np.testing.assert_allclose((high - low) / (2 * step), slope, rtol=1e-5, atol=1e-4)
            activation = rng.uniform(0.05, 1, 2)
            low, high = (law.velocity(activation, length, fibre + d) for d in (-step, step))
            # The step that looks ahead goes by this slope.
            whole = law.after(activation, length, fibre, 1e3) - fibre
            slope = -2 * law.velocity(activation, length, fibre) / whole
            active = activation * law.active_force(fibre)
            tendon = law.stretched(length, fibre)
            held = tendon.force / tendon.cos - law.passive_force(fibre)
            # Where the curve goes on straight, it goes by the curve's own end alone.
            kept = (held > 0) & (held < 0.95 * law.lengthening_force * active)
            kept &= fibre + whole > law.shortest * (1 + 1e-9)
            found = ((high - low) / (2 * step))[kept]
            np.testing.assert_allclose(found, slope[kept], rtol=0.02)

    def test_equilibrium_stands_still(self):
        law = thelen()
        length = np.array([[0.33, 0.34], [0.36, 0.37]])
        activation = np.array([[0.05, 0.5], [0.9, 0.2]])
        fibre = law.equilibrium(activation, length)
        assert np.abs(law.velocity(activation, length, fibre) / law.fastest).max() < 1e-9
        tendon = law.stretched(length, fibre)
        pull = (activation * law.active_force(fibre) + law.passive_force(fibre)) * tendon.cos
        np.testing.assert_allclose(tendon.force, pull, atol=1e-9)

    def test_fibres_find_it_however_long_the_step(self):
        """Stiff as they are at low activations."""
        law = thelen(tendon=0.05)
        length, activation = np.array([0.16, 0.16]), np.array([0.01, 0.3])
        goal = law.equilibrium(activation, length)
        fibre = goal * 1.002
        for _ in range(400):
            fibre = law.after(activation, length, fibre, 2e-3)
        np.testing.assert_allclose(fibre, goal, atol=1e-9)

    @pytest.mark.slow
    def test_second_order(self):
        law, ends = thelen(), []
        activation, length = np.array([0.6, 0.6]), np.array([0.34, 0.35])
        start = law.equilibrium(np.array([0.1, 0.1]), length)
        for n in (20, 40, 4000):
            fibre = start
            for _ in range(n):
                fibre = law.after(activation, length, fibre, 0.01 / n)
            ends.append(fibre)
        assert np.abs(ends[1] - ends[2]).max() < 0.35 * np.abs(ends[0] - ends[2]).max()

    def test_the_shortest_fibre_stays(self):
        law = thelen()
        fibre = law.shortest
        slack = np.array([0.1, 0.1])
        assert not law.velocity(np.ones(2), slack, fibre).any()
        np.testing.assert_array_equal(law.after(np.ones(2), slack, fibre, 1e-3), fibre)


class TestPaths:
    def paths(self, middle):
        ends = PathPoint(0, (0.0, 0.0, 0.0)), PathPoint(1, (0.0, 0.0, -1.0))
        path = (ends[0], middle, ends[1])
        return Paths([[path]], moved=np.array([[False, True]]))

    def geometry(self, paths, angle, shift=0.0, slope=0.0):
        """One hinge about y, at the origin, turns the second of two bodies."""
        sine, cosine = np.sin(angle), np.cos(angle)
        turned = [[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]]
        frames = np.concatenate([np.zeros((3, 1)), np.eye(3), np.zeros((3, 1)), turned], axis=1)
        return paths.geometry(
            frames[None], np.array([[angle]]), np.array([[shift]]), np.array([[slope]])
        )

    def test_a_point_comes_and_goes(self):
        paths = self.paths(PathPoint(0, (0.3, 0.0, -0.4), 0, (0.0, 1.0)))
        inside, outside = (self.geometry(paths, angle).length[0, 0] for angle in (0.0, -1e-9))
        assert inside == pytest.approx(0.5 + np.hypot(0.3, 0.6))
        assert outside == pytest.approx(1.0)

    def test_slopes_with_a_moving_point(self):
        motion = np.array([[[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]])  # the hinge's axis
        paths = self.paths(PathPoint(1, (0.2, 0.1, -0.3), 0, moves=(0, -1, -1)))
        offset = lambda angle: (0.05 * np.sin(3 * angle), 0.15 * np.cos(3 * angle))  # noqa: E731
        for angle in (-0.5, 0.2, 0.7):
            low, high = (
                self.geometry(paths, angle + d, *offset(angle + d)).length[0, 0]
                for d in (-1e-6, 1e-6)
            )
            geometry = self.geometry(paths, angle, *offset(angle))
            slope = paths.slopes(geometry, motion)[0, 0, 0]
            assert slope == pytest.approx((high - low) / 2e-6, abs=1e-8)
            torque = paths.torques(geometry, motion, np.array([[7.0]]))[0, 0]
            assert torque == pytest.approx(-7 * slope)

    def test_two_in_a_row_that_come_and_go(self):
        inside = (0.0, 1.0)
        points = [PathPoint(0, (0.0, 0.0, 0.0)), PathPoint(1, (0.0, 0.0, -1.0))]
        middle = [PathPoint(i, (0.1, 0.0, -0.5), 0, inside) for i in (0, 1)]
        paths = Paths([[(points[0], *middle, points[1])]], moved=np.array([[False, True]]))
        with pytest.raises(ValueError, match="beside each other"):
            self.geometry(paths, 0.5)

    def test_ends_are_always_there(self):
        first = PathPoint(0, (0.0, 0.0, 0.0), 0, (0.0, 1.0))
        paths = Paths([[(first, PathPoint(1, (0.0, 0.0, -1.0)))]], np.array([[False, True]]))
        with pytest.raises(ValueError, match="first and last"):
            self.geometry(paths, 0.5)


def test_limits_push_back_and_damp():
    law = CoordinateLimits(np.array([-1.0]), np.array([0.5]), 0.2, 100.0, 5.0)
    inside, _ = law.torque(np.array([0.0]), np.array([3.0]))
    assert inside == 0
    above, damper = law.torque(np.array([1.0]), np.array([0.0]))
    assert above == pytest.approx(-50)  # beyond the transition: a plain spring
    assert damper == 5
    below, _ = law.torque(np.array([-1.5]), np.array([2.0]))
    assert below == pytest.approx(50 - 10)


class TestContact:
    law = SpheresOnPlane(stiffness=5e5, dissipation=1.0, friction=0.8, slip=0.1)

    def test_nothing_above_the_ground(self):
        depth = self.law.depth(np.array([0.06, 0.05]), 0.05)
        assert not self.law.load(depth, 0.05).any()

    def test_never_pulls(self):
        load = self.law.load(np.array(0.01), 0.05)
        assert load > 0
        assert self.law.normal(load, np.array(-10.0)) == 0
        assert self.law.normal(load, np.array(0.1)) == pytest.approx(1.15 * load)

    def test_friction(self):
        """It grows with the slip and then no more."""
        for slip, share in ((0.05, 0.5), (0.1, 1.0), (2.0, 1.0)):
            force = self.law.drag(np.array(100.0), np.array(slip)) * slip
            assert force == pytest.approx(80 * share)
