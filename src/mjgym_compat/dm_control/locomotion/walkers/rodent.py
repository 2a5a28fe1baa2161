"""The rat."""

import functools
from typing import Any, ClassVar

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.locomotion.walkers import known

NOT_TRACKED = ("vertebra", "toe", "hand")  # beginnings of names of bodies
FOOT_MODS = {"ankle": (-0.1, 2.0), "toe": (-0.7, 0.87)}  # rad, ranges for motion capture


class Rat(known.WithHead):
    """A rat whose 38 actuators bend its spine, neck and tail, and move its limbs.

    Args:
        params: not used.
    """

    file = "rodent.xml"
    registered = "rodent"
    arms = ("scapula_L", "scapula_R")

    def _build(
        self,
        params: Any = None,
        name: str = "walker",
        torque_actuators: bool = False,
        foot_mods: bool = False,
        initializer: Any = None,
    ) -> None:
        super()._build(name, initializer=initializer)
        for actuator in self.actuators if torque_actuators else ():
            mjcf.commit_defaults(actuator, ["forcerange"])
            most = actuator.forcerange[1]
            actuator.set_attributes(gainprm=[most], biastype="none", biasprm=None)
        for joint in self._mjcf_root.find_all("joint") if foot_mods else ():
            joint.range = FOOT_MODS.get(joint.name.partition("_")[0], joint.range)

    @functools.cached_property
    def pelvis_body(self) -> mjcf.Element:
        return self._find("body", "pelvis")[0]

    observable_tendons = known.every("tendon")

    @functools.cached_property
    def mocap_tracking_bodies(self) -> tuple[mjcf.Element, ...]:
        names = [body.name for body in self.bodies]
        tracked = [name for name in names if not name.startswith(NOT_TRACKED)]
        return self._find("body", *tracked)

    @functools.cached_property
    def mocap_joint_order(self) -> list[str]:
        return [joint.name for joint in self.mocap_joints]

    @property
    def primary_joints(self) -> tuple[mjcf.Element, ...]:
        return self.observable_joints

    @functools.cached_property
    def vertebra_joints(self) -> tuple[mjcf.Element, ...]:
        return tuple(part.joint for tendon in self.observable_tendons for part in tendon.joint)

    @functools.cached_property
    def primary_joint_order(self) -> list[int]:
        return [self.mocap_joints.index(joint) for joint in self.primary_joints]

    @functools.cached_property
    def vertebra_joint_order(self) -> list[int]:
        return [self.mocap_joints.index(joint) for joint in self.vertebra_joints]

    @functools.cached_property
    def joint_actuators(self) -> tuple[mjcf.Element, ...]:
        return tuple(actuator for actuator in self.actuators if actuator.joint is not None)

    @property
    def joint_actuator_order(self) -> list[int]:
        return [self.mocap_joints.index(actuator.joint) for actuator in self.joint_actuators]

    def _build_observables(self) -> "RodentObservables":
        return RodentObservables(self)


class RodentObservables(known.HeadObservables):
    """Observables of the rat."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = known.HeadObservables._groups | {
        "proprioception": (
            "joints_pos", "joints_vel", "tendons_pos", "tendons_vel", "actuator_activation",
            "body_height", "end_effectors_pos", "appendages_pos", "world_zaxis",
        ),
    }  # fmt: skip

    tendons_pos = define.feature("length", "observable_tendons")
    tendons_vel = define.feature("velocity", "observable_tendons")
