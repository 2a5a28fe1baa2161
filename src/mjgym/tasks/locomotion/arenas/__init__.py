"""The places of the locomotion family, one file each."""

from mjgym.tasks.locomotion.arenas.any_arena import PLACED, Arena, find_arena, register_arena

__all__ = ["PLACED", "Arena", "find_arena", "register_arena"]
