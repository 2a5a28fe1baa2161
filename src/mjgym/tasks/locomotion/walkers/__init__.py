"""The creatures of the locomotion family, one file each."""

from mjgym.tasks.locomotion.walkers.any_walker import (
    Walker,
    find_walker,
    register_walker,
    walker_names,
)

__all__ = ["Walker", "find_walker", "register_walker", "walker_names"]
