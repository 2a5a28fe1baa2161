"""Variations about the initial or the current value."""

import operator
from collections.abc import Callable
from typing import Any

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate


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
    """The initial or current value plus a variation."""

    combine = staticmethod(operator.add)


class Multiplicative(_Noise):
    """The initial or current value times a variation."""

    combine = staticmethod(operator.mul)
