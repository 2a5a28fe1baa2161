"""The objects, robots, grippers and bases of a scene, with their elements."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.placements import Extent
from mjgym.robots import bases, hands

# Published object classes, for "class" segmentation.
CLASSES = {
    **dict.fromkeys(("cube", "cubeA", "cubeB", "trash"), "BoxObject"),
    **dict.fromkeys(("hammer", "payload"), "HammerObject"),
    **dict.fromkeys(("transport_start_bin", "transport_target_bin", "transport_trash_bin"), "Bin"),
    "transport_start_bin_lid": "Lid",
    "pot": "PotWithHandlesObject",
    "stand": "StandWithMount",
    "frame": "HookFrame",
    "tool": "RatchetingWrenchObject",
}
FURNITURE = "table"  # name prefix of bodies without segmentation
GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
NO_EXTENT = Extent(0.0, 0.0, 0.0)  # of objects that are not placed
VISIBLE = 0.5  # opacity of visible sites


@dataclass(frozen=True, eq=False)
class Part:
    """Elements of a scene that belong together, by their names."""

    name: str  # e.g. "cube" or "Panda0"
    class_name: str = ""  # in `camera_segmentations="class"`
    root_body: str = ""
    contact_geoms: tuple[str, ...] = ()  # that touch others
    joints: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    geom_ids: tuple[int, ...] = field(default=(), repr=False)  # also those without a name
    extent: Extent = NO_EXTENT

    # What samplers of placements read.

    @property
    def horizontal_radius(self) -> float:
        return float(self.extent.radius)

    @property
    def bottom_offset(self) -> np.ndarray:
        return np.array([0.0, 0.0, self.extent.bottom])

    @property
    def top_offset(self) -> np.ndarray:
        return np.array([0.0, 0.0, self.extent.top])

    @property
    def init_quat(self) -> np.ndarray:
        """Its orientation before a sampler rotates it, w, x, y, z.

        As in robosuite, objects that begin upright have none: its samplers multiply quaternions in
        another order of their numbers, in which this would be no identity.
        """
        if self.extent.quat == UPRIGHT:
            raise AttributeError("init_quat")
        return np.array(self.extent.quat)


class Scene:
    """Objects, robots, grippers and bases of an environment's model."""

    def __init__(self, env: Env) -> None:
        self._env = env
        task: Any = env.task
        extents = task.extents(env.view)
        self.mujoco_objects = [
            self._part(
                name,
                CLASSES.get(name, f"{name}Object"),
                self._below(task.body_of(name)),
                extent=extents.get(name, NO_EXTENT),
            )
            for name in task.object_names
        ]
        names = (task.robot,) if isinstance(task.robot, str) else task.robot
        self._robots: list[Part] = []
        self._grippers: list[Part] = []
        self._equipment: list[Part] = []  # each robot, its base, its grippers
        for robot, name in zip(task.robots, names, strict=True):
            bodies, foot = self._named(f"robot{robot.number}_"), _name_of(bases, robot.base)
            self._robots.append(self._part(f"{name}{robot.number}", name, bodies))
            below = self._part(f"{foot}{robot.number}", foot, self._named(robot.base_prefix))
            self._equipment += [self._robots[-1], below]
            for each in robot.manipulators:
                hand = _name_of(hands, each.hand)
                own = f"{hand}{each.robot}_{each.side}"
                self._grippers.append(self._part(own, hand, self._named(each.hand_prefix)))
                self._equipment.append(self._grippers[-1])

    # Bodies and their elements.

    def _named(self, prefix: str) -> list[int]:
        model = self._env.model
        return [i for i in range(model.nbody) if model.body(i).name.startswith(prefix)]

    def _below(self, root: str) -> list[int]:
        model = self._env.model
        bodies = [int(model.body(root).id)]
        for i in range(model.nbody):  # parents come before their children
            if int(model.body_parentid[i]) in bodies:
                bodies.append(i)
        return bodies

    def _part(self, name: str, kind: str, bodies: list[int], **others: Any) -> Part:
        model = self._env.model

        def rows(body_of_each: np.ndarray) -> list[int]:
            return np.flatnonzero(np.isin(body_of_each, bodies)).tolist()

        geoms = rows(model.geom_bodyid)
        touch = [i for i in geoms if model.geom_contype[i] or model.geom_conaffinity[i]]
        return Part(
            name,
            kind,
            root_body=model.body(bodies[0]).name if bodies else "",
            contact_geoms=tuple(n for i in touch if (n := model.geom(i).name)),
            joints=tuple(model.joint(i).name for i in rows(model.jnt_bodyid)),
            sites=tuple(model.site(i).name for i in rows(model.site_bodyid)),
            geom_ids=tuple(geoms),
            **others,
        )

    # Segmentation by instance and class.

    @cached_property
    def _groups(self) -> dict[str, tuple[str, list[int]]]:
        """Class and geoms of each instance, by its name."""
        parts = [*self.mujoco_objects, *self._equipment]
        groups = {each.name: (each.class_name, list(each.geom_ids)) for each in parts}
        taken = {i for _, ids in groups.values() for i in ids}
        model = self._env.model
        for body in range(1, model.nbody):
            name = model.body(body).name
            if model.body_parentid[body] == 0 and not name.startswith(FURNITURE):
                ids = self._part(name, name, self._below(name) if name else [body]).geom_ids
                groups.setdefault(name, (name, [i for i in ids if i not in taken]))
        return {name: group for name, group in groups.items() if group[1]}

    @property
    def instances_to_ids(self) -> dict[str, dict[str, list[int]]]:
        return {name: {"geom": list(ids)} for name, (_, ids) in self._groups.items()}

    @property
    def classes_to_ids(self) -> dict[str, dict[str, list[int]]]:
        """The geoms of each class of instances, by its name."""
        classes: dict[str, dict[str, list[int]]] = {}
        for kind, ids in self._groups.values():
            classes.setdefault(kind, {"geom": []})["geom"] += ids
        return classes

    def segmented(self, elements: np.ndarray, kind: str) -> np.ndarray:
        """Types and ids of elements (..., 2) as geom ids, or as numbers of instances or classes.

        The background is -1 for the kind "element", and 0 for "instance" and "class".
        """
        geoms = np.where(elements[..., 0] == GEOM, elements[..., 1], -1)
        if kind == "element":
            return geoms.astype(np.int32)
        groups = self.instances_to_ids if kind == "instance" else self.classes_to_ids
        numbers = np.zeros(self._env.model.ngeom + 1, np.int32)
        for number, each in enumerate(groups.values(), start=1):
            numbers[each["geom"]] = number
        return numbers[geoms]

    def show_sites(self, settings: Mapping[str, bool]) -> None:
        """Show or hide the sites of the "env", the "robots" and the "grippers"."""
        groups: dict[str, Iterable[Part]] = {
            "env": self.mujoco_objects,
            "robots": self._robots,
            "grippers": self._grippers,
        }
        model = self._env.model
        for name, visible in settings.items():
            for site in (site for each in groups.get(name, ()) for site in each.sites):
                model.site(site).rgba[3] = VISIBLE if visible else 0.0


def _name_of(catalogue: Any, part: Any) -> str:
    names = (name for name in catalogue.names() if catalogue.find(name) == part)
    return next(names, type(part).__name__)
