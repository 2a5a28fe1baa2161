"""Distributions, rotations, colours and noises: closed forms, arithmetic, nesting, copies."""

import colorsys
import copy
import json
import math
import operator
import pickle
from dataclasses import asdict, dataclass

import mujoco
import numpy as np
import pytest

from mjgym import variation
from mjgym.rotations import product
from mjgym.variation import (
    Bernoulli,
    Choice,
    Constant,
    Distribution,
    Exponential,
    Integers,
    LogNormal,
    Normal,
    Poisson,
    Sequence,
    Uniform,
    colours,
    noises,
    rotations,
)
from mjgym.variation.written import revived

N = 40_000
SIGMAS = 5  # standard errors within which a mean must lie: one seed in two million does not


def generator(seed=0):
    return np.random.default_rng(seed)


def close_to(values, mean, variance, kurtosis):
    """Whether mean and variance of draws are the given ones, within sampling error.

    Args:
        values: independent draws.
        mean: theirs.
        variance: theirs.
        kurtosis: their fourth central moment over the variance squared.
    """
    n = len(values)
    mean_error = SIGMAS * math.sqrt(variance / n)
    variance_error = SIGMAS * variance * math.sqrt((kurtosis - 1) / n)
    assert abs(values.mean() - mean) <= mean_error
    assert abs(values.var() - variance) <= variance_error + 1e-15


def lognormal_moments(mu, sigma):
    w = math.exp(sigma**2)
    kurtosis = w**4 + 2 * w**3 + 3 * w**2 - 3
    return math.exp(mu + sigma**2 / 2), (w - 1) * math.exp(2 * mu) * w, kurtosis


# Distribution, mean, variance, kurtosis and support.
INF = math.inf
MOMENTS = {
    "constant": (Constant(2.5), 2.5, 0.0, 1.0, (2.5, 2.5)),
    "uniform": (Uniform(-1, 3), 1.0, 16 / 12, 9 / 5, (-1, 3)),
    "default uniform": (Uniform(), 0.5, 1 / 12, 9 / 5, (0, 1)),
    "integers": (Integers(-2, 3), 0.5, 35 / 12, 1.8 - 12 / (5 * 35), (-2, 3)),
    "normal": (Normal(2, 0.5), 2.0, 0.25, 3.0, (-INF, INF)),
    "default normal": (Normal(), 0.0, 1.0, 3.0, (-INF, INF)),
    "lognormal": (LogNormal(0.3, 0.2), *lognormal_moments(0.3, 0.2), (0, INF)),
    "exponential": (Exponential(2.0), 2.0, 4.0, 9.0, (0, INF)),
    "poisson": (Poisson(3.0), 3.0, 3.0, 3 + 1 / 3, (0, INF)),
    "bernoulli": (Bernoulli(0.25), 0.25, 3 / 16, 7 / 3, (0, 1)),
    "choice": (Choice([1, 2, 6]), 3.0, 14 / 3, (16 + 1 + 81) / 3 / (14 / 3) ** 2, (1, 6)),
    "weighted choice": (Choice([0.0, 4.0], [0.75, 0.25]), 1.0, 3.0, 7 / 3, (0, 4)),
    "mixture": (Choice([Uniform(0, 1), Uniform(2, 3)]), 1.5, 13 / 12, 1.3, (0, 3)),
    "nested": (Normal(Uniform(-3, 3), 1), 0.0, 4.0, 3 - 1.2 * 9 / 16, (-INF, INF)),
    "sum": (Uniform() + Uniform() - 1, 0.0, 1 / 6, 2.4, (-1, 1)),
    "scaled": (3 * Uniform(-1, 1), 0.0, 3.0, 9 / 5, (-3, 3)),
    "clipped": (Uniform(-1, 1).clip(0, 1), 0.25, 5 / 48, 2.9, (0, 1)),
    "absolute": (abs(Uniform(-1, 1)), 0.5, 1 / 12, 9 / 5, (0, 1)),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_and_support(name):
    distribution, mean, variance, kurtosis, support = MOMENTS[name]
    draws = distribution.draws(generator(), N, ())
    assert draws.shape == (N,)
    close_to(draws, mean, variance, kurtosis)
    assert distribution.support == support
    low, high = support
    assert low <= draws.min()
    assert draws.max() <= high
    if np.isfinite(support).all():  # and they are no wider than need be
        assert draws.min() - low <= 0.05 * (high - low)
        assert high - draws.max() <= 0.05 * (high - low)


# Not those of a constant, nor those of one draw that share a mean.
@pytest.mark.parametrize("name", [n for n in MOMENTS if n not in ("constant", "nested")])
def test_elements_of_one_draw_and_draws_are_independent(name):
    distribution = MOMENTS[name][0]
    pairs = distribution.draws(generator(), N, (2,)).astype(float)
    assert pairs.shape == (N, 2)
    for a, b in ((pairs[:, 0], pairs[:, 1]), (pairs[:-1, 0], pairs[1:, 0])):
        assert abs(np.corrcoef(a, b)[0, 1]) < SIGMAS / math.sqrt(N)


def test_integers_and_choices_are_equally_likely():
    for distribution, values in ((Integers(2, 5), [2, 3, 4, 5]), (Choice([7, 1, 4]), [1, 4, 7])):
        found, counts = np.unique(distribution.draws(generator(), N, ()), return_counts=True)
        assert found.tolist() == values
        p = 1 / len(values)
        assert np.abs(counts / N - p).max() < SIGMAS * math.sqrt(p * (1 - p) / N)


class TestShapes:
    @pytest.mark.parametrize(
        ("distribution", "shape"),
        [
            (Uniform(), ()),
            (Uniform([0, 1], 2), (2,)),
            (Normal(np.zeros((3, 1)), [1, 2]), (3, 2)),
            (Choice([[1, 2, 3], [4, 5, 6]]), (3,)),
            (Sequence([1, 2]), ()),
            (Constant([[1, 2]]), (1, 2)),
            (Uniform([0, 0], 1) + 1, (2,)),
            (abs(Uniform([0, 0], 1)).clip(0, 1), (2,)),
            (Normal(Uniform([0, 0, 0], 1), 1), (3,)),
            (rotations.Uniform(), (4,)),
            (colours.Grey(0.5), (4,)),
        ],
    )
    def test_of_the_parameters_by_default(self, distribution, shape):
        assert distribution.shape == shape
        assert distribution(generator()).shape == shape
        assert distribution.draws(generator(), 5, shape).shape == (5, *shape)
        assert distribution(generator(), (7, *shape)).shape == (7, *shape)

    def test_parameters_broadcast(self):
        low = np.array([0.0, 10.0, 20.0])
        draws = Uniform(low, low + 1).draws(generator(), 50, (4, 3))
        assert ((draws >= low) & (draws < low + 1)).all()
        assert len(np.unique(draws)) == draws.size
        assert np.array_equal(Constant([1, 2]).draws(generator(), 1, (2, 2))[0], [[1, 2], [1, 2]])

    @pytest.mark.parametrize(
        "distribution",
        [Uniform([0, 0], 1), Constant([1, 2]), Choice([[1, 2], [3, 4]]), Sequence([[1, 2]])],
    )
    def test_a_shape_that_does_not_fit(self, distribution):
        with pytest.raises(ValueError, match=r"shape|broadcast"):
            distribution(generator(), (3,))

    def test_each_element_chooses_by_itself(self):
        pairs = np.array([[1, 2], [3, 4], [5, 6]])
        drawn = Choice(pairs)(generator(), (200, 2))
        assert {tuple(pair) for pair in drawn.tolist()} == {(1, 2), (3, 4), (5, 6)}


class TestNesting:
    def test_a_parameter_is_drawn_once_for_all_elements(self):
        draws = Normal(Uniform(-100, 100), 1e-6).draws(generator(), 20, (6,))
        assert np.ptp(draws, axis=1).max() < 1e-4
        assert np.ptp(draws[:, 0]) > 10

    def test_a_parameter_keeps_its_own_shape(self):
        """One mean for each column, the same in all rows."""
        draws = Normal(Uniform([0, 0, 0], 100), 1e-6)(generator(), (5, 3))
        assert np.ptp(draws, axis=0).max() < 1e-4
        assert np.ptp(draws[0]) > 1

    def test_to_any_depth(self):
        nested = Uniform(0, Exponential(Choice([1e-3, 1e3])))
        draws = nested.draws(generator(), 1000, ())
        small = (draws < 0.1).mean()
        assert 0.4 < small < 0.6

    def test_of_every_kind(self):
        """Each parameter of each distribution may be one."""
        for nested in (
            Constant(Uniform()),
            Uniform(Uniform(), Uniform(2, 3)),
            Integers(Integers(0, 1), Integers(2, 3)),
            Normal(Normal(), Uniform()),
            LogNormal(Normal(), Uniform()),
            Exponential(Uniform()),
            Poisson(Exponential()),
            Bernoulli(Uniform()),
            Choice([Uniform(), 3.0]),
            Sequence([Uniform(), 3.0]),
            rotations.About(Normal(np.zeros(3), 1), Uniform()),
            colours.HSV(Uniform(), Choice([0.2, 0.3]), Exponential()),
        ):
            draws = nested.draws(generator(), 4, (2, *nested.shape))
            assert draws.shape == (4, 2, *nested.shape)
            assert np.isfinite(draws).all()
            assert len(np.unique(draws)) > 1

    def test_a_factor_of_a_parameter_sequence_follows_the_index(self):
        assert Uniform(Sequence([1, 5]), Sequence([1, 5]))(generator(), (2,), 3).tolist() == [5, 5]
        assert (2 * Sequence([1, 5]))(generator(), index=1) == 10


SYMBOLS = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
}


class TestArithmetic:
    @pytest.mark.parametrize("join", SYMBOLS)
    @pytest.mark.parametrize("other", [3, 2.5, np.array([1.0, 2.0, 3.0])], ids=str)
    def test_equals_numpy_on_the_same_draws(self, join, other):
        plain = Uniform(1, 2).draws(generator(), 5, (4, 3))
        assert np.array_equal(
            join(Uniform(1, 2), other).draws(generator(), 5, (4, 3)), join(plain, other)
        )
        assert np.array_equal(
            join(other, Uniform(1, 2)).draws(generator(), 5, (4, 3)), join(other, plain)
        )

    @pytest.mark.parametrize("join", SYMBOLS)
    def test_of_two_distributions(self, join):
        rng = generator()
        left, right = (d.draws(rng, 5, (3,)) for d in (Uniform(1, 2), Exponential()))
        joined = join(Uniform(1, 2), Exponential())
        assert np.array_equal(joined.draws(generator(), 5, (3,)), join(left, right))

    def test_of_one(self):
        plain = Normal().draws(generator(), 100, ())
        assert np.array_equal((-Normal()).draws(generator(), 100, ()), -plain)
        assert np.array_equal(abs(Normal()).draws(generator(), 100, ()), np.abs(plain))
        clipped = Normal().clip(-0.5, 1).draws(generator(), 100, ())
        assert np.array_equal(clipped, plain.clip(-0.5, 1))

    def test_is_closed(self):
        joined = (1 - 2 * Uniform() ** 2) / abs(Normal(Exponential(), 1)) + np.ones(2)
        assert isinstance(joined, Distribution)
        assert joined(generator(), (3, 2)).shape == (3, 2)

    @pytest.mark.parametrize(
        ("joined", "support"),
        [
            (Uniform(1, 2) - Uniform(0, 5), (-4, 2)),
            (Uniform(-1, 2) * Uniform(-3, 1), (-6, 3)),
            (-Exponential(), (-math.inf, 0)),
            (0 * Exponential(), (0, 0)),
            (Exponential() + Exponential(), (0, math.inf)),
            (Exponential().clip(1, 2), (1, 2)),
            (abs(Uniform(-3, -1)), (1, 3)),
            (1 / Uniform(1, 2), (-math.inf, math.inf)),  # not worked out
            (Uniform(Uniform(-2, -1), Uniform(3, 4)), (-2, 4)),
            (Sequence([3, Uniform(5, 6)]), (3, 6)),
        ],
        ids=repr,
    )
    def test_support(self, joined, support):
        assert joined.support == support

    def test_clip_wants_its_bounds_in_order(self):
        with pytest.raises(ValueError, match="low 2 is above high 1"):
            Uniform().clip(2, 1)


class TestSequence:
    def test_goes_on_with_the_index(self):
        sequence = Sequence([3, 1, 2])
        assert [sequence(generator(), index=i).item() for i in range(7)] == [3, 1, 2, 3, 1, 2, 3]
        assert sequence.draws(generator(), 5, (), first=2).tolist() == [2, 3, 1, 2, 3]

    def test_is_the_same_for_all_elements(self):
        assert Sequence([3, 1]).draws(generator(), 3, (2,)).tolist() == [[3, 3], [1, 1], [3, 3]]
        vectors = Sequence([[1, 2], [3, 4]]).draws(generator(), 2, (2, 2))
        assert vectors.tolist() == [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]

    def test_draws_nothing(self):
        rng = generator()
        Sequence([1, 2])(rng, (5,))
        assert rng.bit_generator.state == generator().bit_generator.state


EVERY = [
    *(distribution for distribution, *_ in MOMENTS.values()),
    Sequence([1, 2, 3]),
    rotations.Uniform(),
    rotations.About((0, 0, 1), Uniform()),
    colours.RGB(Uniform(), 0.5, 1),
    colours.HSV(Uniform(), 0.5, 1),
    colours.Grey(Uniform(), 0.5),
]


@pytest.mark.parametrize("distribution", EVERY, ids=repr)
class TestEveryDistribution:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
    def test_copies_draw_the_same(self, distribution, duplicate):
        twin = duplicate(distribution)
        shape = (2, *distribution.shape)
        assert np.array_equal(
            distribution.draws(generator(), 6, shape), twin.draws(generator(), 6, shape)
        )
        assert repr(twin) == repr(distribution)

    def test_json_makes_it_again(self, distribution):
        text = json.dumps(asdict(distribution))
        again = revived(json.loads(text))
        assert type(again) is type(distribution)
        shape = distribution.shape
        assert np.array_equal(
            distribution.draws(generator(), 6, shape), again.draws(generator(), 6, shape)
        )

    def test_its_text_makes_it_again(self, distribution):
        names = {**vars(rotations), **vars(colours), **vars(variation)}
        again = eval(repr(distribution), names)
        shape = distribution.shape
        assert np.array_equal(
            distribution.draws(generator(), 6, shape), again.draws(generator(), 6, shape)
        )

    def test_a_single_draw_is_the_first_of_many(self, distribution):
        shape = (2, *distribution.shape)
        one = distribution(generator(), shape)
        assert np.array_equal(one, distribution.draws(generator(), 1, shape)[0])

    def test_draws_may_be_written_to(self, distribution):
        shape = (2, *distribution.shape)
        before = distribution(generator(), shape).copy()
        distribution(generator(), shape)[...] = 77
        assert np.array_equal(distribution(generator(), shape), before)


class TestWritten:
    """Variations as JSON."""

    def test_a_class_of_ones_own(self):
        again = revived(json.loads(json.dumps({"a": [asdict(Twice(Uniform(3, 4)))]})))
        assert 6 <= again["a"][0](generator()) < 8

    def test_what_is_no_dataclass_says_so(self):
        class Plain(Distribution):
            pass

        with pytest.raises(TypeError, match="Plain cannot be written as JSON"):
            asdict(Plain())

    def test_what_is_no_variation_stays_itself(self):
        value = {"a": [1, (2, {"b": None})]}
        assert revived(value) is value

    @pytest.mark.parametrize(
        ("written", "words"),
        [
            ({"variation_class": "nothing:Nobody"}, "there is no class 'nothing:Nobody'"),
            ({**asdict(Uniform()), "hi": 1}, "has the parameters .*high.* got .*hi"),
            ({**asdict(Uniform()), "low": 2}, "low 2 is above high 1"),
        ],
    )
    def test_what_cannot_be_read(self, written, words):
        with pytest.raises(ValueError, match=words):
            revived(written)


@dataclass(frozen=True, eq=False)
class Twice(Distribution):
    of: Distribution

    def draws(self, rng, n, shape, first=0):
        return 2 * self.of.draws(rng, n, shape, first)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Uniform(2, 1), "Uniform: low 2 is above high 1"),
        (lambda: Uniform([0, 5], [1, 4]), "Uniform: low 5 is above high 4"),
        (lambda: Uniform(Constant(2), 1)(generator()), "Uniform: low 2 is above high 1"),
        (lambda: Uniform(np.nan, 1), "Uniform: low must be finite, got nan"),
        (lambda: Uniform(0, np.inf), "Uniform: high must be finite, got inf"),
        (lambda: Uniform("a", 1), "Uniform: low must be a number, .* got 'a'"),
        (lambda: Uniform(None), "Uniform: low must be a number, .* got None"),
        (lambda: Uniform([0, 1], [1, 2, 3]), r"Uniform: .* \(2,\), \(3,\) do not broadcast"),
        (lambda: Uniform([], 1), "Uniform: low has no numbers"),
        (lambda: Constant("x"), "Constant: value must be a number"),
        (lambda: Integers(3, 1), "Integers: low 3 is above high 1"),
        (lambda: Integers(Constant(3), 1)(generator()), "Integers: low 3 is above high 1"),
        (lambda: Integers(0.5, 2), "Integers: 0.5 is no whole number"),
        (lambda: Normal(0, -1), "Normal: std -1 is negative"),
        (lambda: Normal(0, Constant(-1))(generator()), "Normal: std -1 is negative"),
        (lambda: Normal(np.nan), "Normal: mean must be finite"),
        (lambda: Exponential(-1), "Exponential: mean -1 is negative"),
        (lambda: LogNormal(0, -1), "LogNormal: std -1 is negative"),
        (lambda: Poisson(-1), "Poisson: rate -1 is negative"),
        (lambda: Bernoulli(1.5), "Bernoulli: .* from 0 to 1, got 1.5"),
        (lambda: Bernoulli(Constant(-1))(generator()), "Bernoulli: .* from 0 to 1, got -1"),
        (lambda: Choice([1, 2], [0.5, 0.6]), "Choice: probabilities must sum to 1, not 1.1"),
        (lambda: Choice([1, 2], [1.5, -0.5]), "Choice: probability -0.5 is negative"),
        (lambda: Choice([1, 2], [np.nan, 1]), "Choice: probabilities must be finite"),
        (lambda: Choice([1, 2], [1.0]), r"Choice: probabilities must be 2, .* shape \(1,\)"),
        (lambda: Choice([1, 2], Uniform()), "Choice: probabilities must be numbers"),
        (lambda: Choice([1, np.inf]), "Choice: values must be finite"),
        (lambda: Uniform() + np.nan, "an operand must be finite"),
        (lambda: Uniform() * "x", "an operand must be a number"),
        (lambda: colours.Grey("dark"), "Grey: level must be a number"),
        (lambda: colours.RGB(0, np.nan, 0), "RGB: green must be finite"),
        (lambda: rotations.About((0, 0, 1), np.inf), "About: angle must be finite"),
        (lambda: Choice([]), "Choice: values must be a sequence of at least one"),
        (lambda: Choice(3), "Choice: values must be a sequence"),
        (lambda: Choice({1, 2}), "Choice: values must be a sequence"),
        (lambda: Choice("ab"), "Choice: values must be a sequence"),
        (lambda: Choice(["a", "b"]), "Choice: values must be .* number"),
        (lambda: Sequence([[1, 2], [3]]), "Sequence: values must be .* all of one shape"),
        (lambda: Choice([Uniform(), [1, 2]]), "Choice: values must be .* all of one shape"),
        (lambda: rotations.About((0, 0), 1), "About: axis must have three numbers"),
        (lambda: rotations.About((0, 0, 0), 1), "About: the axis has no direction"),
        (lambda: rotations.Uniform()(generator(), (3,)), "rotations end in an axis of 4"),
        (lambda: colours.Grey(1)(generator(), (3,)), "colours end in an axis of 4"),
    ],
)
def test_what_cannot_be_drawn(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def turned(quaternions, vector):
    """A vector turned by each of some rotations, by the engine."""
    results = np.empty((len(quaternions), 3))
    for result, quaternion in zip(results, quaternions, strict=True):
        mujoco.mju_rotVecQuat(result, np.asarray(vector, dtype=float), quaternion)
    return results


class TestRotations:
    def test_are_one_long(self):
        axes = Normal(np.zeros(3), 1)
        for rotation in (
            rotations.Uniform(),
            rotations.About((1, 2, 3), Uniform(-7, 7)),
            rotations.About(axes, Normal()),
        ):
            drawn = rotation.draws(generator(), 100, (3, 4))
            assert drawn.shape == (100, 3, 4)
            assert np.abs((drawn**2).sum(axis=-1) - 1).max() < 1e-14
            assert rotation.support == (-1, 1)

    def test_uniform_ones_are_uniform(self):
        n = 10_000
        quaternions = rotations.Uniform().draws(generator(), n, (4,))
        for vector in ([1, 0, 0], [0, 0.6, 0.8]):
            # A point on the sphere: mean 0, and each coordinate uniform on -1 .. 1 (Archimedes).
            points = turned(quaternions, vector)
            for axis in range(3):
                close_to(points[:, axis], 0.0, 1 / 3, 9 / 5)
        # Angles have the density (1 - cos a) / pi on 0 .. pi.
        angles = 2 * np.arccos(np.abs(quaternions[:, 0]).clip(0, 1))
        edges = np.linspace(0, np.pi, 9)
        expected = np.diff((edges - np.sin(edges)) / np.pi)
        counts, _ = np.histogram(angles, edges)
        error = SIGMAS * np.sqrt(expected * (1 - expected) / n)
        assert (np.abs(counts / n - expected) < error).all()

    def test_about_is_the_closed_form(self):
        angle, axis = 0.7, np.array([1.0, -2.0, 0.5])
        expected = np.empty(4)
        mujoco.mju_axisAngle2Quat(expected, axis / np.linalg.norm(axis), angle)
        drawn = rotations.About(10 * axis, angle)(generator())
        assert np.abs(drawn - expected).max() < 1e-15

    def test_about_turns_each_by_its_own_angle_and_all_about_one_axis(self):
        drawn = rotations.About(Normal(np.zeros(3), 1), Uniform(0.1, 3))(generator(), (50, 4))
        axes = drawn[:, 1:] / np.linalg.norm(drawn[:, 1:], axis=1, keepdims=True)
        assert np.abs(axes - axes[0]).max() < 1e-12
        assert np.ptp(drawn[:, 0]) > 0.1

    def test_product_equals_the_engines(self):
        a, b = rotations.Uniform().draws(generator(), 2, (20, 4))
        expected = np.empty(4)
        for p, q, ours in zip(a, b, product(a, b), strict=True):
            mujoco.mju_mulQuat(expected, p, q)
            assert np.abs(ours - expected).max() < 1e-15
        assert np.array_equal(product(a[:1], b), product(np.tile(a[0], (20, 1)), b))


class TestColours:
    def test_hsv_equals_the_standard_librarys(self):
        rng = generator()
        hsv = np.concatenate([rng.uniform(size=(300, 3)), [[0, 1, 1], [1, 1, 1], [0.5, 0, 0.2]]])
        expected = [colorsys.hsv_to_rgb(*row) for row in hsv]
        for (h, s, v), rgb in zip(hsv, expected, strict=True):
            drawn = colours.HSV(h, s, v, 0.25)(rng)
            assert np.abs(drawn[:3] - rgb).max() < 1e-14
            assert drawn[3] == 0.25

    def test_rgb_and_grey_are_the_channels(self):
        assert colours.RGB(0.1, 0.2, 0.3, 0.4)(generator()).tolist() == [0.1, 0.2, 0.3, 0.4]
        assert colours.RGB(0.1, 0.2, 0.3)(generator()).tolist() == [0.1, 0.2, 0.3, 1.0]
        greys = colours.Grey(Uniform(), Uniform())(generator(), (100, 4))
        assert np.array_equal(greys[:, 0], greys[:, 1])
        assert np.array_equal(greys[:, 0], greys[:, 2])
        assert len(np.unique(greys[:, 0])) == len(np.unique(greys[:, 3])) == 100

    def test_stay_within_0_and_1(self):
        wide = Normal(0.5, 3)
        for colour in (colours.RGB(wide, wide, wide, wide), colours.HSV(wide, wide, wide, wide)):
            drawn = colour.draws(generator(), 200, (2, 4))
            assert drawn.min() == 0
            assert drawn.max() == 1
            assert colour.support == (0, 1)

    def test_each_element_has_its_own(self):
        drawn = colours.RGB(Uniform(), Uniform(), Uniform())(generator(), (5, 4))
        assert len(np.unique(drawn[:, :3])) == 15


class TestNoises:
    def test_additive_and_multiplicative(self):
        reading = np.array([1.0, -2.0, 4.0])
        draw = Normal(0, 0.1)(generator(), (3,))
        for noise, expected in (
            (noises.additive(Normal(0, 0.1)), reading + draw),
            (noises.multiplicative(Normal(0, 0.1)), reading * draw),
        ):
            drawn = noise.distribution(generator(), (3,))
            assert np.array_equal(noise.combine(reading, drawn), expected)

    def test_a_noise_of_ones_own(self):
        rounded = noises.Noise(Uniform(0.05, 0.1), lambda x, step: np.round(x / step) * step)
        drawn = rounded.distribution(generator(), (3,))
        corrupted = rounded.combine(np.array([1.0, 2.0, 3.0]), drawn)
        assert np.abs(corrupted - [1, 2, 3]).max() <= 0.05

    @pytest.mark.parametrize("make", [noises.additive, noises.multiplicative])
    def test_wants_a_distribution(self, make):
        with pytest.raises(TypeError, match=r"a noise needs a distribution, got 0\.1"):
            make(0.1)

    @pytest.mark.parametrize("make", [noises.additive, noises.multiplicative])
    def test_pickles(self, make):
        twin = pickle.loads(pickle.dumps(make(Normal())))
        assert np.array_equal(twin.distribution(generator()), Normal()(generator()))
        assert twin.combine is make(Normal()).combine


class TestRelative:
    def test_plain_numbers_become_constants(self):
        assert variation.factor(2.0).distribution(generator()) == 2.0
        assert variation.offset([1, 2]).distribution(generator()).tolist() == [1, 2]
        assert variation.shared(3).distribution(generator()) == 3

    def test_what_is_a_distribution_stays_it(self):
        uniform = Uniform()
        assert variation.factor(uniform).distribution is uniform
        assert variation.offset(uniform).distribution is uniform
        assert variation.shared(uniform).distribution is uniform

    def test_shared_and_redrawn_keep_the_rest(self):
        how = variation.redrawn(variation.shared(variation.offset(Uniform())), 0.5)
        assert (how.relative, how.shared, how.every(generator())) == ("offset", True, 0.5)
