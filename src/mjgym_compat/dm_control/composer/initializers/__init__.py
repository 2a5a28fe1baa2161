"""Initializers: parts of the state at an episode's start."""

from mjgym_compat.dm_control.composer.initializers import utils
from mjgym_compat.dm_control.composer.initializers.prop_initializer import PropPlacer
from mjgym_compat.dm_control.composer.initializers.tcp_initializer import ToolCenterPointInitializer

__all__ = ["PropPlacer", "ToolCenterPointInitializer", "utils"]
