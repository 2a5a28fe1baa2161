"""Numbers that arguments ask for."""

from typing import Any

import numpy as np


def whole_number(argument: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """The value, if it is a whole number within bounds.

    Args:
        argument: name of it, for the message.
        value: as given.
        least: the smallest that may be.
        most: the largest that may be; None for no bound.

    Raises:
        ValueError: it is no whole number, or out of bounds; the message begins with the argument.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{argument}: must be a whole number, got {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{argument}: must be from {least} to {most}, got {value}")
    if value < least:
        raise ValueError(f"{argument}: must be at least {least}, got {value}")
    return int(value)
