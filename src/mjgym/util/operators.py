"""Arithmetic operators of classes that join operands to expressions."""

import operator
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def methods(
    symbol: str, join: Callable[[str, Any, Any], T]
) -> tuple[Callable[[Any, Any], T], Callable[[Any, Any], T]]:
    """The special methods of an operator: `__add__` and `__radd__` for "+"."""

    def method(self: Any, other: Any) -> T:
        return join(symbol, self, other)

    def reflected(self: Any, other: Any) -> T:
        return join(symbol, other, self)

    return method, reflected
