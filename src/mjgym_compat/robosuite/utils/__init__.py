"""Samplers, cameras and rotations under the names of `robosuite.utils`."""

from mjgym_compat.robosuite.utils.errors import (
    RandomizationError,
    SimulationError,
    XMLError,
    robosuiteError,
)

__all__ = ["RandomizationError", "SimulationError", "XMLError", "robosuiteError"]
