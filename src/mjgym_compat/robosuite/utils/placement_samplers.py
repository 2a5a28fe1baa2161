"""Samplers of object poses, for `placement_initializer`.

At the start of each episode a sampler receives its objects by `add_objects`, then `sample` returns
their poses. Without an explicit generator it uses the episode's, so that seeds reproduce it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mjgym.placements import Extent, Pose, Uniform
from mjgym_compat.robosuite.models.base import MujocoModel
from mjgym_compat.robosuite.models.scene_model import CompiledObject
from mjgym_compat.robosuite.utils import RandomizationError

HIDDEN = (-20.0, -10.0)  # m along x and y, where `hide` puts objects
HIDDEN_HEIGHT = 10.0  # m

Placed = tuple[Any, np.ndarray, Any]
"""Position (3,) m, quaternion w, x, y, z, and the object."""


def _listed(objects: MujocoModel | Iterable[MujocoModel] | None) -> list[MujocoModel]:
    if objects is None:
        return []
    return [objects] if isinstance(objects, MujocoModel) else list(objects)


class ObjectPositionSampler:
    """Base class of samplers; subclasses define `sample`.

    Args:
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
        self.mujoco_objects: list[Any] = _listed(mujoco_objects)
        self.ensure_object_boundary_in_range = ensure_object_boundary_in_range
        self.ensure_valid_placement = ensure_valid_placement
        self.reference_pos = reference_pos
        self.z_offset = z_offset
        self.rng = np.random.default_rng() if rng is None else rng
        self._rng_is_fixed = rng is not None

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
        if not self._rng_is_fixed:
            self.rng = rng


class UniformRandomSampler(ObjectPositionSampler):
    """Positions drawn uniformly from a rectangle, see `mjgym.placements.Uniform`.

    Args:
        mujoco_objects: as the arguments not named here, see `ObjectPositionSampler`.
        x_range: of the objects' frames relative to the reference, m.
        y_range: likewise along y.
        rotation: angle about `rotation_axis`: a number, a range, or None for any angle.
        rotation_axis: "x", "y" or "z" of the world.
        **kwargs: see `ObjectPositionSampler`.

    Raises:
        ValueError: there is no such axis, or a range is out of order.
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
        *args: Any,
        **kwargs: Any,
    ) -> None:
        whole, clear = ensure_object_boundary_in_range, ensure_valid_placement
        super().__init__(name, mujoco_objects, whole, clear, *args, **kwargs)
        self.x_range, self.y_range = x_range, y_range
        self.rotation, self.rotation_axis = rotation, rotation_axis
        self._law((0.0, 0.0, 0.0), 0.0)  # raises for invalid arguments

    def _law(self, reference: Any, z_offset: float) -> Uniform:
        several = self.rotation is not None and np.ndim(self.rotation)
        return Uniform(
            x_range=tuple(self.x_range),
            y_range=tuple(self.y_range),
            rotation=(min(self.rotation), max(self.rotation)) if several else self.rotation,
            rotation_axis=self.rotation_axis,
            whole=self.ensure_object_boundary_in_range,
            clear=self.ensure_valid_placement,
            reference=tuple(reference),
            z_offset=z_offset,
        )

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
            poses = {name: Pose(np.array(pos), quat) for name, (pos, quat, _) in placed.items()}
            extents = {name: other.extent for name, (_, _, other) in placed.items()}
            law = self._law(origin, self.z_offset + (0 if on_top else each.extent.bottom))
            try:
                pose = law.draw(self.rng, {**extents, each.name: each.extent}, poses)[each.name]
            except RuntimeError as error:
                raise RandomizationError(f"{self.name}: {error}") from None
            placed[each.name] = pose.pos, pose.quat, each
        return placed

    def _origin(self, placed: Mapping[str, Placed], reference: Any, on_top: bool) -> np.ndarray:
        if reference is None:
            return np.array(self.reference_pos, float)
        if not isinstance(reference, str):
            return np.array(reference, float).reshape(3)
        if reference not in placed:
            raise ValueError(f"{self.name}: {reference!r} is not among {', '.join(placed)}")
        position, _, base = placed[reference]
        return np.array(position) + ([0, 0, base.extent.top] if on_top else 0)


class SequentialCompositeSampler(ObjectPositionSampler):
    """Samplers applied in sequence, each avoiding the objects of the previous ones.

    Attributes:
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


class SampledPlacement:
    """A sampler as a task's placement; see `mjgym.placements.Placement`.

    Args:
        sampler: an `ObjectPositionSampler`, or an object with its methods.
    """

    objects: tuple[str, ...] = ()
    """Empty: it places all objects of the task."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def draw(
        self, rng: np.random.Generator, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        """Poses of the objects that have not been placed yet.

        Raises:
            RandomizationError: there is no free place for an object.
            ValueError: the sampler omitted an object, or placed an unknown one.
        """
        sampler = self.sampler
        objects = {
            name: CompiledObject(name, root_body=f"{name}_main", extent=extent)
            for name, extent in extents.items()
        }
        sampler.reset()
        if hasattr(sampler, "draw_from"):
            sampler.draw_from(rng)
        unplaced = [name for name in objects if name not in placed]
        if isinstance(sampler, SequentialCompositeSampler):
            for name in unplaced:
                sampler.add_objects_to_sampler(f"{name}Sampler", objects[name])
        else:
            sampler.add_objects([objects[name] for name in unplaced])
        fixtures = {name: (x.pos, x.quat, objects[name]) for name, x in placed.items()}
        poses = sampler.sample(fixtures=fixtures) if fixtures else sampler.sample()
        if missing := [name for name in unplaced if name not in poses]:
            raise ValueError(f"placement_initializer: nothing for {', '.join(missing)}")
        if more := [name for name in poses if name not in objects]:
            raise ValueError(f"placement_initializer: the task has no {', '.join(more)}")
        return {
            name: Pose(np.array(poses[name][0], float), np.array(poses[name][1], float))
            for name in unplaced
        }
