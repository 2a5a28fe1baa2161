"""Corridors along the x axis: empty, with walls to avoid, or with gaps to jump over.

Fields have the published names. Each may be a number or a distribution of `mjgym.variation`, drawn
for each wall, platform or gap of an episode.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.mjcf import Spec, add, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import PLACED, Arena, register_arena
from mjgym.variation import Distribution, Uniform
from mjgym.variation.distributions import Value, support_of

PADDING = 2.0  # m, as published
HEIGHT = 4.0  # m, of the side planes
PARKED = -50.0  # m, height of unused parts, below all ground
WALL_WIDTH = Uniform(1.0, 7.0)  # m, as published
PLATFORM_LENGTH, GAP_LENGTH = Uniform(0.3, 2.5), Uniform(0.5, 1.25)  # m, likewise


def _drawn_size(value: Value, rng: Any) -> float:
    """Size of one wall, platform or gap: drawn, or the value itself."""
    if isinstance(value, Uniform) and type(value.low) is type(value.high) is float:
        return float(rng.uniform(value.low, value.high))  # the same draw in a tenth of the time
    return float(value(rng)) if isinstance(value, Distribution) else value


def _check_positive(name: str, value: Value) -> None:
    low, high = support_of(value)
    if not 0 < low <= high < np.inf:
        raise ValueError(f"{name}: must be positive and bounded, got {value}")


@register_arena("empty_corridor")
@dataclass(frozen=True)
class Corridor(Arena):
    """A straight, empty corridor between four invisible planes."""

    corridor_length: float = 100.0  # m, along x from 0
    corridor_width: float = 10.0  # m, along y
    padding: float = field(default=PADDING, kw_only=True)  # m, of ground at both ends
    scale: float | None = field(default=1.0, kw_only=True)
    lengths: ClassVar[tuple[str, ...]] = ("corridor_length", "corridor_width", "padding")

    def __post_init__(self) -> None:
        for name in ("corridor_length", "corridor_width"):
            _check_positive(name, getattr(self, name))

    def model(self) -> Spec:
        spec = load("locomotion/arenas/corridor.xml")
        half, across = self.corridor_length / 2, self.corridor_width / 2
        along = half + self.padding
        ground = spec.geom("ground")
        ground.size, ground.pos = (along, across, 1), (half, 0, 0)
        for name, length, x, y in (
            ("left", along, half, across),
            ("right", along, half, -across),
            ("near", across, -self.padding, 0),
            ("far", across, self.corridor_length + self.padding, 0),
        ):
            plane = spec.geom(name)
            plane.size, plane.pos = (length, HEIGHT / 2, 1), (x, y, HEIGHT / 2)
        # Clipping distances are in units of the extent.
        spec.stat.extent = self.corridor_length + 2.5 * self.padding
        spec.stat.center = (half, 0, HEIGHT / 4)
        return spec


@register_arena("walls")
@dataclass(frozen=True)
class WallsCorridor(Corridor):
    """A corridor with walls that leave a passage at one side, then at the other."""

    wall_gap: Value = 4.0  # m, from one wall to the next
    wall_width: Value = WALL_WIDTH  # m, across the corridor
    wall_height: Value = 3.0  # m
    swap_wall_side: Value = True  # whether a wall stands at the other side than the one before it
    wall_rgba: tuple[float, float, float, float] | None = None  # colour of all walls; None for clay
    wall_thickness: float = 0.16  # m, along the corridor
    varies: ClassVar[tuple[str, ...]] = PLACED
    lengths: ClassVar[tuple[str, ...]] = (
        *Corridor.lengths, "wall_gap", "wall_width", "wall_height", "wall_thickness",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("wall_gap", "wall_width", "wall_height"):
            _check_positive(name, getattr(self, name))
        widest = support_of(self.wall_width)[1]
        if widest > self.corridor_width:
            raise ValueError(
                f"wall_width: {widest} m do not fit into a corridor of {self.corridor_width} m"
            )

    def names(self) -> tuple[str, ...]:
        first, gap = self._first(), support_of(self.wall_gap)[0]
        return tuple(f"wall_{i}" for i in range(int(np.ceil((self.corridor_length - first) / gap))))

    def _first(self) -> float:
        """Smallest x at which the first wall can stand, m."""
        return support_of(self.wall_gap)[0] - self.padding

    def model(self) -> Spec:
        spec = super().model()
        body = spec.body("walls")
        look = {"material": "clay"} if self.wall_rgba is None else {"rgba": self.wall_rgba}
        gap, width, height = (
            support_of(x)[1] for x in (self.wall_gap, self.wall_width, self.wall_height)
        )
        for i, name in enumerate(self.names()):
            add(
                body,
                "geom",
                name=name,
                type="box",
                size=(self.wall_thickness / 2, width / 2, height / 2),
                pos=(self._first() + i * gap, 0, height / 2),
                **look,
            )
        return spec

    def draw(self, v: SingleView, rng: Any) -> None:
        rows = v.rows("geom_size", self.names())
        sizes, places = v.geom_size[rows], v.geom_pos[rows]
        x, side, used = _drawn_size(self.wall_gap, rng) - self.padding, -1.0, 0
        while x < self.corridor_length:
            width, height = _drawn_size(self.wall_width, rng), _drawn_size(self.wall_height, rng)
            side = -side if _drawn_size(self.swap_wall_side, rng) else side
            sizes[used, 1:] = width / 2, height / 2
            places[used] = x, side * (self.corridor_width - width) / 2, height / 2
            x += _drawn_size(self.wall_gap, rng)
            used += 1
        places[used:] = self.corridor_length + self.padding, 0.0, PARKED
        v.geom_size[rows], v.geom_pos[rows] = sizes, places
        v.refit(self.names())


@register_arena("gaps")
@register_arena(
    "small_gaps",
    corridor_length=40.0,
    corridor_width=2.0,
    platform_length=Uniform(0.4, 0.8),
    gap_length=Uniform(0.05, 0.2),
    scale=None,
)
@dataclass(frozen=True)
class GapsCorridor(Corridor):
    """Platforms with gaps between them, in a corridor whose ground lies far below."""

    platform_length: Value = PLATFORM_LENGTH  # m, of each platform
    gap_length: Value = GAP_LENGTH  # m, of each gap
    first: float = 6.0  # m, length of the platform at the start
    half_thickness: float = 0.16  # m, of a platform
    depth: float = 10.0  # m, of the ground below
    varies: ClassVar[tuple[str, ...]] = PLACED
    lengths: ClassVar[tuple[str, ...]] = (
        *Corridor.lengths, "platform_length", "gap_length", "first", "half_thickness", "depth",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("platform_length", self.platform_length)
        if support_of(self.gap_length)[0] < 0:
            raise ValueError(f"gap_length: must not be negative, got {self.gap_length}")

    def most(self) -> int:
        """Number of platforms in the model.

        For uniform lengths the mean plus eight deviations, exceeded by one episode in 10^15; for
        other distributions the largest possible number.
        """
        lengths = self.platform_length, self.gap_length
        (shortest, longest), (narrowest, widest) = map(support_of, lengths)
        far = self.corridor_length - self.first
        if not all(isinstance(x, Uniform | float | int) for x in lengths):
            return int(np.ceil(far / (shortest + narrowest)))
        step = (shortest + longest + narrowest + widest) / 2
        spread = np.hypot(longest - shortest, widest - narrowest) / np.sqrt(12)
        mean = far / step
        return int(np.ceil(mean + 1 + 8 * np.sqrt(mean) * spread / step))

    def names(self) -> tuple[str, ...]:
        return tuple(f"floor_{i}" for i in range(self.most()))

    def ground(self) -> dict[str, str]:
        return {"ground": "geom", "platforms": "body"}

    def model(self) -> Spec:
        spec = super().model()
        spec.geom("ground").pos[2] = -self.depth
        spec.geom("ground").material = ""
        spec.geom("ground").rgba[3] = 0
        body = add(spec.worldbody, "body", name="platforms")
        step = (self.corridor_length - self.first) / self.most()
        half = self.half_thickness
        add(
            body, "geom", name="start_floor", type="box", material="slabs",
            size=(self.first / 2, self.corridor_width / 2, half), pos=(self.first / 2, 0, -half),
        )  # fmt: skip
        for i, name in enumerate(self.names()):
            add(
                body, "geom", name=name, type="box", material="slabs",
                size=(step / 2, self.corridor_width / 2, half),
                pos=(self.first + (i + 0.5) * step, 0, -half),
            )  # fmt: skip
        return spec

    def draw(self, v: SingleView, rng: Any) -> None:
        x = self.first
        rows = v.rows("geom_size", self.names())
        sizes, places = v.geom_size[rows], v.geom_pos[rows]
        used = 0
        while x < self.corridor_length and used < len(sizes):
            platform = _drawn_size(self.platform_length, rng)
            sizes[used, 0] = platform / 2
            places[used] = x + platform / 2, 0.0, -self.half_thickness
            x += platform + _drawn_size(self.gap_length, rng)
            used += 1
        places[used:] = self.corridor_length + self.padding, 0.0, PARKED
        v.geom_size[rows], v.geom_pos[rows] = sizes, places
        v.refit(self.names())
