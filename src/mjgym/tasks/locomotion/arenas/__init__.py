"""The places of the locomotion family, one file each."""

from mjgym.tasks.locomotion.arenas.arena import Arena, find_arena, register_arena

__all__ = ["Arena", "find_arena", "register_arena"]
