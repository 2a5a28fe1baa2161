"""Soccer: matches of two teams, and the parts to build your own."""

import enum
from typing import Any

from mjgym_compat import dm_env
from mjgym_compat.dm_control.locomotion.soccer.boxhead import BoxHead
from mjgym_compat.dm_control.locomotion.soccer.humanoid import Humanoid
from mjgym_compat.dm_control.locomotion.soccer.initializers import Initializer, UniformInitializer
from mjgym_compat.dm_control.locomotion.soccer.observables import (
    CoreObservablesAdder,
    InterceptionObservablesAdder,
    MultiObservablesAdder,
    ObservablesAdder,
)
from mjgym_compat.dm_control.locomotion.soccer.pitch import (
    MINI_FOOTBALL_GOAL_SIZE,
    MINI_FOOTBALL_MAX_AREA_PER_HUMANOID,
    MINI_FOOTBALL_MIN_AREA_PER_HUMANOID,
    Goal,
    Pitch,
    RandomizedPitch,
)
from mjgym_compat.dm_control.locomotion.soccer.soccer_ball import SoccerBall, regulation_soccer_ball
from mjgym_compat.dm_control.locomotion.soccer.task import MultiturnTask, Task
from mjgym_compat.dm_control.locomotion.soccer.team import RGBA_BLUE, RGBA_RED, Player, Team
from mjgym_compat.dm_soccer import SoccerEnv


class WalkerType(enum.Enum):
    """Walkers of the players."""

    BOXHEAD = 0
    ANT = 1
    HUMANOID = 2


def load(
    team_size: int,
    time_limit: float = 45.0,
    random_state: Any = None,
    disable_walker_contacts: bool = False,
    enable_field_box: bool = False,
    keep_aspect_ratio: bool = False,
    terminate_on_goal: bool = True,
    walker_type: WalkerType = WalkerType.BOXHEAD,
) -> SoccerEnv:
    """The registered match as a `dm_env.Environment`; see `mjgym_compat.dm_env.load_soccer`."""
    return dm_env.load_soccer(
        team_size,
        time_limit,
        random_state,
        disable_walker_contacts=disable_walker_contacts,
        enable_field_box=enable_field_box,
        keep_aspect_ratio=keep_aspect_ratio,
        terminate_on_goal=terminate_on_goal,
        walker_type=walker_type.name.lower(),
    )


__all__ = [
    "MINI_FOOTBALL_GOAL_SIZE",
    "MINI_FOOTBALL_MAX_AREA_PER_HUMANOID",
    "MINI_FOOTBALL_MIN_AREA_PER_HUMANOID",
    "RGBA_BLUE",
    "RGBA_RED",
    "BoxHead",
    "CoreObservablesAdder",
    "Goal",
    "Humanoid",
    "Initializer",
    "InterceptionObservablesAdder",
    "MultiObservablesAdder",
    "MultiturnTask",
    "ObservablesAdder",
    "Pitch",
    "Player",
    "RandomizedPitch",
    "SoccerBall",
    "Task",
    "Team",
    "UniformInitializer",
    "WalkerType",
    "load",
    "regulation_soccer_ball",
]
