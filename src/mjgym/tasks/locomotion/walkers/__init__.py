"""The creatures of the locomotion family, one file each."""

import importlib
import pkgutil

from mjgym.tasks.locomotion.walkers.walker import Walker, find_walker, register_walker

__all__ = ["Walker", "find_walker", "register_walker"]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
