"""Teams and their players."""

import enum
from typing import Any, NamedTuple

RGBA_BLUE = (0.1, 0.1, 0.8, 1.0)
RGBA_RED = (0.8, 0.1, 0.1, 1.0)


class Team(enum.Enum):
    """A team; the home team defends the goal at negative x."""

    HOME = 0
    AWAY = 1


class Player(NamedTuple):
    """A walker in a team."""

    team: Team
    walker: Any
