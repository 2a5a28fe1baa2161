"""Parameters of the default lane and of the slow one."""

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
    found = []
    for i, value in enumerate(values):
        chosen = i % quick == 0 if isinstance(quick, int) else value in quick
        several = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*several, marks=() if chosen else pytest.mark.slow))
    return found
