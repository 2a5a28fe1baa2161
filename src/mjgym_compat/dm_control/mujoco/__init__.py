"""A model and its state under dm_control's names: `Physics`."""

from mjgym_compat.dm_control.mujoco.named_physics import Physics, PhysicsError

__all__ = ["Physics", "PhysicsError"]
