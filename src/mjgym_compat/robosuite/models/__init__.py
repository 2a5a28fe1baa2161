"""Robots, grippers, objects and scenes under the names of `robosuite.models`."""

from mjgym.util.packaged import assets
from mjgym_compat.robosuite.models.world import MujocoWorldBase

assets_root = str(assets())
"""The folder of this package's models."""

__all__ = ["MujocoWorldBase", "assets_root"]
