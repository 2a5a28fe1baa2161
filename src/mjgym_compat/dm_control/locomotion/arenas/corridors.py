"""Corridors along the x axis: empty, with walls to avoid, or with gaps to jump over."""

import itertools
from typing import Any

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer import define, variation
from mjgym_compat.dm_control.locomotion.arenas import looks
from mjgym_compat.dm_control.locomotion.models import read

_CORRIDOR_X_PADDING = 2.0  # m, of ground before x = 0 and behind the corridor's length
HEIGHT = 4.0  # m, of the side planes
WALL_THICKNESS = 0.16  # m, along the corridor
DEPTH = 10.0  # m, of the ground below gaps
FIRST = 3 * _CORRIDOR_X_PADDING  # m, length of the platform at the start
HALF = 0.16  # m, half the thickness of a platform
GREY = (0.5, 0.5, 0.5, 1)


class Corridor(looks.Place):
    """An arena with a length and a width."""

    corridor_length = define.required()
    corridor_width = define.required()

    def is_at_target_position(self, position: Any, tolerance: float = 0.0) -> bool:
        return bool(position[0] > self.corridor_length - tolerance)


class EmptyCorridor(Corridor):
    """A straight corridor between four planes."""

    def _build(
        self,
        corridor_width: Any = 4,
        corridor_length: Any = 40,
        visible_side_planes: bool = True,
        name: str = "empty_corridor",
    ) -> None:
        self._mjcf_root = read("arenas/corridor.xml", name)
        self._given = {"width": corridor_width, "length": corridor_length}
        self._width, self._length = 0.0, 0.0
        self._ground_plane = self._mjcf_root.find("geom", "ground")
        self._planes = {
            n: self._mjcf_root.find("geom", n) for n in ("left", "right", "near", "far")
        }
        for plane in self._planes.values():
            plane.rgba = (1, 0, 0, 0.5 if visible_side_planes else 0)

    def regenerate(self, random_state: Any) -> None:
        drawn = variation.evaluate(self._given, random_state=random_state)
        self._width, self._length = float(drawn["width"]), float(drawn["length"])
        middle, high = self._length / 2, HEIGHT / 2
        along, across = middle + _CORRIDOR_X_PADDING, self._width / 2
        self._ground_plane.set_attributes(
            size=(along, across, 1), pos=(middle, 0, self._ground_height)
        )
        places = {
            "left": (along, middle, across),
            "right": (along, middle, -across),
            "near": (across, -_CORRIDOR_X_PADDING, 0),
            "far": (across, self._length + _CORRIDOR_X_PADDING, 0),
        }
        for name, (half, x, y) in places.items():
            self._planes[name].set_attributes(size=(half, high, 1), pos=(x, y, high))

    _ground_height = 0.0

    @property
    def corridor_length(self) -> float:
        return self._length

    @property
    def corridor_width(self) -> float:
        return self._width

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return (self._ground_plane,)


class GapsCorridor(EmptyCorridor):
    """Platforms with gaps between them, in a corridor above a deep ground."""

    _ground_height = -DEPTH

    def _build(
        self,
        platform_length: Any = 1.0,
        gap_length: Any = 2.5,
        corridor_width: Any = 4,
        corridor_length: Any = 40,
        ground_rgba: Any = GREY,
        visible_side_planes: bool = False,
        aesthetic: str = "default",
        name: str = "gaps_corridor",
    ) -> None:
        self._lengths = platform_length, gap_length
        self._look: dict[str, Any] = {"rgba": ground_rgba}
        super()._build(corridor_width, corridor_length, visible_side_planes, name)
        material = looks.ground(self._mjcf_root, aesthetic)
        if material is not None:
            self._look = {"material": material}
        self._ground_plane.set_attributes(material=None, rgba=(0, 0, 0, 0))
        self._body = self._mjcf_root.worldbody.add("body", name="ground")

    def regenerate(self, random_state: Any) -> None:
        super().regenerate(random_state)
        for geom in list(self._body.geom):
            geom.remove()
        self._add_platform("start_floor", 0.0, FIRST)
        x = FIRST
        for k in itertools.count():
            if x >= self._length:
                return
            platform, gap = (
                variation.evaluate(v, random_state=random_state) for v in self._lengths
            )
            self._add_platform(f"floor_{k}", x, platform)
            x += platform + gap

    def _add_platform(self, name: str, start: float, length: float) -> None:
        self._body.add(
            "geom", name=name, type="box", size=(length / 2, self._width / 2, HALF),
            pos=(start + length / 2, 0, -HALF), **self._look,
        )  # fmt: skip

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return (self._ground_plane, *self._body.geom)


class WallsCorridor(EmptyCorridor):
    """A corridor with walls that reach from one side or the other into it."""

    def _build(
        self,
        wall_gap: Any = 2.5,
        wall_width: Any = 2.5,
        wall_height: Any = 2.0,
        swap_wall_side: Any = True,
        wall_rgba: Any = (1, 1, 1, 1),
        corridor_width: Any = 4,
        corridor_length: Any = 40,
        visible_side_planes: bool = False,
        include_initial_padding: bool = True,
        name: str = "walls_corridor",
    ) -> None:
        self._gap, self._swap = wall_gap, swap_wall_side
        self._wall = {"width": wall_width, "height": wall_height, "rgba": wall_rgba}
        self._start = _CORRIDOR_X_PADDING * (1 if include_initial_padding else -1)
        super()._build(corridor_width, corridor_length, visible_side_planes, name)

    def regenerate(self, random_state: Any) -> None:
        super().regenerate(random_state)
        body = self._mjcf_root.find("body", "walls")
        for geom in list(body.geom):
            geom.remove()

        def drawn(value: Any) -> Any:
            return variation.evaluate(value, random_state=random_state)

        x, side = drawn(self._gap) + self._start, -1
        for k in itertools.count():
            if x >= self._length:
                return
            wall = drawn(self._wall)
            side = -side if drawn(self._swap) else side
            body.add(
                "geom", name=f"wall_{k}", type="box", rgba=wall["rgba"],
                size=(WALL_THICKNESS / 2, wall["width"] / 2, wall["height"] / 2),
                pos=(x, side * (self._width - wall["width"]) / 2, wall["height"] / 2),
            )  # fmt: skip
            x += drawn(self._gap)
