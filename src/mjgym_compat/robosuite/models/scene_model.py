"""The objects and robots in an environment's model."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.robots import bases, hands
from mjgym_compat.robosuite.episodes import Episodes
from mjgym_compat.robosuite.models.grippers import GripperModel
from mjgym_compat.robosuite.models.objects import NO_EXTENT, MujocoModel, MujocoObject
from mjgym_compat.robosuite.models.robots import RobotModel

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
VISIBLE = 0.5  # opacity of visible sites


class Scene:
    """Objects and robots of an environment's model, with their geoms and sites.

    Args:
        env: the environment.
        episodes: arguments about episodes and images.
    """

    def __init__(self, env: Env, episodes: Episodes) -> None:
        self._env = env
        self._segments = any(picture.segmentations for picture in episodes.pictures(env.model))

    @cached_property
    def mujoco_objects(self) -> list[MujocoObject]:
        """The task's objects."""
        task: Any = self._env.task
        extents = task.extents(self._env.view)
        return [
            MujocoObject(
                name,
                root_body=task.body_of(name),
                class_name=CLASSES.get(name, f"{name}Object"),
                extent=extents.get(name, NO_EXTENT),
                **self._parts(self._below(task.body_of(name))),
            )
            for name in task.object_names
        ]

    @cached_property
    def mujoco_robots(self) -> list[RobotModel]:
        """The robots, each with its base and its grippers."""
        task: Any = self._env.task
        names = (task.robot,) if isinstance(task.robot, str) else task.robot
        return [self._robot(robot, name) for robot, name in zip(task.robots, names, strict=True)]

    def _robot(self, robot: Any, name: str) -> RobotModel:
        number = robot.number
        prefix, mount = f"robot{number}_", f"fixed_mount{number}_"
        model = self._env.model
        stand = name_of(bases, robot.base)
        base = MujocoModel(f"{stand}{number}", class_name=stand, **self._parts(self._named(mount)))
        grippers = tuple(self._gripper(each) for each in robot.manipulators)
        bodies = self._named(prefix)
        cameras = [model.camera(i).name for i in range(model.ncam)]
        return RobotModel(
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

    def _gripper(self, each: Any) -> GripperModel:
        hand, prefix = each.hand, each.hand_prefix
        pads = [tuple(prefix + geom for geom in finger) for finger in hand.fingers]
        name = name_of(hands, hand)
        return GripperModel(
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

    @cached_property
    def _instances(self) -> list[MujocoModel]:
        """All instances for segmentation, in the published order."""
        instances: list[MujocoModel] = [*self.mujoco_objects]
        for robot in self.mujoco_robots:
            instances += [robot, *robot.models]
        taken = {i for each in instances for i in each.geom_ids}
        model = self._env.model
        for body in range(1, model.nbody):
            name = model.body(body).name
            if model.body_parentid[body] == 0 and not name.startswith(FURNITURE):
                parts = self._parts(self._below(name) if name else {body})
                geom_ids = tuple(i for i in parts["geom_ids"] if i not in taken)
                if geom_ids:
                    kind = {"name": name, "class_name": name, "root_body": name}
                    instances.append(MujocoModel(**{**parts, **kind, "geom_ids": geom_ids}))
        return [each for each in instances if each.geom_ids]

    @property
    def instances_to_ids(self) -> dict[str, dict[str, list[int]]]:
        """The geoms of each instance, by its name."""
        return {each.name: {"geom": list(each.geom_ids)} for each in self._instances}

    @property
    def classes_to_ids(self) -> dict[str, dict[str, list[int]]]:
        """The geoms of each class of instances, by its name."""
        classes: dict[str, dict[str, list[int]]] = {}
        for each in self._instances:
            classes.setdefault(each.class_name, {"geom": []})["geom"] += each.geom_ids
        return classes

    @property
    def geom_ids_to_instances(self) -> dict[int, str]:
        return {i: name for name, ids in self.instances_to_ids.items() for i in ids["geom"]}

    @property
    def geom_ids_to_classes(self) -> dict[int, str]:
        return {i: name for name, ids in self.classes_to_ids.items() for i in ids["geom"]}

    @cached_property
    def _numbers(self) -> dict[str, np.ndarray]:
        """The number of each geom's instance or class, from 1; 0 for geoms without one."""
        by_kind = {}
        for kind, groups in (("instance", self.instances_to_ids), ("class", self.classes_to_ids)):
            numbers = np.zeros(self._env.model.ngeom + 1, np.int32)
            for number, ids in enumerate(groups.values(), start=1):
                numbers[ids["geom"]] = number
            by_kind[kind] = numbers
        return by_kind

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

    def show_sites(self, settings: Mapping[str, bool]) -> None:
        """Show or hide the sites of the "env", the "robots" and the "grippers"."""
        groups: dict[str, list[MujocoModel]] = {
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
