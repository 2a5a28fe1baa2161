"""Props that walkers look for."""

from mjgym_compat.dm_control.locomotion.props.target_sphere import (
    TargetSphere,
    TargetSphereTwoTouch,
)

__all__ = ["TargetSphere", "TargetSphereTwoTouch"]
