"""The places of the locomotion family, one file each."""

import importlib
import pkgutil

from mjgym.tasks.locomotion.arenas.arena import Arena, find_arena, register_arena

__all__ = ["Arena", "find_arena", "register_arena"]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
