"""Whole-robot configurations under the published module's name."""

from mjgym_compat.robosuite.controllers import (
    load_composite_controller_config,
    refactor_composite_controller_config,
)

__all__ = ["load_composite_controller_config", "refactor_composite_controller_config"]
