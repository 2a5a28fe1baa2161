"""Values of arguments and settings: checked, converted to annotated types, as plain data."""

import contextlib
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from mjgym.util.bounded import literal
from mjgym.util.suggestions import did_you_mean


def whole_number(argument: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """The value, checked to be a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{argument}: must be a whole number, got {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{argument}: must be from {least} to {most}, got {value}")
    if value < least:
        raise ValueError(f"{argument}: must be at least {least}, got {value}")
    return int(value)


def positive(argument: str, value: Any) -> None:
    if not value > 0:
        raise ValueError(f"{argument}: must be positive, got {value!r}")


def not_negative(argument: str, value: Any) -> None:
    if not value >= 0:
        raise ValueError(f"{argument}: must not be negative, got {value!r}")


def one_of(argument: str, value: object, known: Collection[object]) -> None:
    """Refuse a value that is not known, with the nearest known one."""
    if value not in known:
        words = [str(word) for word in known]
        near = did_you_mean(value, words)
        raise ValueError(f"{argument}: {value!r} is none of {', '.join(words)}{near}")


def unmasked(argument: str, value: Any) -> Any:
    """The value, a masked array without masked entries as a plain one."""
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if (masked := np.argwhere(np.ma.getmaskarray(value))).size:
        raise ValueError(f"{argument}: a number is masked, at index {masked[0].tolist()}")
    return value.data


def plain(value: Any) -> Any:
    """A value as JSON holds it: lists for arrays and tuples, and text for other objects."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    return value if isinstance(value, str | bool | int | float | None) else str(value)


_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_WORDS: dict[Any, dict[str, Any]] = {
    bool: dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False),
    types.NoneType: {"none": None},
}


def convert(value: Any, hint: Any) -> Any:
    """A value as one of an annotated type; a text may be a literal of that type.

    Integers may be written 1e6, booleans yes and no, and tuples as lists.
    """
    try:
        return _converted(value, hint)
    except (KeyError, OverflowError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(value) from error


def _converted(value: Any, hint: Any) -> Any:
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind is Any:
        return value
    if kind in (typing.Union, types.UnionType):
        for each in inner:
            with contextlib.suppress(ValueError):
                return convert(value, each)
        raise ValueError(value)
    if kind is typing.Literal:
        return value if value in inner else {str(word): word for word in inner}[value]
    if kind in (int, float):
        return _number(value, kind)
    if isinstance(value, str) and kind is not str:
        words = _WORDS.get(kind)
        value = words[value.strip().lower()] if words else literal(value)
    if kind is tuple and isinstance(value, list | tuple):
        kinds = inner[:1] * len(value) if Ellipsis in inner else inner or (Any,) * len(value)
        value = tuple(_converted(item, each) for item, each in zip(value, kinds, strict=True))
    elif kind is dict and isinstance(value, Mapping):
        value = {str(name): item for name, item in value.items()}
    if isinstance(kind, type) and not isinstance(value, kind):
        raise ValueError(value)
    return value


def _number(value: Any, kind: type) -> Any:
    if kind is int and isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
    number = value if isinstance(value, int) else float(value)
    if isinstance(value, bool) or (kind is int and number != int(number)):
        raise ValueError(value)
    return kind(number)
