"""Functions of variations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate


class MathOp(Variation):
    """A function of variations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._args, self._kwargs = args, kwargs

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        given = initial_value, current_value, random_state
        return self._callable(*evaluate(self._args, *given), **evaluate(self._kwargs, *given))

    @property
    def _callable(self) -> Callable[..., Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(args={self._args}, kwargs={self._kwargs})"


class Log(MathOp):
    """The natural logarithm."""

    _callable = staticmethod(np.log)


class Max(MathOp):
    """The largest number of an array."""

    _callable = staticmethod(np.max)


class Min(MathOp):
    """The smallest number of an array."""

    _callable = staticmethod(np.min)


class Norm(MathOp):
    """The norm of an array."""

    _callable = staticmethod(np.linalg.norm)
