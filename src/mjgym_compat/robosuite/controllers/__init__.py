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
from mjgym_compat.robosuite.controllers.parts import ARM, controller_factory

# Names of arms' controllers, and what they are.
PART_CONTROLLER_INFO = {
    name: str(ARM[name].__doc__).partition("\n")[0] for name in ALL_PART_CONTROLLERS
}

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_PART_CONTROLLERS",
    "PART_CONTROLLER_INFO",
    "composite_controller_factory",
    "controller_factory",
    "load_composite_controller_config",
    "load_part_controller_config",
    "refactor_composite_controller_config",
]
