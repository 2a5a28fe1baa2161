"""Placement samplers: initial poses of objects, for any task.

A sampler draws a pose for each of its objects, clear of those placed before, as in the published
tabletop tasks.
"""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from mjgym.rotations import product
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of

ATTEMPTS = 5000  # per object
AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Extent:
    """Space of an object for placement.

    Args:
        radius: circle around its frame that contains it, seen from above, m.
        bottom: height of its lowest point over its frame, m: not above 0.
        top: height of its highest point over its frame, m.
        quat: orientation before a sampler's rotation.
        clearance: radius of a circle that no other object's may overlap, if larger than `radius`,
            m.
    """

    radius: float
    bottom: float
    top: float
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    clearance: float = 0.0

    @property
    def clear_radius(self) -> float:
        """Radius of the circle that no other object may overlap, m."""
        return max(self.radius, self.clearance)

    @classmethod
    def of_box(cls, half: Any) -> "Extent":
        """Extent of a box around its frame, of half sizes (3,) m."""
        x, y, z = (float(h) for h in half)
        return cls(float(np.hypot(x, y)), -z, z)


@dataclass(frozen=True)
class Pose:
    """The pose of a placed object's frame: (3,) m and a quaternion (4,) in the world."""

    pos: np.ndarray
    quat: np.ndarray


class Placement:
    """A way to place objects; "module:name" refers to a user's."""

    objects: tuple[str, ...] = ()
    """The objects that it places, by name; empty for all that have not been placed."""

    def draw(
        self, rng: Any, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        """Draw poses for the objects, in order.

        Args:
            extents: of all objects of the task, by name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define draw()")


placements: Catalogue[Placement] = Catalogue("placement", Placement)


def is_placement(value: Any) -> TypeGuard[Placement]:
    """Tell whether a value draws poses for objects, be it a `Placement` or another class."""
    return callable(getattr(value, "draw", None))


@dataclass(frozen=True)
class Uniform(Placement):
    """Places drawn uniformly from a rectangle.

    Args:
        objects: names; empty for all that have not been placed.
        x_range: of the objects' frames, from the reference, m.
        y_range: the same along y.
        rotation: the angle about `rotation_axis`: a number, the range that it is drawn from, or
            None for any.
        rotation_axis: "x", "y" or "z" of the world.
        whole: whether the objects, not their frames alone, lie within the ranges.
        clear: whether positions that overlap a placed object are drawn again.
        reference: the point (m) that ranges and height are counted from.
        z_offset: of the objects' lowest points over the reference, m.

    Raises:
        ValueError: a range is out of order, or there is no such axis.
    """

    objects: tuple[str, ...] = ()
    x_range: tuple[float, float] = (0.0, 0.0)
    y_range: tuple[float, float] = (0.0, 0.0)
    rotation: float | tuple[float, float] | None = None
    rotation_axis: str = "z"
    whole: bool = False
    clear: bool = True
    reference: tuple[float, float, float] = (0.0, 0.0, 0.0)
    z_offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("x_range", "y_range", "rotation"):
            value = getattr(self, name)
            if isinstance(value, tuple) and not (len(value) == 2 and value[0] <= value[1]):
                raise ValueError(f"placement: {name} must be two numbers in order, got {value}")
        if self.rotation_axis not in AXES:
            raise ValueError(f"placement: no rotation_axis {self.rotation_axis!r}, only x, y, z")

    def draw(
        self, rng: Any, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        poses: dict[str, Pose] = {}
        for name in self.objects or [n for n in extents if n not in placed]:
            poses[name] = self._place(name, rng, extents, {**placed, **poses})
        return poses

    def _place(
        self, name: str, rng: Any, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> Pose:
        extent = extents[name]
        height = self.reference[2] + self.z_offset - extent.bottom
        for _ in range(ATTEMPTS):
            pos = np.array([*self._draw_place(name, rng, extent.radius), height])
            if not (self.clear and _overlaps(pos, extent, extents, placed)):
                return Pose(pos, product(self._draw_turn(rng), np.array(extent.quat)))
        raise RuntimeError(f"no place for {name!r} that is free, in {ATTEMPTS} attempts")

    def _draw_place(self, name: str, rng: Any, radius: float) -> np.ndarray:
        shrunk = radius if self.whole else 0.0
        low = np.array([self.x_range[0], self.y_range[0]]) + shrunk
        high = np.array([self.x_range[1], self.y_range[1]]) - shrunk
        if (low > high).any():
            raise RuntimeError(f"no place for {name!r}, of radius {radius:g} m, within the ranges")
        return np.asarray(rng.uniform(low, high) + self.reference[:2])

    def _draw_turn(self, rng: Any) -> np.ndarray:
        angle: Any = (0.0, 2 * np.pi) if self.rotation is None else self.rotation
        half = (rng.uniform(*angle) if isinstance(angle, tuple) else angle) / 2
        quat = np.zeros(4)
        quat[0], quat[1 + AXES[self.rotation_axis]] = np.cos(half), np.sin(half)
        return quat


def _overlaps(
    pos: np.ndarray, extent: Extent, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
) -> bool:
    """Tell whether an object would be in the cylinder around a placed one."""
    return any(
        np.hypot(*(pos - other.pos)[:2]) <= extent.clear_radius + extents[name].clear_radius
        and pos[2] - other.pos[2] <= extents[name].top - extent.bottom
        for name, other in placed.items()
    )


@dataclass(frozen=True)
class Within(Uniform):
    """Places in or on another object, which has been placed before.

    Args:
        container: name of the other object; ranges are relative to its position.
    """

    container: str = ""

    def draw(
        self, rng: Any, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        x, y, z = (float(p) for p in placed[self.container].pos)
        there = dataclasses.replace(self, reference=(x, y, z))
        return super(Within, there).draw(rng, extents, placed)


@dataclass(frozen=True)
class Several(Placement):
    """Placements in sequence, each avoiding the objects of those before it."""

    placements: tuple[Placement, ...] = ()

    def draw(
        self, rng: Any, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        poses: dict[str, Pose] = {}
        for placement in self.placements:
            poses.update(placement.draw(rng, extents, {**placed, **poses}))
        return poses


def find_placement(chosen: Any, usual: Placement, objects: Collection[str]) -> Placement:
    """Resolve a placement argument.

    Args:
        chosen: "default" for the task's placement; "module:name" of a user's; a dict of parameters
            of `Uniform` that differ from the task's, or of such dicts by object; a `Placement`.
        usual: the task's placement.
        objects: names of the task's objects.
    """
    if is_placement(chosen):
        placement = chosen
    elif isinstance(chosen, Mapping):
        placement = _changed(usual, chosen, tuple(objects))
    elif chosen == "default":
        placement = usual
    else:
        placement = _load(chosen)
    for part in placement.placements if isinstance(placement, Several) else (placement,):
        for name in part.objects:
            one_of("placement", name, objects)
    return placement


def _changed(usual: Placement, chosen: Mapping[str, Any], objects: tuple[str, ...]) -> Placement:
    if any(isinstance(value, Mapping) for value in chosen.values()):
        for name in chosen:
            one_of("placement", name, objects)
        parts = usual.placements if isinstance(usual, Several) else (usual,)
        single = [
            dataclasses.replace(part, objects=(name,))
            for part in parts
            if isinstance(part, Uniform)
            for name in part.objects or objects
        ]
        return Several(tuple(_replaced(p, chosen.get(p.objects[0], {})) for p in single))
    if isinstance(usual, Several):
        return Several(tuple(_replaced(part, chosen) for part in usual.placements))
    return _replaced(usual, chosen)


def _replaced(part: Placement, chosen: Mapping[str, Any]) -> Placement:
    if not isinstance(part, Uniform):
        raise TypeError(f"placement: {type(part).__name__} takes no parameters")
    names = [field.name for field in dataclasses.fields(Uniform)]
    for name in chosen:
        if name not in names:
            raise TypeError(f"placement: no parameter {name!r}{or_else(name, names)}")
    values: dict[str, Any] = {n: tuple(x) if isinstance(x, list) else x for n, x in chosen.items()}
    return dataclasses.replace(part, **values)


def _load(name: Any) -> Placement:
    if not isinstance(name, str) or ":" not in name:
        raise ValueError(
            f'placement: no {name!r}; expected "default", a dict of parameters, or "module:name"'
        )
    return placements.find(name)
