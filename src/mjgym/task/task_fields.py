"""Fields of tasks: frozen dataclasses with their fields as keyword arguments."""

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

TIMES = ("time_limit", "control_timestep", "physics_timestep")  # fields in s
LARGEST = 2**63 - 1  # whole number
WHOLE_TOLERANCE = 1e-8  # tolerance of a ratio of two times to a whole number


def steps_in(time_limit: float, control_timestep: float) -> int | None:
    """Control steps until a time limit (s), at least one; None if it is infinite.

    Raises:
        ValueError: a time is not positive, or too large a number; the message names it.
    """
    for name, seconds in (("time_limit", time_limit), ("control_timestep", control_timestep)):
        require_time(name, seconds)
    if time_limit == float("inf"):
        return None
    # Rounding must not add a step.
    return max(1, math.ceil(time_limit / control_timestep - WHOLE_TOLERANCE))


def require_time(name: str, seconds: float) -> None:
    """Raise a ValueError that begins with the name unless a time is positive, and a float."""
    if isinstance(seconds, int) and seconds > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST}, got a larger number")
    if not seconds > 0:
        raise ValueError(f"{name} must be positive, got {seconds} s")


def check_fields(cls: type[Any], values: Mapping[str, Any]) -> None:
    """Refuse invalid values of a task's fields."""
    task, annotated = cls.__name__, annotated_types(cls)
    for name, value in values.items():
        plain = value is None or isinstance(value, _PLAIN)  # objects are checked by their tasks
        if plain and name in annotated and not _fits(value, annotated[name]):
            raise TypeError(f"{task}: {name} must be {_type_name(annotated[name])}, got {value!r}")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(f"{task}: {name} must be at most {LARGEST}, got a larger number")
        if any(math.isnan(x) for x in _floats(value)):
            raise ValueError(f"{task}: {name} must be a number, got {value!r}")
    for name in TIMES:
        if name in values:
            require_time(f"{task}: {name}", values[name])


def annotated_types(cls: type[Any]) -> dict[str, Any]:
    """Annotated types of a class's fields; {} if a name in them cannot be resolved."""
    try:
        return typing.get_type_hints(cls)
    except NameError:  # imported under TYPE_CHECKING
        return {}


_TAKEN: dict[Any, tuple[type[Any], ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
    type(None): (type(None),),
}
_PLAIN = (str, bool, int, float, np.generic, np.ndarray, list, tuple, dict)
_TYPE_NAMES = {float: "a number", int: "a whole number", bool: "True or False", str: "text"}


def _fits(value: Any, annotated: Any) -> bool:
    """Tell whether a value matches an annotation; True unless the annotation is a plain type."""
    origin, arguments = typing.get_origin(annotated), typing.get_args(annotated)
    if annotated in _TAKEN:
        is_bool = isinstance(value, bool | np.bool_)
        return isinstance(value, _TAKEN[annotated]) and is_bool == (annotated is bool)
    if origin is typing.Literal:
        return value in arguments
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is tuple:  # a list in JSON
        if not isinstance(value, list | tuple | np.ndarray):
            return False
        parts = arguments[:1] * len(value) if arguments[-1:] == (...,) else arguments
        return len(value) == len(parts) and all(map(_fits, value, parts))
    return True


def _type_name(annotated: Any) -> str:
    origin, arguments = typing.get_origin(annotated), typing.get_args(annotated)
    if annotated in _TYPE_NAMES:
        return _TYPE_NAMES[annotated]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(one) for one in arguments)
    if origin is typing.Literal:
        return " or ".join(map(repr, arguments))
    if origin is tuple and arguments[-1:] == (...,):
        return f"a sequence, each {_type_name(arguments[0])}"
    if origin is tuple:
        return f"a sequence of {len(arguments)}, each {_type_name(arguments[0])}"
    return "None" if annotated is type(None) else getattr(annotated, "__name__", str(annotated))


def _floats(value: Any) -> Iterator[float]:
    """The floating-point numbers in a value, including those in containers and arrays."""
    if isinstance(value, float | np.floating):
        yield float(value)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield from value.ravel().tolist()
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _floats(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _floats(part)


class Fields:
    """A frozen dataclass with inherited fields that subclasses may assign other defaults."""

    def __init_subclass__(cls) -> None:
        """Let `time_limit = 10.0` in a class body set an inherited field's default."""
        super().__init_subclass__()
        bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
        inherited = {f.name: f for base in reversed(bases) for f in dataclasses.fields(base)}
        annotations = dict(inspect.get_annotations(cls))
        for name in inherited.keys() & vars(cls).keys():
            annotations.setdefault(name, inherited[name].type)
            if inherited[name].kw_only and not isinstance(vars(cls)[name], dataclasses.Field):
                # Otherwise the field would become the first positional argument.
                setattr(cls, name, dataclasses.field(default=vars(cls)[name], kw_only=True))
        cls.__annotations__ = annotations

    @classmethod
    def adopt(cls, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Keyword arguments of an id as fields of the class, for a task that consists of parts.

        A task may accept its parts' fields; unknown arguments are kept.

        Returns:
            The arguments, and the names of the parts' fields.
        """
        return dict(arguments), ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class with fields that lacks the dataclass decorator."""
        if "__dataclass_params__" not in vars(cls) and inspect.get_annotations(cls):
            raise TypeError(
                f"{cls.__name__} has fields: put @dataclass(frozen=True) above the class"
            )
        return super().__new__(cls)
