"""Stand-in for labmaze, which has no wheel for Python 3.13 and newer: our mazes in its words.

It draws other mazes than labmaze from the same seed, and its textures are plain colours.
"""

import functools
import sys
import tempfile
import weakref
from collections import namedtuple
from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np

from mjgym.tasks.locomotion import floor_plans

SPAWN_TOKEN, OBJECT_TOKEN = "P", "G"
MAX_ROOMS, ROOM_MIN_SIZE, ROOM_MAX_SIZE = 4, 3, 5
SPAWN_COUNT = OBJECT_COUNT = 0  # in each room
MAX_VARIATIONS, SIMPLIFY = 26, True
_FREE, _PLAIN = " ", "."
_SIDE = 8  # of textures, in pixels
_WALL, _FLOOR, _SKY = (184, 158, 122), (107, 112, 120), (140, 178, 217)

assets = defaults = fixed_maze = sys.modules[__name__]


def TextGrid(text: str) -> np.ndarray:
    return np.array([list(row) for row in text.strip("\n").split("\n")])


class BaseMaze:
    """A maze as two layers of characters: the contents of each cell, and its floor's look."""

    spawn_token, object_token = SPAWN_TOKEN, OBJECT_TOKEN
    entity_layer: np.ndarray
    variations_layer: np.ndarray

    def regenerate(self) -> None:
        """Draw the maze again."""

    @property
    def height(self) -> int:
        return len(self.entity_layer)

    @property
    def width(self) -> int:
        return int(self.entity_layer.shape[1])


class RandomMaze(BaseMaze):
    """A maze of rooms and corridors, drawn by `floor_plans.random_maze`."""

    def __init__(
        self,
        height: int = 11,
        width: int = 11,
        max_rooms: int = MAX_ROOMS,
        room_min_size: int = ROOM_MIN_SIZE,
        room_max_size: int = ROOM_MAX_SIZE,
        max_variations: int = MAX_VARIATIONS,
        spawns_per_room: int = SPAWN_COUNT,
        objects_per_room: int = OBJECT_COUNT,
        simplify: bool = SIMPLIFY,
        random_seed: int | None = None,
    ) -> None:
        if not simplify:
            raise ValueError("simplify: only True is supported")
        self.max_variations = max_variations
        side = room_min_size + (room_min_size + 1) % 2  # rooms have odd sides
        self._draw = functools.partial(
            floor_plans.random_maze, np.random.default_rng(random_seed), height, width,
            max_rooms=max_rooms, room_side=side,
            room_stretch=max(0, (room_max_size - side) // 2 * 2),
            spawns_per_room=spawns_per_room, targets_per_room=objects_per_room,
        )  # fmt: skip
        self.regenerate()

    def regenerate(self) -> None:
        maze = self._draw()
        self.entity_layer = TextGrid("\n".join(maze.rows))
        letters = self.variations_layer = TextGrid("\n".join(maze.letters))
        letters[letters >= chr(ord("A") + self.max_variations)] = _PLAIN


class FixedMazeWithRandomGoals(BaseMaze):
    """Starts and objects in a maze's free cells, first in those that its text marks for them.

    Without their numbers, there are as many as marked cells.
    """

    def __init__(
        self,
        entity_layer: str,
        variations_layer: str | None = None,
        num_spawns: int | None = None,
        spawn_token: str = SPAWN_TOKEN,
        num_objects: int | None = None,
        object_token: str = OBJECT_TOKEN,
        random_state: Any = None,
    ) -> None:
        self.spawn_token, self.object_token = spawn_token, object_token
        entities = self.entity_layer = TextGrid(entity_layer)
        letters = np.full_like(entities, _PLAIN)
        self.variations_layer = TextGrid(variations_layer) if variations_layer else letters
        if self.variations_layer.shape != entities.shape:
            raise ValueError(f"variations_layer: its shape is not {entities.shape}")
        self._random = np.random if random_state is None else random_state
        self._marked = {t: np.argwhere(entities == t) for t in (spawn_token, object_token)}
        self._free = np.argwhere(entities == _FREE)
        numbers = {spawn_token: num_spawns, object_token: num_objects}
        self._counts = {t: len(self._marked[t]) if n is None else n for t, n in numbers.items()}
        self.regenerate()

    def regenerate(self) -> None:
        entities = self.entity_layer
        free = self._random.permutation(self._free).tolist()
        for cells in self._marked.values():
            entities[tuple(cells.T)] = _FREE
        for token, cells in self._marked.items():
            places = self._random.permutation(cells).tolist()[: self._counts[token]]
            while len(places) < self._counts[token]:
                places.append(free.pop())
            for i, j in places:
                entities[i, j] = token


SkyTextures = namedtuple("SkyTextures", "left right up down front back")  # files of a sky's sides


def get_sky_texture_paths(style: str) -> SkyTextures:
    return SkyTextures(*[_texture(*_SKY)] * 6)


def get_wall_texture_paths(style: str) -> dict[str, str]:
    return {"wall": _texture(*_WALL)}


def get_floor_texture_paths(style: str) -> dict[str, str]:
    return {"floor": _texture(*_FLOOR)}


@functools.cache
def _texture(*colour: int) -> str:
    """Path of a plain texture, which is written on first use and removed at the end."""
    place = tempfile.TemporaryDirectory(prefix="mjgym_labmaze")
    weakref.finalize(assets, place.cleanup)
    path = Path(place.name, "plain.png")
    imageio.v3.imwrite(path, np.full((_SIDE, _SIDE, 3), colour, np.uint8))
    return str(path)
