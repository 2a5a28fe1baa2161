"""Arenas: floors, corridors, bowls and mazes."""

from mjgym_compat.dm_control.locomotion.arenas.bowl import Bowl
from mjgym_compat.dm_control.locomotion.arenas.corridors import (
    EmptyCorridor,
    GapsCorridor,
    WallsCorridor,
)
from mjgym_compat.dm_control.locomotion.arenas.floors import Floor
from mjgym_compat.dm_control.locomotion.arenas.labmaze_textures import (
    FloorTextures,
    SkyBox,
    WallTextures,
)
from mjgym_compat.dm_control.locomotion.arenas.mazes import MazeWithTargets, RandomMazeWithTargets
from mjgym_compat.dm_control.locomotion.arenas.padded_room import PaddedRoom

__all__ = [
    "Bowl",
    "EmptyCorridor",
    "Floor",
    "FloorTextures",
    "GapsCorridor",
    "MazeWithTargets",
    "PaddedRoom",
    "RandomMazeWithTargets",
    "SkyBox",
    "WallTextures",
    "WallsCorridor",
]
