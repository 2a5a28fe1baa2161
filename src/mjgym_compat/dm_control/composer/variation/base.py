"""Variations: values redrawn in each episode, in arithmetic and as attributes of models."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def evaluate(
    structure: Any, initial_value: Any = None, current_value: Any = None, random_state: Any = None
) -> Any:
    """Evaluate the variations in nested lists, tuples and dictionaries."""

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
    """A value that is drawn, given the initial and the current one.

    Variations can be added, subtracted, multiplied, divided, raised to powers and indexed.
    """

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        """Draw a value.

        Args:
            initial_value: the value before any draw.
            random_state: a `np.random.RandomState`, by default NumPy's global one.
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
