"""Samplers of object poses, for `placement_initializer`.

At the start of each episode a sampler receives its objects by `add_objects`, then `sample` returns
their poses. Without an explicit generator it uses the episode's, so that seeds reproduce it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mjgym.rotations import product
from mjgym_compat.robosuite.models.objects import MujocoObject
from mjgym_compat.robosuite.utils.errors import RandomizationError

ATTEMPTS = 5000  # to find a free place for an object
AXES = "xyz"
HIDDEN = (-20.0, -10.0)  # m along x and y, where `hide` puts objects
HIDDEN_HEIGHT = 10.0  # m

Placed = tuple[Any, np.ndarray, MujocoObject]
"""Position (3,) m, quaternion w, x, y, z, and the object."""


def _listed(objects: MujocoObject | Iterable[MujocoObject] | None) -> list[MujocoObject]:
    if objects is None:
        return []
    return [objects] if isinstance(objects, MujocoObject) else list(objects)


class ObjectPositionSampler:
    """Base class of samplers; subclasses define `sample`.

    Args:
        name: of the sampler.
        mujoco_objects: to place; an environment replaces them.
        ensure_object_boundary_in_range: whether whole objects, not just their frames, lie in range.
        ensure_valid_placement: whether overlapping objects are resampled.
        reference_pos: origin of ranges and heights, m.
        z_offset: of the objects' lowest points above the reference, m.
        rng: the generator; None for the episode's.

    Attributes:
        mujoco_objects: of the current episode, in the order of placement.
    """

    def __init__(
        self,
        name: str,
        mujoco_objects: Any = None,
        ensure_object_boundary_in_range: bool = True,
        ensure_valid_placement: bool = True,
        reference_pos: Any = (0, 0, 0),
        z_offset: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.name = name
        self.mujoco_objects = _listed(mujoco_objects)
        self.ensure_object_boundary_in_range = ensure_object_boundary_in_range
        self.ensure_valid_placement = ensure_valid_placement
        self.reference_pos = reference_pos
        self.z_offset = z_offset
        self.rng = np.random.default_rng() if rng is None else rng
        self._given_rng = rng is not None

    def add_objects(self, mujoco_objects: Any) -> None:
        """Add objects to place.

        Raises:
            ValueError: an object has been added already.
        """
        for each in _listed(mujoco_objects):
            if each in self.mujoco_objects:
                raise ValueError(f"{self.name} places {each.name!r} already")
            self.mujoco_objects.append(each)

    def reset(self) -> None:
        """Forget all objects."""
        self.mujoco_objects = []

    def sample(
        self,
        fixtures: Mapping[str, Placed] | None = None,
        reference: Any = None,
        on_top: bool = True,
    ) -> dict[str, Placed]:
        """Poses of the objects and of `fixtures`, by name.

        Args:
            fixtures: objects already placed.
            reference: the name of one of them, or a point (m), in place of `reference_pos`.
            on_top: whether objects rest on the reference; otherwise their frames are at its height.

        Raises:
            RandomizationError: there is no free place for an object.
        """
        raise NotImplementedError(f"{type(self).__name__} must define sample()")

    def draw_from(self, rng: np.random.Generator) -> None:
        """Use an episode's generator, unless the sampler has an explicit one."""
        if not self._given_rng:
            self.rng = rng


class UniformRandomSampler(ObjectPositionSampler):
    """Positions drawn uniformly from a rectangle.

    Args:
        name: of the sampler.
        mujoco_objects: as the arguments not named here, see `ObjectPositionSampler`.
        x_range: of the objects' frames relative to the reference, m.
        y_range: likewise along y.
        rotation: angle about `rotation_axis`: a number, a range, or None for any angle.
        rotation_axis: "x", "y" or "z" of the world.

    Raises:
        ValueError: there is no such axis.
    """

    def __init__(
        self,
        name: str,
        mujoco_objects: Any = None,
        x_range: Any = (0, 0),
        y_range: Any = (0, 0),
        rotation: Any = None,
        rotation_axis: str = "z",
        ensure_object_boundary_in_range: bool = True,
        ensure_valid_placement: bool = True,
        reference_pos: Any = (0, 0, 0),
        z_offset: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        if rotation_axis not in tuple(AXES):
            raise ValueError(f"rotation_axis: no {rotation_axis!r}, only x, y, z")
        super().__init__(
            name,
            mujoco_objects,
            ensure_object_boundary_in_range,
            ensure_valid_placement,
            reference_pos,
            z_offset,
            rng,
        )
        self.x_range, self.y_range = x_range, y_range
        self.rotation, self.rotation_axis = rotation, rotation_axis

    def sample(
        self,
        fixtures: Mapping[str, Placed] | None = None,
        reference: Any = None,
        on_top: bool = True,
    ) -> dict[str, Placed]:
        """Poses of the objects, and those of `fixtures`, by name."""
        placed = dict(fixtures or {})
        origin = self._origin(placed, reference, on_top)
        for each in self.mujoco_objects:
            if each.name in placed:
                raise ValueError(f"{self.name}: {each.name!r} has been placed already")
            placed[each.name] = self._place(each, origin, placed, on_top)
        return placed

    def _origin(self, placed: Mapping[str, Placed], reference: Any, on_top: bool) -> np.ndarray:
        if reference is None:
            return np.array(self.reference_pos, float)
        if not isinstance(reference, str):
            return np.array(reference, float).reshape(3)
        if reference not in placed:
            raise ValueError(f"{self.name}: {reference!r} is not among {', '.join(placed)}")
        position, _, base = placed[reference]
        return np.array(position) + ([0, 0, base.top_offset[-1]] if on_top else 0)

    def _place(
        self, each: MujocoObject, origin: np.ndarray, placed: Mapping[str, Placed], on_top: bool
    ) -> Placed:
        shrunk = each.horizontal_radius if self.ensure_object_boundary_in_range else 0.0
        bottom = each.bottom_offset[-1]
        height = origin[2] + self.z_offset - (bottom if on_top else 0)
        for _ in range(ATTEMPTS):
            x, y = (
                self.rng.uniform(low + shrunk, high - shrunk)
                for low, high in (self.x_range, self.y_range)
            )
            position = np.array([x + origin[0], y + origin[1], height])
            if not (self.ensure_valid_placement and self._overlaps(each, position, placed)):
                return position, product(self._turn(), each.init_quat), each
        raise RandomizationError(f"{self.name}: no free place for {each.name!r}")

    @staticmethod
    def _overlaps(each: MujocoObject, position: np.ndarray, placed: Mapping[str, Placed]) -> bool:
        return any(
            np.hypot(*(position - there)[:2]) <= other.clear_radius + each.clear_radius
            and position[2] - there[2] <= other.top_offset[-1] - each.bottom_offset[-1]
            for there, _, other in placed.values()
        )

    def _turn(self) -> np.ndarray:
        if self.rotation is None:
            angle = self.rng.uniform(0, 2 * np.pi)
        elif np.ndim(self.rotation):
            angle = self.rng.uniform(min(self.rotation), max(self.rotation))
        else:
            angle = self.rotation
        quat = np.zeros(4)
        quat[0], quat[1 + AXES.index(self.rotation_axis)] = np.cos(angle / 2), np.sin(angle / 2)
        return quat


class SequentialCompositeSampler(ObjectPositionSampler):
    """Samplers applied in sequence, each avoiding the objects of the previous ones.

    Args:
        name: of the sampler.

    Attributes:
        samplers: by name, in order.
        sample_args: arguments of `sample`, by sampler name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.samplers: dict[str, ObjectPositionSampler] = {}
        self.sample_args: dict[str, dict[str, Any]] = {}

    def append_sampler(
        self, sampler: ObjectPositionSampler, sample_args: Mapping[str, Any] | None = None
    ) -> None:
        """Append a sampler.

        Args:
            sampler: the next one.
            sample_args: `reference` and `on_top` for its `sample`.
        """
        super().add_objects(sampler.mujoco_objects)
        self.samplers[sampler.name] = sampler
        self.sample_args[sampler.name] = dict(sample_args or {})

    def hide(self, mujoco_objects: Any) -> None:
        """Place objects far away."""
        self.append_sampler(
            UniformRandomSampler(
                "HideSampler",
                mujoco_objects,
                x_range=HIDDEN,
                y_range=HIDDEN,
                rotation=0.0,
                z_offset=HIDDEN_HEIGHT,
                ensure_object_boundary_in_range=False,
                ensure_valid_placement=False,
            )
        )

    def add_objects(self, mujoco_objects: Any) -> None:
        """Refuse: objects belong to one of the samplers.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{self.name}: use add_objects_to_sampler(name, objects)")

    def add_objects_to_sampler(self, sampler_name: str, mujoco_objects: Any) -> None:
        """Add objects to one of the samplers.

        Raises:
            ValueError: there is no such sampler, or an object has been added already.
        """
        if sampler_name not in self.samplers:
            known = ", ".join(self.samplers)
            raise ValueError(f"{self.name}: no sampler {sampler_name!r} among {known}")
        super().add_objects(mujoco_objects)
        self.samplers[sampler_name].add_objects(mujoco_objects)

    def reset(self) -> None:
        """Forget all objects."""
        super().reset()
        for sampler in self.samplers.values():
            sampler.reset()

    def sample(
        self,
        fixtures: Mapping[str, Placed] | None = None,
        reference: Any = None,
        on_top: bool = True,
    ) -> dict[str, Placed]:
        """Poses of all objects, and those of `fixtures`, by name."""
        placed = dict(fixtures or {})
        for name, sampler in self.samplers.items():
            asked = {"reference": reference, "on_top": on_top, **self.sample_args[name]}
            placed.update(sampler.sample(fixtures=placed, **asked))
        return placed

    def draw_from(self, rng: np.random.Generator) -> None:
        """Let all samplers use an episode's generator."""
        super().draw_from(rng)
        for sampler in self.samplers.values():
            sampler.draw_from(rng)
