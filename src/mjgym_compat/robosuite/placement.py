"""robosuite's samplers of object poses, for the argument `placement_initializer` of `make`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.placements import Extent, Pose
from mjgym_compat.robosuite.scene_parts import Part


class SampledPlacement:
    """A sampler as a task's placement; see `mjgym.placements.Placement`.

    Args:
        sampler: an object with the methods of robosuite's `ObjectPositionSampler`; one with a
            generator `rng` gets the episode's, so that seeds reproduce it.
    """

    objects: tuple[str, ...] = ()
    """Empty: it places all objects of the task."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def draw(
        self, rng: np.random.Generator, extents: Mapping[str, Extent], placed: Mapping[str, Pose]
    ) -> dict[str, Pose]:
        """Poses of the objects that have not been placed yet."""
        sampler, parts = self.sampler, getattr(self.sampler, "samplers", {})
        objects = {n: Part(n, root_body=f"{n}_main", extent=x) for n, x in extents.items()}
        unplaced = [name for name in objects if name not in placed]
        sampler.reset()
        for each in (sampler, *parts.values()):
            each.rng = rng
        if parts:
            for name in unplaced:
                sampler.add_objects_to_sampler(f"{name}Sampler", [objects[name]])
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
