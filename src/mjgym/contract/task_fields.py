"""The fields of a task: a frozen dataclass whose fields are its keyword arguments."""

import dataclasses
import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

WHOLE = 1e-8  # how far a ratio of two times may be from a whole number


def steps_in(time_limit: float, control_timestep: float) -> int | None:
    """Control steps until a time limit (s); None if it is infinite."""
    if time_limit == float("inf"):
        return None
    # The first step whose time reaches the limit; rounding must not add one.
    return math.ceil(time_limit / control_timestep - WHOLE)


def check_fields(task: str, values: Mapping[str, Any]) -> None:
    """Refuse numbers with which no task can run.

    Args:
        task: name of the class.
        values: of some of its fields, by name.

    Raises:
        ValueError: one is not a number (NaN), or a time is not positive; the message names it.
    """
    for name, value in values.items():
        if any(math.isnan(x) for x in _floats(value)):
            raise ValueError(f"{task}: {name} must be a number, got {value!r}")
    for name in ("time_limit", "control_timestep"):
        if name in values and not values[name] > 0:
            raise ValueError(f"{task}: {name} must be positive, got {values[name]} s")


def _floats(value: Any) -> Iterator[float]:
    """The floating-point numbers in a value, in sequences, mappings and arrays as well."""
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
    """A frozen dataclass whose subclasses give inherited fields other defaults by assignment."""

    def __init_subclass__(cls) -> None:
        """Let `time_limit = 10.0` in a class body give an inherited field its default."""
        super().__init_subclass__()
        bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
        inherited = {f.name: f for base in reversed(bases) for f in dataclasses.fields(base)}
        annotations = dict(inspect.get_annotations(cls))
        for name in inherited.keys() & vars(cls).keys():
            annotations.setdefault(name, inherited[name].type)
            if inherited[name].kw_only and not isinstance(vars(cls)[name], dataclasses.Field):
                # Without this the field would become the first positional argument.
                setattr(cls, name, dataclasses.field(default=vars(cls)[name], kw_only=True))
        cls.__annotations__ = annotations

    @classmethod
    def adopt(cls, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Keyword arguments of an id as those of the class, for a task with parts of its own.

        A task may take fields of a part as if they were its own; what it does not know, it leaves
        as it is.

        Returns:
            The arguments, and the names of the parts' fields that it takes.
        """
        return dict(arguments), ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class whose fields are none of its own, because no dataclass was made of it."""
        if "__dataclass_params__" not in vars(cls) and inspect.get_annotations(cls):
            raise TypeError(
                f"{cls.__name__} has fields: put @dataclass(frozen=True) above the class"
            )
        return super().__new__(cls)
