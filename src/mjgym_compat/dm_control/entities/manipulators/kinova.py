"""Kinova's Jaco arm with six joints, and its hand with three fingers."""

from typing import Any

import numpy as np

from mjgym.robots import jaco
from mjgym.util.packaged import assets
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.composer.observation.observable import Generic
from mjgym_compat.dm_control.entities.manipulators import base
from mjgym_compat.importing import submodules

_LARGE_JOINT_MAX_VELOCITY = np.deg2rad(36)  # rad/s, of shoulder and elbow
_SMALL_JOINT_MAX_VELOCITY = np.deg2rad(48)  # rad/s, of the wrist


def _model(file: str, name: str | None) -> mjcf.RootElement:
    model = mjcf.from_path(assets() / "robots" / "jaco" / file)
    if name is not None:
        model.model = name
    return model


class JacoArm(base.RobotArm):
    """The arm, with velocity servos."""

    def _build(self, name: str | None = None) -> None:
        self._mjcf_root, facts = _model("arm.xml", name), jaco.JacoArm()
        find = self._mjcf_root.find
        self._joints = [find("joint", joint) for joint in facts.joints]
        self._actuators = [find("actuator", actuator) for actuator in facts.actuators]
        self._wrist_site = find("site", facts.wrist)
        self.joint_torque_sensors = [find("sensor", sensor) for sensor in facts.torques]

    def _build_observables(self) -> "JacoArmObservables":
        return JacoArmObservables(self)

    @property
    def joints(self) -> list[Any]:
        return self._joints

    @property
    def actuators(self) -> list[Any]:
        return self._actuators

    @property
    def wrist_site(self) -> Any:
        return self._wrist_site


class JacoArmObservables(base.JointsObservables):
    """Sines and cosines, velocities and torques of the arm's joints."""

    @composer.observable
    def joints_pos(self) -> Generic:
        def turned(physics: Any) -> np.ndarray:
            angles = np.array(physics.bind(self._entity.joints).qpos)
            return np.stack([np.sin(angles), np.cos(angles)], axis=1)

        return Generic(turned)

    @composer.observable
    def joints_torque(self) -> Generic:
        def about_axes(physics: Any) -> np.ndarray:
            torques = physics.bind(self._entity.joint_torque_sensors).sensordata
            return np.array(torques).reshape(-1, 3)[:, 2]

        return Generic(about_axes)


class JacoHand(base.RobotHand):
    """The hand, with velocity servos."""

    def _build(self, name: str | None = None, use_pinch_site_as_tcp: bool = True) -> None:
        self._mjcf_root, facts = _model("hand.xml", name), jaco.JacoHand()
        find = self._mjcf_root.find
        self.joints = [find("joint", joint) for joint in facts.joints]
        self._actuators = [find("actuator", actuator) for actuator in facts.actuators]
        hand: Any = find("body", "hand")
        self.hand_geom = hand.find_all("geom", immediate_children_only=True)
        geoms = self._mjcf_root.find_all("geom")
        self.finger_geoms = [geom for geom in geoms if geom.name.startswith("finger")]
        self.grip_site = find("site", "gripsite")
        self.pinch_site = find("site", "pinchsite")
        self._tool = self.pinch_site if use_pinch_site_as_tcp else self.grip_site

    def _build_observables(self) -> "JacoHandObservables":
        return JacoHandObservables(self)

    @property
    def actuators(self) -> list[Any]:
        return self._actuators

    @property
    def tool_center_point(self) -> Any:
        return self._tool

    def set_grasp(self, physics: Any, close_factors: Any) -> None:
        low, high = np.array(physics.bind(self.joints).range).T
        physics.bind(self.joints).qpos = low + np.asarray(close_factors) * (high - low)


class JacoHandObservables(base.JointsObservables):
    """Finger joints, and the pose of the pinch site."""

    pinch_site_pos = define.feature("xpos", "pinch_site")
    pinch_site_rmat = define.feature("xmat", "pinch_site")


__path__: list[str] = []  # it answers for modules of others
__getattr__ = submodules(__name__)
