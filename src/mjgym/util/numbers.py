"""Checks of numeric arguments."""

from typing import Any

import numpy as np


def whole_number(argument: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """The value, checked to be a whole number within bounds.

    Args:
        argument: its name, for the message.
        least: lower bound.
        most: upper bound; None for no bound.

    Raises:
        ValueError: not a whole number, or out of bounds; the message begins with the argument.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{argument}: must be a whole number, got {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{argument}: must be from {least} to {most}, got {value}")
    if value < least:
        raise ValueError(f"{argument}: must be at least {least}, got {value}")
    return int(value)
