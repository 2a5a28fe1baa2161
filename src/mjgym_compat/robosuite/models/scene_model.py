"""The objects and robots in an environment's model."""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.placements import Extent
from mjgym.robots import bases, hands
from mjgym_compat.robosuite.models.base import Extended, MujocoModel
from mjgym_compat.robosuite.models.bases import RobotBaseModel
from mjgym_compat.robosuite.models.grippers import (
    GripperModel,
    RegisteredHand,
    gripper_factory,
)
from mjgym_compat.robosuite.models.robots import create_robot

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
NO_EXTENT = Extent(0.0, 0.0, 0.0)  # of objects that are not placed
VISIBLE = 0.5  # opacity of visible sites


@dataclass(frozen=True, eq=False)
class CompiledModel(MujocoModel):
    """Elements of a compiled model that belong together.

    Args:
        name: e.g. "cube".
        root_body: the body that carries all others.
        class_name: class in `camera_segmentations="class"`.
        naming_prefix: of its elements' names; by default "<name>_".
        models: those on a robot: its base, then its grippers.
        make: makes the model in XML that has all other attributes.
    """

    name: str
    root_body: str = ""
    contact_geoms: tuple[str, ...] = ()
    visual_geoms: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    class_name: str = ""
    geom_ids: tuple[int, ...] = field(default=(), repr=False)
    naming_prefix: str = ""
    arms: tuple[str, ...] = ()
    models: tuple["CompiledModel", ...] = ()
    make: Callable[[], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.naming_prefix:
            object.__setattr__(self, "naming_prefix", f"{self.name}_")

    @cached_property
    def _made(self) -> Any:
        return self.make and self.make()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._made is None:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return getattr(self._made, name)


@dataclass(frozen=True, eq=False)
class CompiledObject(Extended, CompiledModel):
    """An object of a task, with its dimensions for placement."""

    extent: Extent = NO_EXTENT

    @property
    def _space(self) -> Extent:
        return self.extent


class Instances:
    """The geoms of each object, robot, gripper and base, for segmentation.

    `set_groups` stores the class and the geom ids of each, by name.
    """

    _groups: dict[str, tuple[str, list[int]]]
    _numbers: dict[str, np.ndarray]

    def set_groups(self, groups: Mapping[str, tuple[str, list[int]]], ngeom: int) -> None:
        self._groups = {name: group for name, group in groups.items() if group[1]}
        self._numbers = {}
        # The number of each geom's instance or class, from 1; 0 for geoms without one.
        for kind, ids in (("instance", self.instances_to_ids), ("class", self.classes_to_ids)):
            self._numbers[kind] = np.zeros(ngeom + 1, np.int32)
            for number, each in enumerate(ids.values(), start=1):
                self._numbers[kind][each["geom"]] = number

    @property
    def instances_to_ids(self) -> dict[str, dict[str, list[int]]]:
        """The geoms of each instance, by its name."""
        return {name: {"geom": list(ids)} for name, (_, ids) in self._groups.items()}

    @property
    def classes_to_ids(self) -> dict[str, dict[str, list[int]]]:
        """The geoms of each class of instances, by its name."""
        classes: dict[str, dict[str, list[int]]] = {}
        for kind, ids in self._groups.values():
            classes.setdefault(kind, {"geom": []})["geom"] += ids
        return classes

    @property
    def geom_ids_to_instances(self) -> dict[int, str]:
        return {i: name for name, ids in self.instances_to_ids.items() for i in ids["geom"]}

    @property
    def geom_ids_to_classes(self) -> dict[int, str]:
        return {i: name for name, ids in self.classes_to_ids.items() for i in ids["geom"]}

    def segmented(self, elements: np.ndarray, kind: str) -> np.ndarray:
        """Types and ids of elements (..., 2) as geom ids, or as numbers of instances or classes.

        Args:
            elements: of `Simulation.render`.
            kind: "element", "instance" or "class".

        Returns:
            int32 (...), with the background -1 for "element" and 0 for the others.
        """
        geoms = np.where(elements[..., 0] == GEOM, elements[..., 1], -1)
        return geoms.astype(np.int32) if kind == "element" else self._numbers[kind][geoms]


class Scene(Instances):
    """Objects and robots of an environment's model, with their geoms and sites.

    Attributes:
        mujoco_arena: sizes (m), place and friction of the task's table.
    """

    mujoco_arena: Any

    def __init__(self, env: Env) -> None:
        self._env = env
        self.set_groups(self._find_instances(), env.model.ngeom)

    @cached_property
    def mujoco_objects(self) -> list[CompiledObject]:
        """The task's objects."""
        task: Any = self._env.task
        extents = task.extents(self._env.view)
        return [
            CompiledObject(
                name,
                root_body=task.body_of(name),
                class_name=CLASSES.get(name, f"{name}Object"),
                extent=extents.get(name, NO_EXTENT),
                **self._parts(self._below(task.body_of(name))),
            )
            for name in task.object_names
        ]

    @cached_property
    def mujoco_robots(self) -> list[CompiledModel]:
        """The robots, each with its base and its grippers."""
        task: Any = self._env.task
        names = (task.robot,) if isinstance(task.robot, str) else task.robot
        return [self._robot(robot, name) for robot, name in zip(task.robots, names, strict=True)]

    def _robot(self, robot: Any, name: str) -> CompiledModel:
        number, base, model = robot.number, robot.base, self._env.model
        stand, bodies = name_of(bases, base), self._named(f"robot{number}_")
        foot = CompiledModel(
            f"{stand}{number}",
            class_name=stand,
            make=lambda: RobotBaseModel(base, number),
            **self._parts(self._named(robot.base_prefix)),
        )
        grips = [self._gripper(each) for each in robot.manipulators]

        def make() -> Any:
            whole: Any = create_robot(name, idn=number)
            whole.add_base(RobotBaseModel(base, number))
            for each in robot.manipulators:
                whole.add_gripper(_hand(each), each.link)
            return whole

        return CompiledModel(
            name=f"{name}{number}",
            class_name=name,
            root_body=model.body(min(bodies)).name if bodies else "",
            naming_prefix=f"robot{number}_",
            arms=tuple(each.side for each in robot.manipulators),
            models=(foot, *grips),
            make=make,
            **self._parts(bodies) | {"joints": robot.joints},
        )

    def _gripper(self, each: Any) -> CompiledModel:
        name = name_of(hands, each.hand)
        return CompiledModel(
            name=f"{name}{each.robot}_{each.side}",
            class_name=name,
            root_body=each.link,
            naming_prefix=each.hand_prefix,
            make=lambda: _hand(each),
            **self._parts(self._named(each.hand_prefix)) | {"joints": each.finger_joints},
        )

    # Bodies and their elements.

    def _named(self, prefix: str) -> set[int]:
        model = self._env.model
        return {i for i in range(model.nbody) if model.body(i).name.startswith(prefix)}

    def _below(self, root: str) -> set[int]:
        model = self._env.model
        bodies = {int(model.body(root).id)}
        for i in range(model.nbody):  # parents come before their children
            if int(model.body_parentid[i]) in bodies:
                bodies.add(i)
        return bodies

    def _parts(self, bodies: Iterable[int]) -> dict[str, Any]:
        model, ids = self._env.model, list(bodies)

        def rows(body_of_each: np.ndarray) -> list[int]:
            return np.flatnonzero(np.isin(body_of_each, ids)).tolist()

        def named(geoms: list[int]) -> tuple[str, ...]:
            return tuple(model.geom(i).name for i in geoms if model.geom(i).name)

        geoms = rows(model.geom_bodyid)
        touch = [i for i in geoms if model.geom_contype[i] or model.geom_conaffinity[i]]
        return {
            "geom_ids": tuple(geoms),
            "contact_geoms": named(touch),
            "visual_geoms": named([i for i in geoms if i not in touch]),
            "joints": tuple(model.joint(i).name for i in rows(model.jnt_bodyid)),
            "sites": tuple(model.site(i).name for i in rows(model.site_bodyid)),
        }

    # Segmentation by instance and class.

    def _find_instances(self) -> dict[str, tuple[str, list[int]]]:
        instances: list[CompiledModel] = [*self.mujoco_objects]
        for robot in self.mujoco_robots:
            instances += [robot, *robot.models]
        groups = {each.name: (each.class_name, list(each.geom_ids)) for each in instances}
        taken = {i for _, ids in groups.values() for i in ids}
        model = self._env.model
        for body in range(1, model.nbody):
            name = model.body(body).name
            if model.body_parentid[body] == 0 and not name.startswith(FURNITURE):
                ids = self._parts(self._below(name) if name else {body})["geom_ids"]
                groups.setdefault(name, (name, [i for i in ids if i not in taken]))
        return groups

    def show_sites(self, settings: Mapping[str, bool]) -> None:
        """Show or hide the sites of the "env", the "robots" and the "grippers"."""
        groups: dict[str, list[CompiledModel]] = {
            "env": [*self.mujoco_objects],
            "robots": [*self.mujoco_robots],
            "grippers": [m for robot in self.mujoco_robots for m in robot.models[1:]],
        }
        model = self._env.model
        for name, visible in settings.items():
            for each in groups.get(name, ()):
                for site in each.sites:
                    model.site(site).rgba[3] = VISIBLE if visible else 0.0


def _hand(each: Any) -> GripperModel:
    idn = f"{each.robot}_{each.side}"
    if isinstance(each.hand, RegisteredHand):
        return gripper_factory(name_of(hands, each.hand), idn)
    return GripperModel(io.StringIO(each.hand.model().to_xml()), idn, each.hand)


def name_of(catalogue: Any, part: Any) -> str:
    """The name of a part in a catalogue, or that of its class."""
    names = (name for name in catalogue.names() if catalogue.find(name) == part)
    return next(names, type(part).__name__)
