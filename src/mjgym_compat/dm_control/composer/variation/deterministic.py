"""Values that are not random."""

import collections
from collections.abc import Iterable
from typing import Any

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate


class Constant(Variation):
    """A constant value."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Constant({self._value!r})"


class Sequence(Variation):
    """Values in order, repeated cyclically."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = collections.deque(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value = self._values[0]
        self._values.rotate(-1)
        return evaluate(value, *args, **kwargs)

    def __repr__(self) -> str:
        return f"Sequence({list(self._values)!r})"


class Identity(Variation):
    """The current value."""

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        return current_value

    def __repr__(self) -> str:
        return "Identity()"
