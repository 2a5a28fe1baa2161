"""Robots by their names, as models of their own."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjgym.robots import Arm, arms
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.base import MujocoModel, MujocoXMLModel
from mjgym_compat.robosuite.models.bases import RobotBaseModel
from mjgym_compat.robosuite.models.grippers import GripperModel
from mjgym_compat.robosuite.utils.mjcf_utils import array_to_string, find_elements, find_parent

REGISTERED_ROBOTS: dict[str, type["RobotModel"]] = {}
ABSTRACT = (
    *("RobotModel", "ManipulatorModel", "HumanoidModel", "HumanoidUpperBodyModel"),
    "LeggedManipulatorModel",
)
HUMANOID = "GR1"  # beginning of the names of robots with legs, arms and a head
GROUPS = {"base": "mobilebase", "torso": "torso", "head": "head", "legs": "leg"}
"""Joints and actuators by a part of their names."""
BESIDE_BINS = -0.1  # m, along y


def register_robot(target_class: type["RobotModel"]) -> type["RobotModel"]:
    """Make a robot known by the name of its class."""
    REGISTERED_ROBOTS[target_class.__name__] = target_class
    return target_class


def create_robot(robot_name: str, *args: Any, **kwargs: Any) -> "RobotModel":
    """A robot by its name.

    Raises:
        ValueError: there is no such robot; the message names the nearest.
    """
    if robot_name not in REGISTERED_ROBOTS:
        raise ValueError(f"robot_name: no {robot_name!r}{or_else(robot_name, REGISTERED_ROBOTS)}")
    return REGISTERED_ROBOTS[robot_name](*args, **kwargs)


class RobotModel(MujocoXMLModel):
    """A robot; subclasses are registered by their names.

    Attributes:
        base: its base, once `add_base` has been called.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__name__ not in ABSTRACT:
            register_robot(cls)

    def __init__(self, fname: Any, idn: Any = 0) -> None:
        super().__init__(fname, idn)
        self.base: RobotBaseModel | None = None
        self.cameras = self.get_element_names(self.worldbody, "camera")
        frame = ET.Element("frame")
        frame.extend(list(self.worldbody))
        self.worldbody[:] = [frame]
        self._frame = frame
        count = len(self._joints)
        armature = [5.0 / (i + 1) for i in range(count)]
        for attribute, values in (
            ("frictionloss", [0.1] * count),
            ("damping", [0.1] * count),
            ("armature", armature),
        ):
            self.set_joint_attribute(attribute, values, force=False)

    @property
    def naming_prefix(self) -> str:
        return f"robot{self.idn}_"

    @property
    def dof(self) -> int:
        return len(self._joints)

    @property
    def models(self) -> list[MujocoModel]:
        """Its base."""
        return [self.base] if self.base is not None else []

    def set_base_xpos(self, pos: Any) -> None:
        """Set the position of the robot, with its base, (3,) m."""
        self._frame.set("pos", array_to_string(pos))

    def set_base_ori(self, rot: Any) -> None:
        """Turn it, by angles about its axes x, then y, then z, rad."""
        quat = np.zeros(4)
        mujoco.mju_euler2Quat(quat, np.asarray(rot, float), "xyz")
        self._frame.set("quat", array_to_string(quat))

    def set_joint_attribute(self, attrib: str, values: Any, force: bool = True) -> None:
        """Set an attribute of all its joints.

        Args:
            force: whether to replace values that joints have.

        Raises:
            ValueError: the number of values is not that of joints.
        """
        if len(values) != len(self._joints):
            raise ValueError(f"{attrib}: {len(values)} values for {len(self._joints)} joints")
        for name, value in zip(self.joints, values, strict=True):
            joint = find_elements(self.worldbody, "joint", {"name": name})
            if joint is not None and (force or attrib not in joint.attrib):
                joint.set(attrib, array_to_string(np.ravel(value)))

    def add_base(self, base: RobotBaseModel) -> None:
        """Put it on a base.

        Raises:
            ValueError: it has one.
        """
        if self.base is not None:
            raise ValueError(f"{self.name}: stands on {self.base.name} already")
        self.base = base
        robot = list(self._frame)
        self._frame[:] = list(base.worldbody)
        self.merge(base, merge_body=None)
        mount = find_elements(self._frame, "site", {"name": base.mount})
        attach(self._frame, mount, robot)

    add_mount = add_mobile_base = add_leg_base = add_null_base = add_base

    @property
    def mujoco_model(self) -> mujoco.MjModel:
        """The robot alone, compiled."""
        return self.get_model()

    @property
    def bottom_offset(self) -> np.ndarray:
        return -self.base.top_offset if self.base is not None else np.zeros(3)

    @property
    def horizontal_radius(self) -> float:
        return max(0.5, self.base.horizontal_radius if self.base is not None else 0.0)

    @property
    def top_offset(self) -> np.ndarray:
        return np.array([0.0, 0.0, 1.0])


def attach(root: ET.Element, site: ET.Element, children: list[ET.Element]) -> None:
    """Put elements into the body of a site, in the site's frame."""
    parent = find_parent(root, site)
    assert parent is not None, "the site stands in no body"
    pose = {key: site.get(key, "") for key in ("pos", "quat", "euler") if site.get(key)}
    frame = ET.SubElement(parent, "frame", pose) if pose else parent
    frame.extend(children)


class ManipulatorModel(RobotModel):
    """A robot with arms that hold grippers.

    Attributes:
        arms: "right", or "right" and "left".
        grippers: those that have been added, by their names.
    """

    arms: ClassVar[list[str]] = ["right"]
    arm: Arm | None = None  # of `mjgym.robots.arms`, if it is one

    def __init__(self, fname: Any, idn: Any = 0) -> None:
        super().__init__(fname, idn)
        self.grippers: dict[str, GripperModel] = {}

    @property
    def models(self) -> list[MujocoModel]:
        """Its base, then its grippers."""
        return [*super().models, *self.grippers.values()]

    @property
    def _eef_name(self) -> dict[str, str]:
        if self.arm is None:
            return {side: f"{side}_hand" for side in self.arms}
        return {side: limb.link for side, limb in self.arm.limbs.items()}

    @property
    def eef_name(self) -> dict[str, str]:
        """The body that carries each arm's hand."""
        return dict(self.correct_naming(self._eef_name))

    def add_gripper(self, gripper: GripperModel, arm_name: str | None = None) -> None:
        """Put a gripper on an arm.

        Args:
            arm_name: the body that carries it; by default the first arm's.

        Raises:
            ValueError: there is no such body, or the gripper has been added.
        """
        name = arm_name or next(iter(self.eef_name.values()))
        if gripper in self.grippers.values():
            raise ValueError(f"{self.name}: holds {gripper.name} already")
        body = find_elements(self.worldbody, "body", {"name": name})
        if body is None:
            hint = or_else(name, self.bodies)
            raise ValueError(f"arm_name: {self.name} has no body {name!r}{hint}")
        wrists = {limb.wrist for limb in self.arm.limbs.values()} if self.arm else set()
        wanted = {f"{self.naming_prefix}{wrist}" for wrist in wrists}
        site = next((each for each in body.findall("site") if each.get("name") in wanted), None)
        children = list(gripper.worldbody)
        if site is None:
            body.extend(children)
        else:
            attach(self.worldbody, site, children)
        self.merge(gripper, merge_body=None)
        self.grippers[gripper.name] = gripper

    @property
    def arm_type(self) -> str:
        """ "single" or "bimanual", by its number of arms."""
        return "bimanual" if len(self.arms) > 1 else "single"

    def __getattr__(self, name: str) -> Any:
        """`all_joints`, and `torso_joints`, `base_actuators` and the like, by their names."""
        group, _, kind = name.partition("_")
        if kind in ("joints", "actuators") and group in (*GROUPS, "all"):
            below = [] if self.base is None else getattr(self.base, kind)
            word = GROUPS.get(group, "")
            return [each for each in [*super().__getattr__(kind), *below] if word in each]
        return super().__getattr__(name)

    # Of robots here; robots of one's own override them.

    @property
    def _limbs(self) -> Arm:
        if self.arm is None:
            raise NotImplementedError(f"{type(self).__name__} must define it")
        return self.arm

    @property
    def default_base(self) -> str:
        return self._limbs.base

    @property
    def default_arms(self) -> dict[str, str]:
        return dict.fromkeys(self.arms, type(self).__name__)

    @property
    def default_gripper(self) -> dict[str, str]:
        arm = self._limbs
        return {side: limb.hand or arm.hand for side, limb in arm.limbs.items()}

    @property
    def default_controller_config(self) -> dict[str, str]:
        return {side: f"default_{type(self).__name__.lower()}" for side in self.arms}

    @property
    def init_qpos(self) -> np.ndarray:
        """Initial positions of its joints, rad or m."""
        return np.array(self._limbs.start)

    @property
    def arm_joints(self) -> list[str]:
        limbs = self._limbs.limbs.values()
        return list(self.correct_naming([joint for limb in limbs for joint in limb.joints]))

    @property
    def arm_actuators(self) -> list[str]:
        limbs = self._limbs.limbs.values()
        return list(self.correct_naming([each for limb in limbs for each in limb.actuators]))

    @property
    def base_xpos_offset(self) -> Mapping[str, Any]:
        """Its places: "bins" and "empty", (3,) m, and "table", a function of the table's length."""
        arm = self._limbs
        return {
            "bins": (-arm.bins_distance, BESIDE_BINS, arm.height),
            "empty": (-arm.centre_distance, 0.0, arm.height),
            "table": lambda length: (-arm.table_distance - length / 2, 0.0, arm.height),
        }


class HumanoidModel(ManipulatorModel):
    """A robot with a body like a human's."""


class HumanoidUpperBodyModel(ManipulatorModel):
    """The upper half of a humanoid."""


class LeggedManipulatorModel(ManipulatorModel):
    """A robot with arms and legs."""


def _robot(name: str, found: Arm) -> type[ManipulatorModel]:
    def build(self: ManipulatorModel, idn: Any = 0) -> None:
        ManipulatorModel.__init__(self, io.StringIO(found.model().to_xml()), idn)

    own = {"__init__": build, "__doc__": f"The {name}.", "arm": found, "arms": list(found.limbs)}
    kind = LeggedManipulatorModel if name.startswith(HUMANOID) else ManipulatorModel
    return type(name, (kind,), own)


NAMES = tuple(name for name in arms.names() if arms.find(name).base)
for _name in NAMES:
    globals()[_name] = _robot(_name, arms.find(_name))
_SPOT: Any = arms.find("SpotWithArm")
SpotArm = _robot(  # on a mount, as a model alone
    "SpotArm",
    replace(
        _SPOT,
        base="RethinkMount",
        start=(0.0, -1.2, 1.85, 0.0, 0.862, 0.0),
        height=0.0,
        centre_distance=0.6,
        bins_distance=0.5,
        table_distance=1.06,
    ),
)


def is_robosuite_robot(robot: str) -> bool:
    """Whether a name is of a robot of this package."""
    return robot in NAMES


__path__: list[str] = []  # it answers for modules of others
