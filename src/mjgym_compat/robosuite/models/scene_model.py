"""The objects and robots in an environment's model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.placements import Extent
from mjgym.robots import bases, hands
from mjgym_compat.robosuite.models.base import Extended, MujocoModel

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

    def __post_init__(self) -> None:
        if not self.naming_prefix:
            object.__setattr__(self, "naming_prefix", f"{self.name}_")


@dataclass(frozen=True, eq=False)
class CompiledObject(Extended, CompiledModel):
    """An object of a task, with its dimensions for placement."""

    extent: Extent = NO_EXTENT

    @property
    def _space(self) -> Extent:
        return self.extent


@dataclass(frozen=True, eq=False)
class CompiledGripper(CompiledModel):
    """The gripper of a robot's arm.

    Args:
        dof: numbers of an action that move it.
        speed: of its fingers, half strokes per control step.
        init_qpos: initial joint positions, m or rad.
        important_geoms: "left_fingerpad" and "right_fingerpad", both touching a grasped object.
        important_sites: "grip_site", the tool.
        important_sensors: "force_ee" and "torque_ee".
    """

    dof: int = 0
    speed: float = 0.0
    init_qpos: np.ndarray = field(default_factory=lambda: np.zeros(0))
    actuators: tuple[str, ...] = ()
    important_geoms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    important_sites: dict[str, str] = field(default_factory=dict)
    important_sensors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CompiledRobot(CompiledModel):
    """A robot without its hands.

    Args:
        eef_name: the body that carries each arm's hand.
        models: its base, then its grippers.
    """

    eef_name: dict[str, str] = field(default_factory=dict)
    cameras: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    models: tuple[CompiledModel, ...] = ()

    @property
    def dof(self) -> int:
        return len(self.joints)

    @property
    def arm_type(self) -> str:
        """ "single" or "bimanual", by its number of arms."""
        return "bimanual" if len(self.eef_name) > 1 else "single"


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
    """Objects and robots of an environment's model, with their geoms and sites."""

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
    def mujoco_robots(self) -> list[CompiledRobot]:
        """The robots, each with its base and its grippers."""
        task: Any = self._env.task
        names = (task.robot,) if isinstance(task.robot, str) else task.robot
        return [self._robot(robot, name) for robot, name in zip(task.robots, names, strict=True)]

    def _robot(self, robot: Any, name: str) -> CompiledRobot:
        number = robot.number
        prefix, mount = f"robot{number}_", robot.base_prefix
        model = self._env.model
        stand = name_of(bases, robot.base)
        base = CompiledModel(
            f"{stand}{number}", class_name=stand, **self._parts(self._named(mount))
        )
        grippers = tuple(self._gripper(each) for each in robot.manipulators)
        bodies = self._named(prefix)
        cameras = [model.camera(i).name for i in range(model.ncam)]
        return CompiledRobot(
            name=f"{name}{number}",
            class_name=name,
            root_body=model.body(min(bodies)).name if bodies else "",
            naming_prefix=prefix,
            eef_name={each.side: each.link for each in robot.manipulators},
            cameras=tuple(camera for camera in cameras if camera.startswith(prefix)),
            actuators=tuple(motor for each in robot.manipulators for motor in each.motors),
            models=(base, *grippers),
            **self._parts(bodies) | {"joints": robot.joints},
        )

    def _gripper(self, each: Any) -> CompiledGripper:
        hand, prefix = each.hand, each.hand_prefix
        pads = [tuple(prefix + geom for geom in finger) for finger in hand.fingers]
        name = name_of(hands, hand)
        return CompiledGripper(
            name=f"{name}{each.robot}_{each.side}",
            class_name=name,
            root_body=each.link,
            naming_prefix=prefix,
            dof=hand.law.dimensions,
            speed=hand.law.speed,
            init_qpos=np.array(hand.start or [0.0] * len(hand.joints)),
            actuators=each.finger_actuators,
            important_geoms={
                "left_fingerpad": pads[0] if pads else (),
                "right_fingerpad": pads[-1] if pads else (),
            },
            important_sites={"grip_site": each.tool},
            important_sensors={"force_ee": f"{prefix}force_ee", "torque_ee": f"{prefix}torque_ee"},
            **self._parts(self._named(prefix)) | {"joints": each.finger_joints},
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
        """Class and geoms of all instances by name, in the published order."""
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


def name_of(catalogue: Any, part: Any) -> str:
    """The name of a part in a catalogue, or that of its class."""
    names = (name for name in catalogue.names() if catalogue.find(name) == part)
    return next(names, type(part).__name__)
