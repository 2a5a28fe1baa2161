"""Walkers of the published tasks, and base classes for your own."""

from mjgym_compat.dm_control.locomotion.walkers.ant import Ant
from mjgym_compat.dm_control.locomotion.walkers.cmu_humanoid import (
    CMUHumanoid,
    CMUHumanoidPositionControlled,
    CMUHumanoidPositionControlledV2020,
)
from mjgym_compat.dm_control.locomotion.walkers.jumping_ball import (
    JumpingBallWithHead,
    RollingBallWithHead,
)
from mjgym_compat.dm_control.locomotion.walkers.rodent import Rat

__all__ = [
    "Ant",
    "CMUHumanoid",
    "CMUHumanoidPositionControlled",
    "CMUHumanoidPositionControlledV2020",
    "JumpingBallWithHead",
    "Rat",
    "RollingBallWithHead",
]
