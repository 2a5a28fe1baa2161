"""Controller configurations under the names of `robosuite.controllers`."""

from mjgym_compat.robosuite.controllers.configurations import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_PART_CONTROLLERS",
    "load_composite_controller_config",
    "load_part_controller_config",
    "refactor_composite_controller_config",
]
