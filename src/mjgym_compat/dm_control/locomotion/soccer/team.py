"""Teams and their players."""

import enum
from typing import Any, NamedTuple

RGBA_BLUE = (0.1, 0.1, 0.8, 1.0)
RGBA_RED = (0.8, 0.1, 0.1, 1.0)
MOST = 10  # largest number of a player
INVALID_WALKER_ID = "walker_id must be in [0-10], got: {}."


class Team(enum.Enum):
    """A team; the home team defends the goal at negative x."""

    HOME = 0
    AWAY = 1


class Player(NamedTuple):
    """A walker in a team."""

    team: Team
    walker: Any


def require_number(walker_id: int | None) -> None:
    """Raise ValueError unless a player's number is None or from 0 to 10."""
    if walker_id is not None and not 0 <= walker_id <= MOST:
        raise ValueError(INVALID_WALKER_ID.format(walker_id))
