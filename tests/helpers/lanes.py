"""Parameters of the default lane, of the slow one, and of the nightly one."""

import datetime
from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], quick: Collection[Any] | int) -> list[Any]:
    """The values, tuples for several names, as parameters of which only some are quick.

    Args:
        values: of a parameter.
        quick: the values that the default lane takes, or a number n for the first, and each n-th
            after it.
    """
    return [
        _parameter(value, i % quick == 0 if isinstance(quick, int) else value in quick, "slow")
        for i, value in enumerate(values)
    ]


def mostly_nightly(values: Iterable[Any], every: int, quick: Collection[Any] = ()) -> list[Any]:
    """The values, tuples for several names, as parameters: a part is slow, the rest nightly.

    Args:
        values: of a parameter.
        every: each n-th is slow, others on another day, so that all are within n days.
        quick: the values that the default lane takes.
    """
    day = datetime.date.today().toordinal()
    return [
        _parameter(value, value in quick, "slow" if (i + day) % every == 0 else "nightly")
        for i, value in enumerate(values)
    ]


def _parameter(value: Any, quick: bool, lane: str) -> Any:
    several = value if isinstance(value, tuple) else (value,)
    return pytest.param(*several, marks=() if quick else getattr(pytest.mark, lane))
