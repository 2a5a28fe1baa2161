"""Loading and composing models on `mujoco.MjSpec`, and where the package's own MJCF lies."""

from mjgym.mjcf.assets import asset_path
from mjgym.mjcf.compose import Spec, add, load, remove, without_textures

__all__ = ["Spec", "add", "asset_path", "load", "remove", "without_textures"]
