"""Matches of soccer: `soccer.load(team_size=2)`."""

import enum

from mjgym_compat.dm_env import load_soccer as load

__all__ = ["WalkerType", "load"]


class WalkerType(enum.Enum):
    """Walkers of the players."""

    BOXHEAD = 0
    ANT = 1
    HUMANOID = 2
