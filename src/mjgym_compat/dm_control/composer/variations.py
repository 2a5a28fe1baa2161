"""Variations: values that are drawn anew, alone, in arithmetic, and as attributes of models."""

import collections
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mjgym_compat.dm_control.mjcf import Element

NEGATIVE_STDEV = "`stdev` must be >= 0, got {}"
NEGATIVE_TIMESCALE = "`timescale` must be >= 0, got {}"


def evaluate(
    structure: Any, initial_value: Any = None, current_value: Any = None, random_state: Any = None
) -> Any:
    """Values of all variations in nested lists, tuples and dictionaries."""

    def inside(value: Any) -> Any:
        return evaluate(value, initial_value, current_value, random_state)

    if isinstance(structure, Mapping):
        return type(structure)(  # type: ignore[call-arg]
            (name, inside(value)) for name, value in structure.items()
        )
    if isinstance(structure, list | tuple):
        return type(structure)(map(inside, structure))
    if callable(structure):
        return structure(
            initial_value=initial_value, current_value=current_value, random_state=random_state
        )
    return structure


class Variation:
    """A value that is drawn, given the first one and the present one.

    Variations can be added, subtracted, multiplied, divided, raised to powers and indexed.
    """

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        """Draw a value.

        Args:
            initial_value: the value before any draw.
            current_value: the present value.
            random_state: of NumPy; its global one by default.
        """
        raise NotImplementedError

    def __getitem__(self, index: Any) -> "Variation":
        return _Item(self, index)

    def __neg__(self) -> "Variation":
        return _Operation(operator.neg, self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class _Operation(Variation):
    def __init__(self, function: Callable[..., Any], *operands: Any) -> None:
        self._function, self._operands = function, operands

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*(evaluate(each, *args, **kwargs) for each in self._operands))

    def _text(self, show: Callable[[Any], str]) -> str:
        return f"{self._function.__name__}({', '.join(map(show, self._operands))})"

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        kind = {1: "UnaryOperation", 2: "BinaryOperation"}[len(self._operands)]
        return f"{kind}({self._text(repr)})"


def _define(name: str) -> None:
    function = getattr(operator, name)

    def forward(self: Variation, other: Any) -> Variation:
        return _Operation(function, self, other)

    def backward(self: Variation, other: Any) -> Variation:
        return _Operation(function, other, self)

    setattr(Variation, f"__{name}__", forward)
    setattr(Variation, f"__r{name}__", backward)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "pow"):
    _define(_name)


class _Item(Variation):
    def __init__(self, variation: Variation, index: Any) -> None:
        self._variation, self._index = variation, index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(evaluate(self._variation, *args, **kwargs))[self._index]

    def __str__(self) -> str:
        return f"{self._variation}[{self._index}]"

    def __repr__(self) -> str:
        return f"GetItemOperation({self._variation!r}[{self._index}])"


# Values that are not random.


class Constant(Variation):
    """Always the same value."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Constant({self._value!r})"


class Sequence(Variation):
    """Values in order, again and again."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = collections.deque(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value = self._values[0]
        self._values.rotate(-1)
        return evaluate(value, *args, **kwargs)

    def __repr__(self) -> str:
        return f"Sequence({list(self._values)!r})"


class Identity(Variation):
    """The present value."""

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        return current_value

    def __repr__(self) -> str:
        return "Identity()"


# Distributions.


class Distribution(Variation):
    """A draw of a NumPy distribution, whose arguments may vary too.

    Args:
        *args: of the distribution.
        single_sample: whether one draw holds for all numbers; by default each number of the first
            value gets its own.
        **kwargs: of the distribution.
    """

    method = ""

    def __init__(self, *args: Any, single_sample: bool = False, **kwargs: Any) -> None:
        self._args, self._kwargs, self._single = args, kwargs, single_sample

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        given = initial_value, current_value, random_state
        args, kwargs = evaluate(self._args, *given), evaluate(self._kwargs, *given)
        size = None if self._single or initial_value is None else np.shape(initial_value)
        return self._draw(random_state or np.random, size or None, *args, **kwargs)

    def _draw(self, random_state: Any, size: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(random_state, self.method)(*args, size=size, **kwargs)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(args={self._args}, kwargs={self._kwargs},"
            f" single_sample={self._single})"
        )


class Uniform(Distribution):
    """Uniform between `low` and `high`."""

    method = "uniform"


class UniformInteger(Distribution):
    """Uniform among the integers from `low` to `high`, without the last."""

    method = "randint"


class UniformChoice(Distribution):
    """One of several values."""

    method = "choice"


class Normal(Distribution):
    """Gaussian with mean `loc` and deviation `scale`."""

    method = "normal"


class LogNormal(Distribution):
    """Log-normal with `mean` and `sigma` of the logarithm."""

    method = "lognormal"


class Exponential(Distribution):
    """Exponential with mean `scale`."""

    method = "exponential"


class Poisson(Distribution):
    """Poisson with mean `lam`."""

    method = "poisson"


class Bernoulli(Distribution):
    """True with a probability `prob`."""

    def _draw(self, random_state: Any, size: Any, prob: float = 0.5) -> Any:
        return random_state.binomial(1, prob, size=size)


class UniformPointOnSphere(Distribution):
    """A unit vector, each direction as likely as any other."""

    def _draw(self, random_state: Any, size: Any) -> np.ndarray:
        shape = (3,) if size is None or np.prod(size) == 3 else (*size, 3)
        vectors = random_state.normal(size=shape)
        unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        return unit


class BiasedRandomWalk(Variation):
    """A walk that is drawn back to zero: an Ornstein-Uhlenbeck process in discrete time.

    Args:
        stdev: stationary standard deviation.
        timescale: draws after which its correlation has fallen to 1/e.

    Raises:
        ValueError: one of them is negative.
    """

    def __init__(self, stdev: float = 0.1, timescale: float = 10.0) -> None:
        if stdev < 0:
            raise ValueError(NEGATIVE_STDEV.format(stdev))
        if timescale < 0:
            raise ValueError(NEGATIVE_TIMESCALE.format(timescale))
        self._stdev, self._timescale = stdev, timescale
        self._value: Any = None
        kept = np.exp(-1 / timescale) if timescale > 0 else 0.0
        self._kept, self._noise = kept, stdev * np.sqrt(1 - kept**2)

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        rng = random_state or np.random
        size = None if initial_value is None else np.shape(initial_value) or None
        if self._value is None:
            self._value = rng.normal(scale=self._stdev, size=size)
        else:
            self._value = self._kept * self._value + rng.normal(scale=self._noise, size=size)
        return self._value

    def __repr__(self) -> str:
        return f"BiasedRandomWalk(stdev={self._stdev}, timescale={self._timescale})"


# Noise.


class _Noise(Variation):
    combine: Callable[[Any, Any], Any]

    def __init__(self, variation: Any, cumulative: bool = False) -> None:
        self._variation, self._cumulative = variation, cumulative

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        base = current_value if self._cumulative else initial_value
        amount = evaluate(self._variation, initial_value, current_value, random_state)
        return type(self).combine(base, amount)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._variation!r}, cumulative={self._cumulative})"


class Additive(_Noise):
    """The first value, or the present one, plus a variation."""

    combine = staticmethod(operator.add)


class Multiplicative(_Noise):
    """The first value, or the present one, times a variation."""

    combine = staticmethod(operator.mul)


# One draw for several.


class VariationBroadcaster:
    """One variation whose values several proxies receive, each in its own time.

    Args:
        variation: the variation.
    """

    def __init__(self, variation: Any) -> None:
        self._variation = variation
        self._waiting: list[collections.deque[Any]] = []

    def get_proxy(self) -> Variation:
        """A variation that receives all values from now on."""
        queue: collections.deque[Any] = collections.deque()
        self._waiting.append(queue)
        return _Proxy(self, queue)

    def refill(self, random_state: Any) -> None:
        """Draw a value for all proxies."""
        value = evaluate(self._variation, random_state=random_state)
        for queue in self._waiting:
            queue.append(value)


class _Proxy(Variation):
    def __init__(self, broadcaster: VariationBroadcaster, queue: "collections.deque[Any]") -> None:
        self._broadcaster, self._queue = broadcaster, queue

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        if not self._queue:
            self._broadcaster.refill(random_state)
        return self._queue.popleft()

    __eq__ = object.__eq__
    __hash__ = object.__hash__


# Models and simulations.


class _Variator:
    def __init__(self) -> None:
        self._bound: dict[Any, dict[str, Any]] = {}
        self._initial: dict[Any, dict[str, Any]] = {}

    def bind_attributes(self, element: Any, **attributes: Any) -> None:
        """Vary attributes of an element, or of several.

        Args:
            element: the element, or a collection of them.
            **attributes: variations by name; None stops varying one.
        """
        key = element if isinstance(element, Element) else tuple(element)
        bound = self._bound.setdefault(key, {})
        for name, variation in attributes.items():
            if variation is None:
                bound.pop(name, None)
            else:
                bound[name] = variation

    def clear(self) -> None:
        """Stop varying everything."""
        self._bound.clear()
        self._initial.clear()

    def _vary(self, source: Any, initial: dict[str, Any], key: Any, random_state: Any) -> None:
        for name, variation in self._bound[key].items():
            current = getattr(source, name)
            first = initial.setdefault(name, None if current is None else np.copy(current))
            setattr(source, name, evaluate(variation, first, current, random_state))


class MJCFVariator(_Variator):
    """Varies attributes of elements of a model, before it is compiled."""

    def apply_variations(self, random_state: np.random.RandomState) -> None:
        """Draw all."""
        for key in self._bound:
            for element in (key,) if isinstance(key, Element) else key:
                self._vary(element, self._initial.setdefault(element, {}), key, random_state)

    def reset_initial_values(self) -> None:
        """Take the present values as first ones."""
        self._initial.clear()


class PhysicsVariator(_Variator):
    """Varies numbers of elements in a compiled model."""

    def apply_variations(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Draw all."""
        for key in self._bound:
            self._vary(physics.bind(key), self._initial.setdefault(key, {}), key, random_state)

    def reset_initial_values(self, physics: Any) -> None:
        """Put the first values back."""
        for key, values in self._initial.items():
            for name, value in values.items():
                setattr(physics.bind(key), name, value)
        self._initial.clear()
