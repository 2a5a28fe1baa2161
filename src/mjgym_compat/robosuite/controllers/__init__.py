"""Controllers of a robot's parts and of whole robots, and their configurations."""

from mjgym_compat.robosuite.controllers.composite import (
    ALL_COMPOSITE_CONTROLLERS,
    composite_controller_factory,
)
from mjgym_compat.robosuite.controllers.configs import (
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym_compat.robosuite.controllers.parts import controller_factory

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_PART_CONTROLLERS",
    "composite_controller_factory",
    "controller_factory",
    "load_composite_controller_config",
    "load_part_controller_config",
    "refactor_composite_controller_config",
]
