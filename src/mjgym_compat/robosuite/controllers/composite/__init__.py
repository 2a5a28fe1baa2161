"""Whole-robot configurations under the names of `robosuite.controllers.composite`."""

from mjgym_compat.robosuite.controllers import ALL_COMPOSITE_CONTROLLERS

__all__ = ["ALL_COMPOSITE_CONTROLLERS"]
