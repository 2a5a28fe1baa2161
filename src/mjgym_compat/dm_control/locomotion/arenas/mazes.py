"""Mazes: from a text, or of rooms and corridors drawn for each episode."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.tasks.locomotion import floor_plans
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.arenas import looks
from mjgym_compat.dm_control.locomotion.arenas.covering import make_walls
from mjgym_compat.dm_control.locomotion.arenas.labmaze_textures import texture_list
from mjgym_compat.dm_control.locomotion.models import read

TARGET, SPAWN, WALL = "G", "P", "*"
OUTSIDE = "."  # of rooms, in the layer of variations
WALL_COLOUR = (0.72, 0.62, 0.48, 1.0)
FLOOR_COLOURS = (
    (0.42, 0.44, 0.47, 1.0), (0.62, 0.36, 0.33, 1.0), (0.36, 0.52, 0.38, 1.0),
    (0.35, 0.42, 0.62, 1.0), (0.66, 0.60, 0.34, 1.0),
)  # fmt: skip
LIFT = 1e-3  # m, of what is seen of the floor over the ground
SIGHT = 100.0  # m, of the camera above
MARGIN = 1.1  # view of that camera relative to the maze


class RandomMaze:
    """A maze that is drawn again and again."""

    def __init__(self, draw: Callable[[np.random.Generator], floor_plans.Maze]) -> None:
        self._draw = draw
        self.regenerate(0)

    def regenerate(self, seed: int | None = None) -> None:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        maze = self._draw(self._rng)
        self.entity_layer = np.array([list(row) for row in maze.rows])
        self.variations_layer = np.array([list(row) for row in maze.letters])
        self.height, self.width = self.entity_layer.shape


def open_maze(targets: int = 6) -> RandomMaze:
    """A square of 5 x 5 free cells with a wall around it, a start and some targets."""
    plan = floor_plans.OPEN_7x7
    return RandomMaze(lambda rng: floor_plans.scatter_targets(rng, plan, targets))


class MazeWithTargets(looks.Place):
    """A maze from the layers of a text.

    Attributes:
        target_positions: positions of the targets on the ground, m.
        spawn_positions: positions of the starts on the ground, m.
        text_maze_regenerated_hook: called when a new maze has been drawn.
    """

    def _build(
        self,
        maze: Any,
        xy_scale: float = 2.0,
        z_height: float = 2.0,
        skybox_texture: Any = None,
        wall_textures: Any = None,
        floor_textures: Any = None,
        aesthetic: str = "default",
        name: str = "maze",
    ) -> None:
        self.maze, self.xy_scale, self.z_height = maze, xy_scale, z_height
        suffix = "_outdoors" if aesthetic == looks.MEADOW else ""
        self._mjcf_root = read(f"arenas/maze{suffix}.xml", name)
        grass = looks.ground(self._mjcf_root, aesthetic)
        self._ground = self._mjcf_root.find("geom", "ground")
        self._body = self._mjcf_root.find("body", "maze_body")
        self.top_camera = self._mjcf_root.find("camera", "top_camera")
        if skybox_texture is not None:
            for texture in self._mjcf_root.find_all("texture"):
                if texture.type == "skybox":
                    texture.remove()
            self.attach(skybox_texture)
        by_char = wall_textures if isinstance(wall_textures, Mapping) else {WALL: wall_textures}
        self._walls = {
            char: self._materials(f"wall{k}", given)
            for k, (char, given) in enumerate(by_char.items())
        }
        self._floors = [grass] if grass is not None else self._materials("floor", floor_textures)
        self.text_maze_regenerated_hook: Callable[[], Any] | None = None
        self._tiles: list[mjcf.Element] = []
        self._read_maze()
        self._build_parts(np.random.RandomState(0))

    def _materials(self, name: str, given: Any) -> list[mjcf.Element]:
        if given is None:
            return []
        if isinstance(given, composer.Entity):
            self.attach(given)
        return [
            self._mjcf_root.asset.add(
                "material", name=f"{name}_{k}", texture=texture, texuniform=True,
                texrepeat=(1 / self.xy_scale,) * 2,
            )
            for k, texture in enumerate(texture_list(given))
        ]  # fmt: skip

    def _build_observables(self) -> "MazeObservables":
        return MazeObservables(self)

    @property
    def target_grid_positions(self) -> tuple[np.ndarray, ...]:
        return self._cells[TARGET]

    @property
    def spawn_grid_positions(self) -> tuple[np.ndarray, ...]:
        return self._cells[SPAWN]

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return (self._ground,)

    def regenerate(self, random_state: Any = None) -> None:
        random_state = np.random.RandomState() if random_state is None else random_state
        self._draw(random_state)
        if self.text_maze_regenerated_hook is not None:
            self.text_maze_regenerated_hook()
        self._read_maze()
        self._build_parts(random_state)

    def _draw(self, random_state: np.random.RandomState) -> None:
        if isinstance(self.maze, RandomMaze):  # others have their own seed
            self.maze.regenerate(random_state.randint(2**31))
        else:
            self.maze.regenerate()

    def _read_maze(self) -> None:
        self._cells = self.find_token_grid_positions([TARGET, SPAWN])
        self.target_positions = tuple(self.grid_to_world_positions(self._cells[TARGET]))
        self.spawn_positions = tuple(self.grid_to_world_positions(self._cells[SPAWN]))

    # Grid and world.

    def find_token_grid_positions(self, tokens: Sequence[str]) -> dict[str, tuple[np.ndarray, ...]]:
        layer = np.asarray(self.maze.entity_layer)
        return {token: tuple(np.argwhere(layer == token)) for token in tokens}

    @property
    def _middle(self) -> np.ndarray:
        return (np.array(np.shape(self.maze.entity_layer)) - 1) / 2

    def grid_to_world_positions(self, grid_positions: Any) -> list[np.ndarray]:
        y, x = self._middle
        scale = self.xy_scale
        return [np.array([(j - x) * scale, (y - i) * scale, 0.0]) for i, j in grid_positions]

    def world_to_grid_positions(self, world_positions: Any) -> list[np.ndarray]:
        y, x = self._middle
        scale = self.xy_scale
        return [np.array([y - place[1] / scale, x + place[0] / scale]) for place in world_positions]

    # Parts of an episode.

    def _build_parts(self, random_state: np.random.RandomState) -> None:
        for part in [*self._body.geom, *self._tiles]:
            part.remove()
        rows, columns = np.shape(self.maze.entity_layer)
        half = np.array([columns, rows]) * self.xy_scale / 2
        self._ground.size = (*half, 1)
        seen = MARGIN * float(half.max())
        self.top_camera.fovy = 2 * np.degrees(np.arctan2(seen, SIGHT))
        self._mjcf_root.statistic.extent = 3.6 * float(half.max())
        for char, materials in self._walls.items():
            look = _look(materials, random_state, WALL_COLOUR)
            for k, (centre, size) in enumerate(self._rectangles(self.maze.entity_layer, char)):
                high = self.z_height / 2
                self._body.add(
                    "geom", name=f"wall{char}_{k}", type="box", pos=(*centre, high),
                    size=(*size, high), **look,
                )  # fmt: skip
        self._tiles = list(self._floor(random_state))

    def _floor(self, random_state: np.random.RandomState) -> Any:
        layer = np.asarray(self.maze.variations_layer)
        chars = sorted(set(layer.ravel()))
        for number, char in enumerate(chars):
            colour = FLOOR_COLOURS[0 if char == OUTSIDE else 1 + number % 4]
            look = _look(self._floors, random_state, colour)
            for k, (centre, size) in enumerate(self._rectangles(layer, char)):
                yield self._mjcf_root.worldbody.add(
                    "geom", name=f"floor_{number}_{k}", type="plane", pos=(*centre, LIFT),
                    size=(*size, 1), contype=0, conaffinity=0, **look,
                )  # fmt: skip

    def _rectangles(self, layer: Any, char: str) -> Any:
        """Centres and half-sizes of rectangles of cells, m."""
        for wall in make_walls(layer, char, make_odd_sized_walls=True):
            first, after = np.array(wall.start), np.array(wall.end)
            (centre,) = self.grid_to_world_positions([(first + after - 1) / 2])
            yield centre[:2], (after - first)[::-1] * self.xy_scale / 2


def _look(
    materials: list[mjcf.Element], random_state: np.random.RandomState, colour: Any
) -> dict[str, Any]:
    if not materials:
        return {"rgba": colour}
    return {"material": materials[random_state.randint(len(materials))]}


class MazeObservables(composer.Observables):
    """Observables of a maze."""

    _entity: Any

    @composer.observable
    def top_camera(self) -> Any:
        return observable.MJCFCamera(self._entity.top_camera)


class RandomMazeWithTargets(MazeWithTargets):
    """A maze of rooms and corridors, drawn for each episode.

    Args:
        max_variations: number of rooms whose floors differ; not used.
        simplify: whether dead ends and detours are removed; only True is supported.
    """

    def _build(
        self,
        x_cells: int,
        y_cells: int,
        xy_scale: float = 2.0,
        z_height: float = 2.0,
        max_rooms: int = 4,
        room_min_size: int = 3,
        room_max_size: int = 5,
        spawns_per_room: int = 0,
        targets_per_room: int = 0,
        max_variations: int = 26,
        simplify: bool = True,
        skybox_texture: Any = None,
        wall_textures: Any = None,
        floor_textures: Any = None,
        aesthetic: str = "default",
        name: str = "random_maze",
    ) -> None:
        del max_variations
        if not simplify:
            raise ValueError("simplify: only True is supported")
        side = room_min_size + (room_min_size + 1) % 2
        draw = functools.partial(
            floor_plans.random_maze, height=y_cells, width=x_cells, max_rooms=max_rooms,
            room_side=side, room_stretch=max(0, (room_max_size - side) // 2 * 2),
            spawns_per_room=spawns_per_room, targets_per_room=targets_per_room,
        )  # fmt: skip
        super()._build(
            RandomMaze(draw),
            xy_scale,
            z_height,
            skybox_texture,
            wall_textures,
            floor_textures,
            aesthetic,
            name,
        )
