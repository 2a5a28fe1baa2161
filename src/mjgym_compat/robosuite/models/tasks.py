"""Scenes of an arena, robots and objects."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.robosuite.models.arenas import Arena
from mjgym_compat.robosuite.models.base import MujocoModel
from mjgym_compat.robosuite.models.object_models import MujocoObject
from mjgym_compat.robosuite.models.robots import RobotModel
from mjgym_compat.robosuite.models.scene_model import Instances
from mjgym_compat.robosuite.models.world import MujocoWorldBase

FURNITURE = ("table",)  # bodies without segmentation


def get_subtree_geom_ids_by_group(model: mujoco.MjModel, body_id: int, group: int) -> list[int]:
    """Ids of the geoms of a group in a body and those below it."""
    bodies = {body_id}
    bodies |= {i for i in range(body_id, model.nbody) if model.body_parentid[i] in bodies}
    geoms = np.flatnonzero(model.geom_group == group).tolist()
    return [i for i in geoms if model.geom_bodyid[i] in bodies]


class Task(MujocoWorldBase, Instances):
    """A scene.

    Args:
        mujoco_robots: one or several.
        mujoco_objects: one, several or none.

    Raises:
        TypeError: an object is none.
    """

    def __init__(self, mujoco_arena: Arena, mujoco_robots: Any, mujoco_objects: Any = None) -> None:
        super().__init__()
        one = isinstance(mujoco_robots, RobotModel)
        self.mujoco_arena = mujoco_arena
        self.mujoco_robots: list[Any] = [mujoco_robots] if one else list(mujoco_robots)
        alone = isinstance(mujoco_objects, MujocoObject)
        self.mujoco_objects = [mujoco_objects] if alone else list(mujoco_objects or ())
        self._arena_bodies = [
            body.get("name", "") for body in mujoco_arena.worldbody.findall("body")
        ]
        self.merge_arena(mujoco_arena)
        for robot in self.mujoco_robots:
            self.merge_robot(robot)
        self.merge_objects(self.mujoco_objects)

    def merge_arena(self, mujoco_arena: Arena) -> None:
        self.merge(mujoco_arena)

    def merge_robot(self, mujoco_robot: Any) -> None:
        self.merge(mujoco_robot)

    def merge_objects(self, mujoco_objects: Sequence[Any]) -> None:
        """Add objects with their assets.

        Raises:
            TypeError: one is no object.
        """
        for each in mujoco_objects:
            if not isinstance(each, MujocoObject):
                raise TypeError(f"mujoco_objects: expected objects, got {type(each).__name__}")
            self.merge_assets(each)
            self.worldbody.append(each.get_obj())

    def generate_id_mappings(self, sim: Any) -> None:
        """Look up the geoms of all instances in a compiled model."""
        models: list[MujocoModel] = [*self.mujoco_objects]
        for robot in self.mujoco_robots:
            models += [robot, *robot.models]
        groups: dict[str, tuple[str, list[int]]] = {}
        for model in models:
            names = [*model.visual_geoms, *model.contact_geoms]
            ids = [sim.model.geom_name2id(name) for name in names]
            groups[model.name] = (type(model).__name__, ids)
        for name in self._arena_bodies:
            if not name.startswith(FURNITURE):
                body = sim.model.body_name2id(name)
                ids = np.flatnonzero(sim.model.geom_bodyid == body).tolist()
                groups[name] = (name, ids)
        self.set_groups(groups, sim.model.ngeom)


class ManipulationTask(Task):
    """A scene of robots that manipulate objects."""


__path__: list[str] = []  # it answers for modules of others
