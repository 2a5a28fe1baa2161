"""Tasks of locomotion."""

from mjgym_compat.dm_control.locomotion.tasks.corridors import RunThroughCorridor
from mjgym_compat.dm_control.locomotion.tasks.escape import Escape
from mjgym_compat.dm_control.locomotion.tasks.go_to_target import GoToTarget
from mjgym_compat.dm_control.locomotion.tasks.random_goal_maze import (
    ManyGoalsMaze,
    ManyHeterogeneousGoalsMaze,
    NullGoalMaze,
    RepeatSingleGoalMaze,
    RepeatSingleGoalMazeAugmentedWithTargets,
)
from mjgym_compat.dm_control.locomotion.tasks.reach import TwoTouch, TwoTouchState

__all__ = [
    "Escape",
    "GoToTarget",
    "ManyGoalsMaze",
    "ManyHeterogeneousGoalsMaze",
    "NullGoalMaze",
    "RepeatSingleGoalMaze",
    "RepeatSingleGoalMazeAugmentedWithTargets",
    "RunThroughCorridor",
    "TwoTouch",
    "TwoTouchState",
]
