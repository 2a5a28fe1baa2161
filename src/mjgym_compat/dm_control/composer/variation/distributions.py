"""Distributions of NumPy as variations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate

_NEGATIVE_STDEV = "`stdev` must be >= 0, got {}"
_NEGATIVE_TIMESCALE = "`timescale` must be >= 0, got {}"


class Distribution(Variation):
    """A draw from a NumPy distribution; its arguments may be variations.

    Args:
        single_sample: whether one draw holds for all numbers; by default each number of the first
            value gets its own.
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
        return self._callable(random_state or np.random)(*args, size=size or None, **kwargs)

    def _callable(self, random_state: Any) -> Callable[..., Any]:
        """The function that draws, with an argument `size`."""
        function: Callable[..., Any] = getattr(random_state, self.method)
        return function

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(args={self._args}, kwargs={self._kwargs},"
            f" single_sample={self._single})"
        )


class Uniform(Distribution):
    """Uniform between `low` and `high`."""

    method = "uniform"


class UniformInteger(Distribution):
    """Uniform integers from `low` (inclusive) to `high` (exclusive)."""

    method = "randint"


class UniformChoice(Distribution):
    """A uniform choice among several values."""

    method = "choice"


class Normal(Distribution):
    """Gaussian with mean `loc` and standard deviation `scale`."""

    method = "normal"


class LogNormal(Distribution):
    """Log-normal; `mean` and `sigma` are those of the logarithm."""

    method = "lognormal"


class Exponential(Distribution):
    """Exponential with mean `scale`."""

    method = "exponential"


class Poisson(Distribution):
    """Poisson with mean `lam`."""

    method = "poisson"


class Bernoulli(Distribution):
    """True with probability `prob`."""

    def _callable(self, random_state: Any) -> Callable[..., Any]:
        return lambda prob=0.5, size=None: random_state.binomial(1, prob, size=size)


class UniformPointOnSphere(Distribution):
    """A unit vector, uniform on the sphere."""

    def _callable(self, random_state: Any) -> Callable[..., Any]:
        def draw(size: Any) -> np.ndarray:
            shape = (3,) if size is None or np.prod(size) == 3 else (*size, 3)
            vectors = random_state.normal(size=shape)
            unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
            return unit

        return draw


class BiasedRandomWalk(Variation):
    """A walk that is drawn back to zero: an Ornstein-Uhlenbeck process in discrete time."""

    def __init__(self, stdev: float = 0.1, timescale: float = 10.0) -> None:
        if stdev < 0:
            raise ValueError(_NEGATIVE_STDEV.format(stdev))
        if timescale < 0:
            raise ValueError(_NEGATIVE_TIMESCALE.format(timescale))
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
