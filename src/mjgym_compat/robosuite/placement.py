"""robosuite's samplers as a task's placement."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mjgym_compat.robosuite.models.objects import MujocoObject
from mjgym_compat.robosuite.utils.placement_samplers import SequentialCompositeSampler


class Pose(NamedTuple):
    """Pose of an object's frame in the world: (3,) m and a quaternion (4,)."""

    pos: np.ndarray
    quat: np.ndarray


class SampledPlacement:
    """Poses from a sampler; see `mjgym.tasks.robosuite.placements.Placement`.

    Args:
        sampler: an `ObjectPositionSampler`, or an object with its methods.
    """

    objects: tuple[str, ...] = ()
    """Empty: it places all objects of the task."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def draw(
        self, rng: np.random.Generator, extents: Mapping[str, Any], placed: Mapping[str, Any]
    ) -> dict[str, Pose]:
        """Poses of the objects that have not been placed yet.

        Raises:
            RandomizationError: there is no free place for an object.
            ValueError: the sampler omitted an object, or placed an unknown one.
        """
        sampler = self.sampler
        objects = {
            name: MujocoObject.with_extent(extent, name=name, root_body=f"{name}_main")
            for name, extent in extents.items()
        }
        sampler.reset()
        if hasattr(sampler, "draw_from"):
            sampler.draw_from(rng)
        wanted = [name for name in objects if name not in placed]
        if isinstance(sampler, SequentialCompositeSampler):
            for name in wanted:
                sampler.add_objects_to_sampler(f"{name}Sampler", objects[name])
        else:
            sampler.add_objects([objects[name] for name in wanted])
        fixtures = {name: (x.pos, x.quat, objects[name]) for name, x in placed.items()}
        found = sampler.sample(fixtures=fixtures) if fixtures else sampler.sample()
        if missing := [name for name in wanted if name not in found]:
            raise ValueError(f"placement_initializer: nothing for {', '.join(missing)}")
        if more := [name for name in found if name not in objects]:
            raise ValueError(f"placement_initializer: the task has no {', '.join(more)}")
        return {
            name: Pose(np.array(found[name][0], float), np.array(found[name][1], float))
            for name in wanted
        }
