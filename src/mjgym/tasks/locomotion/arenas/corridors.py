"""Corridors along the x axis: empty, with walls to run around, or with gaps to jump over."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.mjcf import Spec, add, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import PLACED, Arena, register_arena

PADDING = 2.0  # m, of ground before x = 0 and after the corridor's length
HEIGHT = 4.0  # m, of the planes at its sides
PARKED = -50.0  # m, the height at which unused parts lie, below all ground


@register_arena("empty_corridor")
@dataclass(frozen=True)
class Corridor(Arena):
    """A straight, empty corridor between four invisible planes.

    Args:
        length: m, along x from 0.
        width: m, along y.
    """

    length: float = 100.0
    width: float = 10.0

    def model(self) -> Spec:
        spec = load("locomotion/arenas/corridor.xml")
        along = self.length / 2 + PADDING
        for name, size, place in (
            ("ground", (along, self.width / 2, 1), (self.length / 2, 0, 0)),
            ("left", (along, HEIGHT / 2, 1), (self.length / 2, self.width / 2, HEIGHT / 2)),
            ("right", (along, HEIGHT / 2, 1), (self.length / 2, -self.width / 2, HEIGHT / 2)),
            ("near", (self.width / 2, HEIGHT / 2, 1), (-PADDING, 0, HEIGHT / 2)),
            ("far", (self.width / 2, HEIGHT / 2, 1), (self.length + PADDING, 0, HEIGHT / 2)),
        ):
            plane = spec.geom(name)
            plane.size, plane.pos = size, place
        # What is drawn, from how near to how far, is in units of the extent.
        spec.stat.extent = self.length + 2.5 * PADDING
        spec.stat.center = (self.length / 2, 0, HEIGHT / 4)
        return spec


@register_arena("walls")
@dataclass(frozen=True)
class WallsCorridor(Corridor):
    """A corridor with walls that leave a passage at one side, then at the other.

    Args:
        every: m, between two walls.
        narrowest, widest: m, of a wall; its width is uniform between them.
        thickness: m.
        height: m.
    """

    every: float = 4.0
    narrowest: float = 1.0
    widest: float = 7.0
    thickness: float = 0.16
    height: float = 3.0
    varies: ClassVar[tuple[str, ...]] = PLACED

    def places(self) -> np.ndarray:
        """Positions of the walls along x, m."""
        return np.arange(self.every - PADDING, self.length, self.every)

    def names(self) -> tuple[str, ...]:
        """Of the walls."""
        return tuple(f"wall_{i}" for i in range(len(self.places())))

    def model(self) -> Spec:
        spec = super().model()
        body = spec.body("walls")
        for name, x in zip(self.names(), self.places(), strict=True):
            add(
                body,
                "geom",
                name=name,
                type="box",
                size=(self.thickness / 2, self.widest / 2, self.height / 2),
                pos=(x, 0, self.height / 2),
                material="clay",
            )
        return spec

    def draw(self, v: SingleView, rng: Any) -> None:
        rows = v.rows("geom_size", self.names())
        side = np.where(np.arange(len(self.places())) % 2 == 0, 1.0, -1.0)
        widths = np.array([rng.uniform(self.narrowest, self.widest) for _ in side])
        v.geom_size[rows, 1] = widths / 2
        v.geom_pos[rows, 1] = side * (self.width - widths) / 2
        v.refit(self.names())


@register_arena("gaps")
@register_arena(
    "small_gaps",
    length=40.0,
    width=2.0,
    shortest_platform=0.4,
    longest_platform=0.8,
    shortest_gap=0.05,
    longest_gap=0.2,
)
@dataclass(frozen=True)
class GapsCorridor(Corridor):
    """Platforms with gaps between them, in a corridor whose ground lies far below.

    Args:
        first: m, length of the platform at the start.
        shortest_platform, longest_platform: m; lengths are uniform between them.
        shortest_gap, longest_gap: m; likewise.
    """

    first: float = 6.0
    shortest_platform: float = 0.3
    longest_platform: float = 2.5
    shortest_gap: float = 0.5
    longest_gap: float = 1.25
    half_thickness: float = 0.16
    depth: float = 10.0
    varies: ClassVar[tuple[str, ...]] = PLACED

    def most(self) -> int:
        """More platforms than an episode has but once in 10^15: the mean and eight deviations."""
        step = (
            self.shortest_platform + self.longest_platform + self.shortest_gap + self.longest_gap
        ) / 2
        spread = np.hypot(
            self.longest_platform - self.shortest_platform, self.longest_gap - self.shortest_gap
        ) / np.sqrt(12)
        mean = (self.length - self.first) / step
        return int(np.ceil(mean + 1 + 8 * np.sqrt(mean) * spread / step))

    def names(self) -> tuple[str, ...]:
        """Of the platforms behind the first one."""
        return tuple(f"floor_{i}" for i in range(self.most()))

    def ground(self) -> dict[str, str]:
        return {"ground": "geom", "platforms": "body"}

    def model(self) -> Spec:
        spec = super().model()
        spec.geom("ground").pos[2] = -self.depth
        spec.geom("ground").material = ""
        spec.geom("ground").rgba[3] = 0
        body = add(spec.worldbody, "body", name="platforms")
        step = (self.length - self.first) / self.most()
        half = self.half_thickness
        add(
            body, "geom", name="start_floor", type="box", material="slabs",
            size=(self.first / 2, self.width / 2, half), pos=(self.first / 2, 0, -half),
        )  # fmt: skip
        for i, name in enumerate(self.names()):
            add(
                body, "geom", name=name, type="box", material="slabs",
                size=(step / 2, self.width / 2, half),
                pos=(self.first + (i + 0.5) * step, 0, -half),
            )  # fmt: skip
        return spec

    def draw(self, v: SingleView, rng: Any) -> None:
        x = self.first
        rows = v.rows("geom_size", self.names())
        sizes, places = v.geom_size[rows], v.geom_pos[rows]
        used = 0
        while x < self.length and used < len(sizes):
            platform = rng.uniform(self.shortest_platform, self.longest_platform)
            sizes[used, 0] = platform / 2
            places[used] = x + platform / 2, 0.0, -self.half_thickness
            x += platform + rng.uniform(self.shortest_gap, self.longest_gap)
            used += 1
        places[used:] = self.length + PADDING, 0.0, PARKED
        v.geom_size[rows], v.geom_pos[rows] = sizes, places
        v.refit(self.names())
