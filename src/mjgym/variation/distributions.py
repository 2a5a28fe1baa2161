"""Distributions that combine by arithmetic and may have distributions as parameters."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mjgym.util.operators import OPERATORS, methods
from mjgym.variation.written import Written

Value: TypeAlias = Any
"""A number, something that NumPy reads as an array, or a distribution."""

Shape: TypeAlias = tuple[int, ...]
Support: TypeAlias = tuple[float, float]


_EVERYWHERE: Support = (-np.inf, np.inf)
_POSITIVE: Support = (0.0, np.inf)
_ROUNDING = 1e-8  # of a sum of probabilities; NumPy's bound


def _join(symbol: str, left: Value, right: Value) -> "Distribution":
    return _Combined(symbol, left, right)


class Distribution(Written):
    """A random quantity that is drawn with the caller's generator.

    A distribution is stateless: the same generator gives the same numbers. Distributions add,
    subtract, multiply, divide and so on with numbers, arrays and each other. Any parameter may be a
    distribution: it is then drawn once for each draw, for all its elements.
    """

    __array_ufunc__ = None  # so that `array * distribution` calls the distribution
    _shape: ClassVar[Shape] = ()
    _support: ClassVar[Support] = _EVERYWHERE

    @property
    def shape(self) -> Shape:
        """The default shape of a draw; any longer shape must end in it."""
        return self._shape

    @property
    def support(self) -> Support:
        """Bounds of the draws; infinite where unbounded or unknown."""
        return self._support

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        """Draw several times independently, (n, *shape)."""
        raise NotImplementedError

    def __call__(
        self, rng: np.random.Generator, shape: Shape | None = None, index: int = 0
    ) -> np.ndarray:
        """Draw once, after `index` earlier draws; the default shape is that of the parameters."""
        result: np.ndarray = self.draws(rng, 1, self.shape if shape is None else shape, index)[0]
        return result

    def clip(self, low: float, high: float) -> "Distribution":
        """This distribution with values outside the range moved to its ends."""
        return _Clipped(self, low, high)

    __add__, __radd__ = methods("+", _join)
    __sub__, __rsub__ = methods("-", _join)
    __mul__, __rmul__ = methods("*", _join)
    __truediv__, __rtruediv__ = methods("/", _join)
    __floordiv__, __rfloordiv__ = methods("//", _join)
    __mod__, __rmod__ = methods("%", _join)
    __pow__, __rpow__ = methods("**", _join)

    def __neg__(self) -> "Distribution":
        return -1.0 * self

    def __abs__(self) -> "Distribution":
        return _Absolute(self)


def shape_of(value: Value) -> Shape:
    return value.shape if isinstance(value, Distribution) else np.shape(value)


def support_of(value: Value) -> Support:
    """The bounds of a number, an array or a distribution."""
    if isinstance(value, Distribution):
        return value.support
    array = np.asarray(value, dtype=float)
    return float(array.min()), float(array.max())


def check_numbers(owner: str, name: str, value: Value) -> None:
    """Raise if a parameter is neither finite numbers nor a distribution."""
    if isinstance(value, Distribution):
        return
    try:
        if value is None or isinstance(value, str | bytes):
            raise TypeError  # NumPy would convert them to numbers
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner}: {name} must be a number, an array or a distribution, got {value!r}"
        ) from None
    if not array.size:
        raise ValueError(f"{owner}: {name} has no numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{owner}: {name} must be finite, got {value!r}")


def check_parameters(owner: Any) -> None:
    """`check_numbers` for all fields of a dataclass."""
    for f in fields(owner):
        if f.init:
            check_numbers(type(owner).__name__, f.name, getattr(owner, f.name))


def _refuse_where(wrong: Any, message: str, *values: Any) -> None:
    wrong = np.asarray(wrong)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        first = (float(np.broadcast_to(value, wrong.shape)[place]) for value in values)
        raise ValueError(message.format(*(f"{value:g}" for value in first)))


def draws_of(
    value: Value, rng: np.random.Generator, n: int, shape: Shape, first: int
) -> np.ndarray:
    """Draw n values, (n, *shape), from a distribution, or repeat a constant."""
    if isinstance(value, Distribution):
        return value.draws(rng, n, shape, first)
    return np.broadcast_to(value, (n, *shape))


def draw_parameter(
    value: Value, rng: np.random.Generator, n: int, dimensions: int, first: int
) -> np.ndarray:
    """A parameter for n draws with `dimensions` each: (n, 1, ..., *shape), or a constant."""
    if not isinstance(value, Distribution):
        return np.asarray(value, dtype=float)
    shape = value.shape
    drawn = value.draws(rng, n, shape, first)
    return drawn.reshape(n, *[1] * (dimensions - len(shape)), *shape)


class _Parametric(Distribution):
    """A distribution with its fields as parameters.

    Raises:
        ValueError: a parameter is neither finite numbers nor a distribution, the parameters do not
            broadcast to each other, or are invalid. Parameters that are distributions are checked
            when they are drawn.
    """

    _method: ClassVar[str]  # of NumPy's generator
    _not_negative: ClassVar[str | None] = None  # a parameter

    def __post_init__(self) -> None:
        check_parameters(self)
        try:
            _ = self.shape
        except ValueError:
            name, shapes = type(self).__name__, ", ".join(str(shape_of(p)) for p in self._values())
            raise ValueError(f"{name}: parameters of shapes {shapes} do not broadcast") from None
        if not self._is_random():
            self._check(*(np.asarray(p, dtype=float) for p in self._values()))

    def _values(self) -> tuple[Value, ...]:
        return tuple(vars(self).values())

    def _is_random(self) -> bool:
        return any(isinstance(p, Distribution) for p in self._values())

    def _check(self, *parameters: np.ndarray) -> None:
        for name, values in zip(vars(self), parameters, strict=True):
            if name == self._not_negative:
                message = f"{type(self).__name__}: {name} {{}} is negative"
                _refuse_where(values < 0, message, values)

    @property
    def shape(self) -> Shape:
        return np.broadcast_shapes(*map(shape_of, self._values()))

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        parameters = [draw_parameter(p, rng, n, len(shape), first) for p in self._values()]
        if self._is_random():
            self._check(*parameters)
        return np.asarray(self._draw(rng, (n, *shape), *parameters))

    def _draw(self, rng: np.random.Generator, shape: Shape, *parameters: Any) -> Any:
        return getattr(rng, self._method)(*parameters, shape)


@dataclass(frozen=True, eq=False)
class Constant(_Parametric):
    """A constant."""

    value: Value

    def __post_init__(self) -> None:
        """Values that are not finite are checked by the user of a draw."""
        text = isinstance(self.value, str | bytes)  # NumPy would convert it to numbers
        if text or self.value is None or _shape_of_numbers(self.value) is None:
            check_numbers("Constant", "value", self.value)

    @property
    def support(self) -> Support:
        return support_of(self.value)

    def _draw(self, rng: np.random.Generator, shape: Shape, *parameters: Any) -> Any:
        return np.broadcast_to(parameters[0], shape).copy()


@dataclass(frozen=True, eq=False)
class Custom(Distribution):
    """A distribution drawn by a user's function.

    Args:
        function: of a `numpy.random.Generator`; returns one number.
        low: lower bound of the draws.
        high: upper bound; a delay needs both.

    Raises:
        TypeError: `function` cannot be called.
    """

    function: Callable[[np.random.Generator], float]
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom: expected a function of a generator, got {self.function!r}")

    @property
    def support(self) -> Support:
        return self.low, self.high

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        count = int(np.prod((n, *shape)))
        numbers = np.array([float(self.function(rng)) for _ in range(count)])
        wrong = numbers[~((numbers >= self.low) & (numbers <= self.high))]
        if wrong.size:
            raise ValueError(
                f"Custom: {self.function!r} drew {wrong[0]:g}, outside of {self.low:g} to"
                f" {self.high:g}"
            )
        return numbers.reshape(n, *shape)


class _Range(_Parametric):
    low: Value
    high: Value

    @property
    def support(self) -> Support:
        return support_of(self.low)[0], support_of(self.high)[1]

    def _check(self, *parameters: np.ndarray) -> None:
        low, high = parameters
        message = f"{type(self).__name__}: low {{}} is above high {{}}"
        _refuse_where(low > high, message, low, high)


@dataclass(frozen=True, eq=False)
class Uniform(_Range):
    """Uniform between two bounds, the upper one excluded."""

    low: Value = 0.0
    high: Value = 1.0
    _method = "uniform"


@dataclass(frozen=True, eq=False)
class Integers(_Range):
    """Integers from `low` to `high`, both included, each equally likely."""

    low: Value
    high: Value

    def _check(self, *parameters: np.ndarray) -> None:
        for bound, parameter in zip(parameters, self._values(), strict=True):
            if not isinstance(parameter, Distribution):  # draws are rounded
                _refuse_where(bound % 1 != 0, "Integers: {} is no whole number", bound)
        super()._check(*map(np.rint, parameters))

    def _draw(self, rng: np.random.Generator, shape: Shape, *parameters: Any) -> Any:
        low, high = (np.rint(p).astype(np.int64) for p in parameters)
        return rng.integers(low, high, shape, endpoint=True)


@dataclass(frozen=True, eq=False)
class Normal(_Parametric):
    """Normal, with a mean and a standard deviation."""

    mean: Value = 0.0
    std: Value = 1.0
    _method, _not_negative = "normal", "std"


@dataclass(frozen=True, eq=False)
class LogNormal(_Parametric):
    """The exponential of a normal quantity with this mean and standard deviation."""

    mean: Value = 0.0
    std: Value = 1.0
    _method, _not_negative, _support = "lognormal", "std", _POSITIVE


@dataclass(frozen=True, eq=False)
class Exponential(_Parametric):
    """Exponential, with a mean."""

    mean: Value = 1.0
    _method, _not_negative, _support = "exponential", "mean", _POSITIVE


@dataclass(frozen=True, eq=False)
class Poisson(_Parametric):
    """Counts of events that happen `rate` times on average (Poisson)."""

    rate: Value = 1.0
    _method, _not_negative, _support = "poisson", "rate", _POSITIVE


@dataclass(frozen=True, eq=False)
class Bernoulli(_Parametric):
    """1 with a probability, else 0."""

    probability: Value = 0.5
    _support = (0.0, 1.0)

    def _check(self, *parameters: np.ndarray) -> None:
        (probability,) = parameters
        wrong = (probability < 0) | (probability > 1)
        _refuse_where(wrong, "Bernoulli: a probability lies from 0 to 1, got {}", probability)

    def _draw(self, rng: np.random.Generator, shape: Shape, *parameters: Any) -> Any:
        return (rng.random(shape) < parameters[0]).astype(float)


def _shape_of_numbers(value: Value) -> Shape | None:
    """The shape of a value; None if it is neither numbers nor a distribution."""
    try:
        support_of(value)
    except (TypeError, ValueError):
        return None
    return shape_of(value)


class _Listed(Distribution):
    """One of several values, each a number, an array or a distribution, all of one shape."""

    values: Any

    def __post_init__(self) -> None:
        listed = isinstance(self.values, list | tuple | range | np.ndarray)
        shapes = {_shape_of_numbers(v) for v in self.values} if listed else set()
        if len(shapes) != 1 or None in shapes:
            raise ValueError(
                f"{type(self).__name__}: values must be a sequence of at least one number, array"
                f" or distribution, all of one shape, got {self.values!r}"
            )
        for value in self.values:
            check_numbers(type(self).__name__, "values", value)

    @property
    def shape(self) -> Shape:
        return shape_of(self.values[0])

    @property
    def support(self) -> Support:
        lows, highs = zip(*map(support_of, self.values), strict=True)
        return min(lows), max(highs)

    def _pick(
        self, rng: np.random.Generator, n: int, shape: Shape, first: int, chosen: np.ndarray
    ) -> np.ndarray:
        """The values at indices, (n, *shape); unchosen distributions consume random numbers too."""
        if not any(isinstance(value, Distribution) for value in self.values):
            return np.asarray(np.asarray(self.values)[chosen])
        drawn = [draws_of(value, rng, n, shape, first) for value in self.values]
        places = chosen.reshape(1, *chosen.shape, *[1] * len(self.shape))
        return np.asarray(np.take_along_axis(np.stack(drawn), places, axis=0)[0])

    def _lead(self, shape: Shape) -> Shape:
        ending = self.shape
        if ending and shape[len(shape) - len(ending) :] != ending:
            raise ValueError(f"{type(self).__name__}: values of shape {ending} do not end {shape}")
        return shape[: len(shape) - len(ending)]


@dataclass(frozen=True, eq=False)
class Choice(_Listed):
    """One of several values, which may be distributions themselves (a mixture).

    Each is equally likely, or as `probabilities` say.
    """

    values: Any
    probabilities: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probabilities is None:
            return
        check_numbers("Choice", "probabilities", self.probabilities)
        if isinstance(self.probabilities, Distribution):
            raise ValueError("Choice: probabilities must be numbers, got a distribution")
        probabilities = np.asarray(self.probabilities, dtype=float)
        if probabilities.shape != (len(self.values),):
            raise ValueError(
                f"Choice: probabilities must be {len(self.values)}, one for each value,"
                f" got shape {probabilities.shape}"
            )
        _refuse_where(probabilities < 0, "Choice: probability {} is negative", probabilities)
        if abs(probabilities.sum() - 1) > _ROUNDING:
            raise ValueError(f"Choice: probabilities must sum to 1, not {probabilities.sum():g}")

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        chosen = rng.choice(len(self.values), (n, *self._lead(shape)), p=self.probabilities)
        return self._pick(rng, n, shape, first, chosen)


@dataclass(frozen=True, eq=False)
class Sequence(_Listed):
    """One value after the other, starting again after the last.

    Only values that are distributions are random.

    It advances with every counted draw: episodes of a sub-environment for model variations,
    readings of a sensor for its noise, interval and delay.
    """

    values: Any

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        lead = self._lead(shape)
        turn = (first + np.arange(n)) % len(self.values)
        chosen = np.broadcast_to(turn.reshape(n, *[1] * len(lead)), (n, *lead))
        return self._pick(rng, n, shape, first, chosen)


@dataclass(frozen=True, eq=False)
class _Combined(Distribution):
    symbol: str
    left: Value
    right: Value

    def __post_init__(self) -> None:
        for value in (self.left, self.right):
            check_numbers(repr(self), "an operand", value)

    @property
    def shape(self) -> Shape:
        return np.broadcast_shapes(shape_of(self.left), shape_of(self.right))

    @property
    def support(self) -> Support:
        if self.symbol not in "+-*":
            return _EVERYWHERE
        (a, b), (c, d) = support_of(self.left), support_of(self.right)
        with np.errstate(invalid="ignore"):
            ends = [OPERATORS[self.symbol](x, y) for x in (a, b) for y in (c, d)]
        ends = [0.0 if np.isnan(end) else end for end in ends]  # 0 times infinity
        return min(ends), max(ends)

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        left, right = (
            value.draws(rng, n, shape, first)
            if isinstance(value, Distribution)
            else np.asarray(value)
            for value in (self.left, self.right)
        )
        return np.asarray(OPERATORS[self.symbol](left, right))

    def __repr__(self) -> str:
        return f"({self.left!r} {self.symbol} {self.right!r})"


@dataclass(frozen=True, eq=False)
class _Mapped(Distribution):
    of: Distribution

    @property
    def shape(self) -> Shape:
        return self.of.shape

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        return np.asarray(self._map(self.of.draws(rng, n, shape, first)))

    def _map(self, values: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Absolute(_Mapped):
    @property
    def support(self) -> Support:
        low, high = self.of.support
        return max(0.0, low, -high), max(abs(low), abs(high))

    def _map(self, values: Any) -> Any:
        return np.abs(values)

    def __repr__(self) -> str:
        return f"abs({self.of!r})"


@dataclass(frozen=True, eq=False)
class _Clipped(_Mapped):
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"clip: low {self.low} is above high {self.high}")

    @property
    def support(self) -> Support:
        low, high = self._map(self.of.support)
        return float(low), float(high)

    def _map(self, values: Any) -> Any:
        return np.clip(values, self.low, self.high)

    def __repr__(self) -> str:
        return f"{self.of!r}.clip({self.low}, {self.high})"
