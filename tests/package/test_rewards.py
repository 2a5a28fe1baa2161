"""The tolerance function and its sigmoids: closed forms, ends, errors, and one value for all."""

import math

import numpy as np
import pytest

from mjgym.rewards import SIGMOIDS, ramp, small_control, tolerance

inf, nan = math.inf, math.nan

REACH_ZERO = ("cosine", "linear", "quadratic")
STAY_POSITIVE = ("gaussian", "hyperbolic", "long_tail", "reciprocal", "tanh_squared")
VALUES = (0.003, 0.1, 0.5, 0.97)


def closed_form(kind, d, v):
    """The reward at a distance of d margins, as the published formulae have it."""
    if kind == "gaussian":
        return v ** (d**2)
    if kind == "hyperbolic":
        return 1 / math.cosh(d * math.acosh(1 / v))
    if kind == "long_tail":
        return 1 / (1 + d**2 * (1 / v - 1))
    if kind == "reciprocal":
        return 1 / (1 + d * (1 / v - 1))
    if kind == "tanh_squared":
        return 1 - math.tanh(d * math.atanh(math.sqrt(1 - v))) ** 2
    if kind == "cosine":
        k = math.acos(2 * v - 1) / math.pi
        return (1 + math.cos(math.pi * k * d)) / 2 if k * d < 1 else 0.0
    if kind == "linear":
        return max(0.0, 1 - (1 - v) * d)
    if kind == "quadratic":
        return max(0.0, 1 - (1 - v) * d**2)
    raise AssertionError(kind)


def bits(x):
    return np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)


def random_inputs(n=10_000, seed=0):
    """Inside and outside of (-0.3, 0.7), near and far."""
    rng = np.random.default_rng(seed)
    kinds = [rng.normal(0.2, 3, n), rng.uniform(-20, 20, n), rng.normal(0.7, 1e-3, n)]
    return rng.choice(np.concatenate(kinds), size=n)


ARGUMENTS = {"bounds": (-0.3, 0.7), "margin": 1.7}


def test_the_sigmoids_are_the_eight_published_ones():
    assert sorted(SIGMOIDS) == sorted(REACH_ZERO + STAY_POSITIVE)


class TestValues:
    @pytest.mark.parametrize("v", VALUES)
    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_closed_form_on_both_sides(self, kind, v):
        lower, upper, margin = -1.25, 3.5, 0.8
        for d in [*np.linspace(1e-6, 3, 100), 10.0]:
            expected = closed_form(kind, d, v)
            for x in (lower - d * margin, upper + d * margin):
                got = tolerance(x, (lower, upper), margin, kind, v)
                assert got == pytest.approx(expected, rel=1e-9, abs=1e-12), (x, d)

    @pytest.mark.parametrize("kind", REACH_ZERO)
    def test_value_at_margin_zero_reaches_zero_at_the_margin(self, kind):
        assert tolerance(2.5, (0, 2), 1.0, kind, 0) == closed_form(kind, 0.5, 0)
        assert 0 < tolerance(2.99, (0, 2), 1.0, kind, 0) < 0.05
        assert tolerance(3.0, (0, 2), 1.0, kind, 0) == pytest.approx(0, abs=1e-15)
        for far in (3.01, 30.0, 1e12):
            assert tolerance(far, (0, 2), 1.0, kind, 0) == 0

    @pytest.mark.parametrize("v", VALUES)
    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_one_at_the_bounds_and_value_at_margin_at_the_margin(self, kind, v):
        lower, upper, margin = 2.0, 4.0, 0.5
        for x in (lower, upper, 3.0):
            assert tolerance(x, (lower, upper), margin, kind, v) == 1
        for x in (lower - margin, upper + margin):
            assert tolerance(x, (lower, upper), margin, kind, v) == pytest.approx(v, rel=1e-12)

    @pytest.mark.parametrize("v", VALUES)
    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_falls_monotonically_and_stays_within_zero_and_one(self, kind, v):
        rewards = tolerance(np.linspace(1, 5, 5000), (0, 1), 0.9, kind, v)
        assert rewards[0] == 1
        assert (np.diff(rewards) <= 0).all()
        assert rewards[-1] < v
        assert rewards.min() >= 0

    def test_the_defaults_are_a_gaussian_of_one_tenth_around_zero(self):
        assert tolerance(0.0) == 1
        assert tolerance(1e-300) == 0
        assert tolerance(-2.0, margin=2.0) == pytest.approx(0.1, rel=1e-12)
        assert tolerance(1.0, margin=2.0) == pytest.approx(0.1**0.25, rel=1e-12)

    def test_margin_zero_is_a_step_with_both_ends_included(self):
        x = np.array([0.999999, 1.0, 1.5, 2.0, 2.0000001])
        assert tolerance(x, (1, 2)).tolist() == [0, 1, 1, 1, 0]
        assert [tolerance(float(number), (1, 2)) for number in x] == [0, 1, 1, 1, 0]

    def test_bounds_may_be_one_point(self):
        assert tolerance(3.0, (3, 3)) == 1
        assert tolerance(np.nextafter(3.0, 4), (3, 3)) == 0
        assert tolerance(3.5, (3, 3), 1.0, "linear", 0) == 0.5

    def test_bounds_may_be_infinite(self):
        x = np.array([-1e9, -1.0, 0.0, 1.0, 1e9])
        assert tolerance(x, (0, inf)).tolist() == [0, 0, 1, 1, 1]
        assert tolerance(x, (-inf, 0)).tolist() == [1, 1, 1, 0, 0]
        assert tolerance(x, (-inf, inf), 1.0).tolist() == [1] * 5
        assert tolerance(x, (0, inf), 2.0, "linear", 0.5).tolist() == [0, 0.75, 1, 1, 1]
        assert [tolerance(float(n), (0, inf), 2.0, "linear", 0.5) for n in x] == [0, 0.75, 1, 1, 1]
        assert tolerance(inf, (0, inf), 1.0) == 1
        assert tolerance(-inf, (0, inf), 1.0) == 0

    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_nan_counts_as_outside(self, kind):
        x = np.array([nan, 0.5])
        expected = 0.0 if kind in REACH_ZERO else nan
        np.testing.assert_array_equal(tolerance(x, (0, 1), 1.0, kind), [expected, 1.0])
        np.testing.assert_array_equal(tolerance(nan, (0, 1), 1.0, kind), expected)
        assert tolerance(x, (0, 1), 0.0, kind).tolist() == [0, 1]
        assert tolerance(nan, (0, 1), 0.0, kind) == 0

    def test_nothing_is_computed_that_is_undefined_where_the_quantity_is_inside(self):
        # As a warning would show, which is an error here. Extended beyond the bounds' inside,
        # 1 / (y + 1) has a pole, and the hyperbolic cosine overflows.
        x = np.array([0.0, 1.0, 2.0, 1e4, 1e9])
        for kind in SIGMOIDS:
            assert tolerance(x, (0, inf), 1.0, kind, 0.5).tolist() == [1] * 5
            assert tolerance(x, (-inf, inf), 1.0, kind, 0.5).tolist() == [1] * 5
            assert [tolerance(float(n), (0, inf), 1.0, kind, 0.5) for n in x] == [1] * 5


class TestShapes:
    def test_numbers_give_a_plain_float(self):
        for x in (1, 1.0, np.float64(1), np.float32(1), np.int64(1)):
            assert type(tolerance(x, (0, 2))) is float
            assert type(tolerance(x, (2, 3), 1.0)) is float

    @pytest.mark.parametrize("margin", [0.0, 0.5])
    @pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 3), (4, 1, 2)])
    def test_arrays_keep_their_shape(self, shape, margin):
        assert np.shape(tolerance(np.full(shape, 0.7), (0, 1), margin)) == shape

    def test_array_bounds_broadcast(self):
        x = random_inputs(12).reshape(3, 4)
        lower = np.array([-1.0, 0.0, 0.5, -inf])
        upper = np.array([[0.6], [0.7], [inf]])
        got = tolerance(x, (lower, upper), 0.5)
        assert got.shape == (3, 4)
        for i in range(3):
            for j in range(4):
                one = tolerance(float(x[i, j]), (float(lower[j]), float(upper[i, 0])), 0.5)
                assert bits(got[i, j]) == bits(one)

    def test_array_margins_broadcast(self):
        x, margin = random_inputs(5), np.array([[0.1], [1.0], [7.0]])
        got = tolerance(x, (-0.3, 0.7), margin)
        assert got.shape == (3, 5)
        for i in range(3):
            one = tolerance(x, (-0.3, 0.7), float(margin[i, 0]))
            assert (bits(got[i]) == bits(one)).all()
            assert bits(tolerance(2.0, (-0.3, 0.7), margin)[i]) == bits(
                tolerance(2.0, (-0.3, 0.7), float(margin[i, 0]))
            )

    def test_one_quantity_in_many_bounds(self):
        lower, upper = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
        assert tolerance(1.5, (lower, upper)).tolist() == [0, 1, 0]
        assert tolerance(1.5, (lower, 2.5)).tolist() == [1, 1, 0]
        assert tolerance(1.5, (0.5, upper)).tolist() == [0, 1, 1]

    def test_a_margin_of_zeros_is_a_step(self):
        assert tolerance(np.array([0.0, 1.0]), (0, 0.5), np.zeros(2)).tolist() == [1, 0]

    def test_whole_numbers_are_numbers(self):
        whole = np.array([0, 1, 2, 3])
        np.testing.assert_array_equal(
            tolerance(whole, (2, 2), 3, "cosine"), tolerance(whole * 1.0, (2, 2), 3, "cosine")
        )

    def test_the_arguments_are_left_alone(self):
        x, lower, margin = random_inputs(8), np.full(8, -0.3), np.full(8, 0.5)
        before = [a.copy() for a in (x, lower, margin)]
        tolerance(x, (lower, 0.7), margin)
        for after, kept in zip((x, lower, margin), before, strict=True):
            np.testing.assert_array_equal(after, kept)


@pytest.mark.parametrize("v", [0.1, 0.37])
@pytest.mark.parametrize("kind", SIGMOIDS)
class TestSameBits:
    """One simulation and a batch of any size must earn exactly the same."""

    def test_number_and_zero_dimensional_array(self, kind, v):
        x = random_inputs(2500)
        many = tolerance(x, **ARGUMENTS, sigmoid=kind, value_at_margin=v)
        assert len(np.unique(many)) > 250
        for convert in (float, np.float64, np.array):
            one = [tolerance(convert(n), **ARGUMENTS, sigmoid=kind, value_at_margin=v) for n in x]
            assert (bits(many) == bits(one)).all(), convert

    def test_lengths(self, kind, v):
        x = random_inputs(1000)
        many = tolerance(x, **ARGUMENTS, sigmoid=kind, value_at_margin=v)
        for n in range(1, 18):
            pieces = [
                tolerance(x[i : i + n], **ARGUMENTS, sigmoid=kind, value_at_margin=v)
                for i in range(0, len(x), n)
            ]
            assert (bits(many) == bits(np.concatenate(pieces))).all(), n

    def test_views(self, kind, v):
        x = random_inputs()
        many = tolerance(x, **ARGUMENTS, sigmoid=kind, value_at_margin=v)
        spread = np.zeros((len(x), 3))
        spread[:, 1] = x
        views = {
            "column": (spread[:, 1], many),
            "backwards": (x[::-1], many[::-1]),
            "every third": (x[::3], many[::3]),
            "transposed": (x.reshape(100, 100).T, many.reshape(100, 100).T),
            "unaligned": (np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float64), many),
        }
        for name, (view, expected) in views.items():
            got = tolerance(view, **ARGUMENTS, sigmoid=kind, value_at_margin=v)
            assert (bits(got) == bits(expected)).all(), name

    def test_array_arguments(self, kind, v):
        x = random_inputs(1000)
        many = tolerance(x, **ARGUMENTS, sigmoid=kind, value_at_margin=v)
        lower, upper, margin = (np.full(1000, n) for n in (-0.3, 0.7, 1.7))
        for bounds, m in [((lower, 0.7), 1.7), ((-0.3, upper), margin), ((lower, upper), margin)]:
            got = tolerance(x, bounds, m, kind, v)
            assert (bits(many) == bits(got)).all()


# Numbers at which an intermediate result overflows, vanishes or is undefined.
AWKWARD = [0.0, -0.0, 5e-324, -1e-300, 1.0, -1.0, 1e6, -1e6, 1e160, -1e300, inf, -inf, nan]


@pytest.mark.parametrize("kind", SIGMOIDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_awkward_numbers_earn_the_same_alone_and_among_others(kind):
    for bounds in [(0, 0), (0, inf), (-inf, 0), (-inf, inf), (-1e300, 1e300), (1, 2)]:
        for margin in (0, 1, 5e-324, 1e300, inf):
            many = tolerance(np.array(AWKWARD), bounds, margin, kind)
            one = [tolerance(x, bounds, margin, kind) for x in AWKWARD]
            np.testing.assert_array_equal(many, one, str((bounds, margin)))
            inside = [bounds[0] <= x <= bounds[1] for x in AWKWARD]
            assert (many[inside] == 1).all()


class TestErrors:
    NUMBER, ARRAY = 0.5, np.array([0.5, 3.0])

    @pytest.mark.parametrize("x", [NUMBER, ARRAY], ids=["number", "array"])
    def test_bounds_out_of_order(self, x):
        with pytest.raises(ValueError, match=r"bounds.*1.*0"):
            tolerance(x, (1, 0))
        with pytest.raises(ValueError, match="bounds"):
            tolerance(x, (np.array([0, 1]), np.array([1, 0.5])))
        with pytest.raises(ValueError, match="bounds"):
            tolerance(x, (0, np.array([1, -0.5])), margin=1)

    @pytest.mark.parametrize("x", [NUMBER, ARRAY], ids=["number", "array"])
    def test_negative_margin(self, x):
        with pytest.raises(ValueError, match=r"margin.*-0\.5"):
            tolerance(x, (0, 1), margin=-0.5)
        with pytest.raises(ValueError, match="margin"):
            tolerance(x, (0, 1), margin=np.array([1, -1e-9]))

    @pytest.mark.parametrize("x", [NUMBER, ARRAY], ids=["number", "array"])
    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_value_at_margin_out_of_its_range(self, kind, x):
        zero_is_wrong = () if kind in REACH_ZERO else (0,)
        for v in (*zero_is_wrong, -0.1, 1, 1.1, inf, nan):
            with pytest.raises(ValueError, match=f"value_at_margin.*{kind}"):
                tolerance(x, (0, 1), 1, kind, v)
            assert tolerance(0.5, (0, 1), 0, kind, v) == 1  # nothing to look at without a margin

    @pytest.mark.parametrize("x", [NUMBER, ARRAY], ids=["number", "array"])
    def test_unknown_sigmoid_names_the_nearest(self, x):
        for word, near in [("gausian", "gaussian"), ("quadratc", "quadratic"), ("tanh", "tanh_sq")]:
            with pytest.raises(ValueError, match=f"sigmoid.*{word}.*{near}"):
                tolerance(x, (0, 1), 1, word)
        with pytest.raises(ValueError, match=r"sigmoid.*gaussian.*linear"):
            tolerance(x, (0, 1), 1, "zzz")

    @pytest.mark.parametrize("x", [NUMBER, ARRAY], ids=["number", "array"])
    def test_without_a_margin_nobody_looks_at_the_sigmoid(self, x):
        expected = 1 if np.ndim(x) == 0 else [1, 0]
        np.testing.assert_array_equal(tolerance(x, (0, 1), 0, "zzz", 5), expected)

    def test_errors_come_even_where_the_quantity_is_inside(self):
        for x in (0.5, np.full(3, 0.5)):
            with pytest.raises(ValueError, match="sigmoid"):
                tolerance(x, (0, 1), 1, "zzz")
            with pytest.raises(ValueError, match="value_at_margin"):
                tolerance(x, (0, 1), 1, value_at_margin=0)


class TestRamp:
    @pytest.mark.parametrize("wrap", [float, np.float64, lambda x: np.array([x])])
    def test_it_rises_from_one_number_to_the_other(self, wrap):
        rewards = [float(np.squeeze(ramp(wrap(x), -2.0, 6.0))) for x in (-9, -2, 0, 4, 6, 70)]
        assert rewards == [0, 0, 0.25, 0.75, 1, 1]

    def test_a_fall_is_refused(self):
        with pytest.raises(ValueError, match="must not be negative"):
            ramp(0.5, 1.0, 0.0)


class TestSmallControl:
    def test_is_the_mean_of_a_quadratic_tolerance_between_four_fifths_and_one(self):
        control = np.random.default_rng(0).normal(0, 0.7, size=(50, 6))
        control[0], control[1], control[2] = 0, 1, -1e200
        with np.errstate(over="ignore"):
            got = small_control(control)
            saved = tolerance(control, margin=1, sigmoid="quadratic", value_at_margin=0)
        np.testing.assert_allclose(got, (4 + saved.mean(axis=-1)) / 5, rtol=1e-15)
        assert got[:3].tolist() == [1, 0.8, 0.8]
        assert got.min() == 0.8

    @pytest.mark.parametrize("n", [*range(1, 18), 38, 56])
    def test_one_and_many_have_the_same_bits(self, n):
        control = np.random.default_rng(n).uniform(-1.1, 1.1, size=(40, n))
        many = small_control(control)
        assert many.shape == (40,)
        assert (bits(many) == bits([small_control(row) for row in control])).all()
        assert (bits(many) == bits(small_control(control.reshape(5, 8, n)).ravel())).all()


class TestOtherArrayLibraries:
    """`array_api_strict` has nothing but what the array standard demands."""

    @staticmethod
    def compare(got, expected):
        import array_api_strict

        assert isinstance(got, array_api_strict._array_object.Array)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-15, atol=1e-300)

    @pytest.mark.parametrize("kind", SIGMOIDS)
    def test_tolerance(self, kind):
        import array_api_strict as xp

        x = random_inputs(1000).reshape(50, 20)
        self.compare(
            tolerance(xp.asarray(x), **ARGUMENTS, sigmoid=kind),
            tolerance(x, **ARGUMENTS, sigmoid=kind),
        )
        one_sided = {"bounds": (0.1, inf), "margin": 0.4, "sigmoid": kind}
        self.compare(tolerance(xp.asarray(x), **one_sided), tolerance(x, **one_sided))

    def test_array_bounds_and_margins(self):
        import array_api_strict as xp

        x = random_inputs(100)
        lower, upper, margin = x - 0.3, x + 0.2, np.abs(x) + 0.1
        a, low, high, m = (xp.asarray(array) for array in (x + 0.5, lower, upper, margin))
        self.compare(tolerance(a, (low, high), m), tolerance(x + 0.5, (lower, upper), margin))
        self.compare(tolerance(0.3, (low, inf), 1.0), tolerance(0.3, (lower, inf), 1.0))
        self.compare(tolerance(0.3, (-1e9, high), m), tolerance(0.3, (-1e9, upper), margin))
        for wrong in [{"bounds": (high, low)}, {"margin": -m}]:
            with pytest.raises(ValueError, match=next(iter(wrong))):
                tolerance(a, **wrong)

    def test_small_control(self):
        import array_api_strict as xp

        control = np.random.default_rng(0).uniform(-1.2, 1.2, size=(7, 5))
        self.compare(small_control(xp.asarray(control)), small_control(control))
