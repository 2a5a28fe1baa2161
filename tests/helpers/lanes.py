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
    return mostly_nightly(values, 1, quick)


def mostly_nightly(
    values: Iterable[Any], every: int, quick: Collection[Any] | int = ()
) -> list[Any]:
    """The values, tuples for several names, as parameters: a part is slow, the rest nightly.

    Args:
        values: of a parameter.
        every: each n-th is slow, others on another day, so that all are within n days.
        quick: as in `mostly_slow`.
    """
    day = datetime.date.today().toordinal()
    return [
        _parameter(
            value,
            i % quick == 0 if isinstance(quick, int) else value in quick,
            (i + day) % every == 0,
        )
        for i, value in enumerate(values)
    ]


def _parameter(value: Any, quick: bool, today: bool) -> Any:
    several = value if isinstance(value, tuple) else (value,)
    marks = () if quick else pytest.mark.slow if today else pytest.mark.nightly
    return pytest.param(*several, marks=marks)
