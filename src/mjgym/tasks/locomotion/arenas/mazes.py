"""Mazes for foraging: rooms and corridors redrawn for each episode, or one open square."""

import itertools
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.mjcf import Spec, add, load, published_look
from mjgym.mjcf.coats import COVERED
from mjgym.mjcf.textures import add_texture, layers, slabs
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import PLACED, Arena, register_arena
from mjgym.tasks.locomotion.floor_plans import (
    Maze,
    OPEN_7x7,
    cell_centre,
    random_maze,
    scatter_targets,
    walls,
)

CAMERA_HEIGHT = 100.0  # m, of the camera above it
WALL_PICTURE = "assets/style_01/wall_blue_d.png"  # of labmaze
MARGIN = 1.1  # view of the camera relative to the maze
FEWEST_CELLS = 7  # each way: a room has up to 5, between walls
PARKED = -50.0  # m, height of unused parts, below the ground
TILE = 0.001  # m, half the thickness of the room floors' tiles
WALL_COLOUR = (0.72, 0.62, 0.48, 1.0)
FLOOR_COLOUR = (0.42, 0.44, 0.47, 1.0)  # outside rooms
ROOM_COLOURS = (
    (0.62, 0.36, 0.33, 1.0),
    (0.36, 0.52, 0.38, 1.0),
    (0.35, 0.42, 0.62, 1.0),
    (0.66, 0.60, 0.34, 1.0),
)
# Of the grass: paths, then rooms.
MEADOW_SHADES = ((0.72, 0.70, 0.62, 1.0), (1.0, 1.0, 1.0, 1.0), (1.0, 0.94, 0.80, 1.0))

# The published targets: colours, which are multiplied by ours, and light that makes up for it.
BLUES, GLOW = ((0.0, 0.0, 0.57), (0.0, 0.0, 1.0)), 1.3
# Of textures, which are multiplied by the colours above.
BRIGHT, FAIR, DIM = (1.0, 1.0, 1.0), (0.86, 0.86, 0.86), (0.74, 0.74, 0.74)


@dataclass(frozen=True)
class Places:
    """Start and target positions in an episode's maze."""

    spawns: np.ndarray  # possible walker starts, (n, 3) m
    targets: np.ndarray  # targets on the ground, (n, 3) m


@register_arena("maze")
@register_arena(
    "small_maze",
    file="maze_outdoors.xml",
    cell=0.5,
    wall_height=0.3,
    target_radius=0.05,
    target_height=0.125,
    scale=1 / 6,
)
@dataclass(frozen=True)
class RandomMaze(Arena):
    """Rooms that corridors connect, on 11 x 11 cells, with targets in the rooms."""

    file: str = "maze.xml"  # of the ground, the light and the sky
    cells: int = 11  # of the maze, each way
    cell: float = 3.0  # side of a cell, m
    wall_height: float = 2.0  # m
    most_walls: int = 24  # that a maze has; of 100,000 mazes none would have had more than 24
    most_rooms: int = 4  # that a maze can have
    most_targets: int = 12  # that a maze can have
    target_radius: float = 0.4  # m
    target_height: float = 1.0  # of a target's centre, m
    scale: float | None = field(default=1.0, kw_only=True)
    varies: ClassVar[tuple[str, ...]] = (*PLACED, "site_pos", "site_size")
    lengths: ClassVar[tuple[str, ...]] = ("cell", "wall_height", "target_radius", "target_height")

    def __post_init__(self) -> None:
        if self.cells < FEWEST_CELLS or self.cells % 2 == 0:
            raise ValueError(f"cells: must be odd and at least {FEWEST_CELLS}, got {self.cells}")
        if not 0 < self.cell < np.inf:
            raise ValueError(f"cell: must be positive, got {self.cell}")

    def maze(self, rng: Any) -> Maze:
        """An episode's maze."""
        return random_maze(
            rng, self.cells, self.cells, max_rooms=self.most_rooms, max_walls=self.most_walls
        )

    def wall_names(self) -> tuple[str, ...]:
        return tuple(f"wall_{i}" for i in range(self.most_walls))

    def room_names(self) -> tuple[str, ...]:
        return tuple(f"room_{i}" for i in range(self.most_rooms))

    def target_names(self) -> tuple[str, ...]:
        return tuple(f"target_{i}" for i in range(self.most_targets))

    def model(self) -> Spec:
        spec = load(f"locomotion/arenas/{self.file}")
        half = self.cells * self.cell / 2
        ground = spec.geom("ground")
        ground.size[:2] = half
        spec.camera("top_camera").fovy = np.rad2deg(2 * np.arctan2(MARGIN * half, CAMERA_HEIGHT))
        # Clipping distances are in units of the extent.
        spec.stat.extent, spec.stat.center = 3.6 * half, (0, 0, self.wall_height / 2)
        self._add_floor(spec, half)
        high = self.wall_height / 2
        for name in self.wall_names():
            add(
                spec.body("maze_body"), "geom", name=name, type="box", rgba=WALL_COLOUR,
                size=(self.cell / 2, self.cell / 2, high), pos=(0, 0, PARKED),
            )  # fmt: skip
        radius = self.target_radius
        for name in self.target_names():
            # A margin with an equal gap lists contacts without a force.
            add(
                spec.worldbody, "geom", name=name, type="sphere", size=(radius, 0, 0),
                pos=(0, 0, PARKED), margin=-2 * radius, gap=2 * radius,
            )  # fmt: skip
        return spec

    def _add_floor(self, spec: Spec, half: float) -> None:
        """Add the visual ground: a floor, and tiles of other colours in the rooms."""
        outdoors = spec.material("grass") is not None
        material = "grass" if outdoors else ""
        floor, *rooms = MEADOW_SHADES if outdoors else (FLOOR_COLOUR, *ROOM_COLOURS)
        add(
            spec.worldbody, "site", name="floor", type="box", rgba=floor, material=material,
            size=(half, half, TILE), pos=(0, 0, -2 * TILE),
        )  # fmt: skip
        for name, colour in zip(self.room_names(), itertools.cycle(rooms), strict=False):
            add(
                spec.worldbody, "site", name=name, type="box", rgba=colour, material=material,
                size=(self.cell, self.cell, TILE), pos=(0, 0, PARKED),
            )  # fmt: skip

    def dress(self, spec: Spec) -> None:
        super().dress(spec)
        add_texture(spec, "wall", layers(DIM, BRIGHT), "cube")
        add_texture(spec, "tiles", slabs(BRIGHT, FAIR))
        for name, repeat in (("wall", 1.0), ("tiles", 1 / self.cell)):
            add(
                spec, "material", name=name, textures=name, texrepeat=(repeat, repeat),
                texuniform=name == "tiles",
            )  # fmt: skip
        for name in self.wall_names():
            spec.geom(name).material = "wall"
        for name in ("floor", *self.room_names()):
            spec.site(name).material = spec.site(name).material or "tiles"

    def dress_as_published(self, spec: Spec) -> None:
        """Tile walls and ground; the published maze draws one of several textures for its walls."""
        super().dress_as_published(spec)
        wall = published_look.add_tiles(spec, WALL_PICTURE, self.cell)
        grass = published_look.add_tiles(spec, published_look.GRASS_PICTURE, self.cell)
        add(
            spec, "texture", name="target", type="cube", builtin="checker", rgb1=BLUES[0],
            rgb2=BLUES[1], width=100, height=100,
        )  # fmt: skip
        add(spec, "material", name="target", textures="target", emission=GLOW)
        for name in self.target_names():
            spec.geom(name).material = "target"
        spec.geom("ground").material = grass
        for name in self.wall_names():
            spec.geom(name).material = wall
        hidden = [spec.geom(name) for name in ("ground", *self.wall_names())]
        hidden += [spec.site(name) for name in ("floor", *self.room_names())]
        for part in hidden:
            part.group = COVERED

    def draw(self, v: SingleView, rng: Any) -> Places:
        maze = self.maze(rng)
        self._place_walls(v, maze)
        v.site_pos[v.rows("site_pos", self.room_names())] = 0.0, 0.0, PARKED
        for name, room in zip(self.room_names(), maze.rooms, strict=False):
            site = v.site(name)
            site.size = room.columns * self.cell / 2, room.rows * self.cell / 2, TILE
            site.pos = *cell_centre(maze, *room.centre, self.cell), 0.0
        targets = self._points(maze, maze.targets)
        rows = v.rows("geom_pos", self.target_names())
        places = np.full((self.most_targets, 3), (0.0, 0.0, PARKED))
        places[: len(targets)] = targets + np.array([0.0, 0.0, self.target_height])
        v.geom_pos[rows] = places
        v.refit((*self.wall_names(), *self.target_names()))
        return Places(self._points(maze, maze.spawns), targets)

    def _points(self, maze: Maze, cells: Any) -> np.ndarray:
        return np.array([(*cell_centre(maze, i, j, self.cell), 0.0) for i, j in cells])

    def _place_walls(self, v: SingleView, maze: Maze) -> None:
        names = self.wall_names()
        rows = v.rows("geom_pos", names)
        sizes = np.tile((self.cell / 2, self.cell / 2, self.wall_height / 2), (len(names), 1))
        places = np.full((len(names), 3), (0.0, 0.0, PARKED))
        for i, wall in enumerate(walls(maze)):
            sizes[i, :2] = wall.columns * self.cell / 2, wall.rows * self.cell / 2
            places[i] = *cell_centre(maze, *wall.centre, self.cell), self.wall_height / 2
        v.geom_size[rows], v.geom_pos[rows] = sizes, places


@register_arena("open_maze")
@dataclass(frozen=True)
class OpenMaze(RandomMaze):
    """A square of 5 x 5 free cells with a wall around it and six targets."""

    cells: int = 7
    most_walls: int = 4
    most_rooms: int = 0
    most_targets: int = 6
    varies: ClassVar[tuple[str, ...]] = PLACED

    def maze(self, rng: Any) -> Maze:
        return scatter_targets(rng, OPEN_7x7, self.most_targets)
