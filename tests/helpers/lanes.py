"""Parameters of the default lane, of the slow one, and of the nightly one."""

import datetime
from collections.abc import Collection, Iterable
from typing import Any

import pytest

DAYS = 7  # within which CI takes all values that neither lane holds each day


def mostly_slow(values: Iterable[Any], quick: Collection[Any] | int) -> list[Any]:
    """The values, tuples for several names, as parameters of which only some are quick.

    CI takes all of them each day, as of what tasks promise.

    Args:
        values: of a parameter.
        quick: the values that the default lane takes, or a number n for the first, and each n-th
            after it.
    """
    return mostly_nightly(values, 1, quick)


def mostly_nightly(
    values: Iterable[Any], every: int = DAYS, quick: Collection[Any] | int = ()
) -> list[Any]:
    """The values, tuples for several names, as parameters: a part is slow, the rest nightly.

    Args:
        values: of a parameter.
        every: each n-th is slow, others on another day, so that all are within n days.
        quick: as in `mostly_slow`.
    """
    parameters = []
    for i, value in enumerate(values):
        chosen = i % quick == 0 if isinstance(quick, int) else value in quick
        several = value if isinstance(value, tuple) else (value,)
        parameters.append(pytest.param(*several, marks=() if chosen else [lane(i, every)]))
    return parameters


def lane(i: int, every: int = DAYS) -> pytest.MarkDecorator:
    """The mark of the i-th value: slow on one of `every` days, nightly on the others."""
    day = datetime.date.today().toordinal()
    return pytest.mark.nightly if (i + day) % every else pytest.mark.slow
