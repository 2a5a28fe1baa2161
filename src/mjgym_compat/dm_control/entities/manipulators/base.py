"""Arms and hands as entities."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.robots import inverse_kinematics
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define

DOWN_QUATERNION = np.array([0.0, np.sqrt(0.5), np.sqrt(0.5), 0.0])  # of a tool that points down


class RobotArm(composer.Robot, abc.ABC):
    """An arm with a hand attached to its wrist."""

    def _build_observables(self) -> "JointsObservables":
        return JointsObservables(self)

    @property
    @abc.abstractmethod
    def joints(self) -> Sequence[mjcf.Element]:
        """Joints from the base outwards."""

    @property
    @abc.abstractmethod
    def wrist_site(self) -> mjcf.Element:
        """Site that a hand is attached to."""

    @property
    def attachment_site(self) -> mjcf.Element:
        return self.wrist_site

    def _names(self) -> tuple[str, ...]:
        return tuple(joint.full_identifier for joint in self.joints)

    def randomize_arm_joints(self, physics: Any, random_state: np.random.RandomState) -> None:
        view = inverse_kinematics.view_of(physics.model.ptr, physics.data.ptr)
        low, high = inverse_kinematics.ranges(view, self._names())
        physics.bind(self.joints).qpos = random_state.uniform(low, high)

    def set_site_to_xpos(
        self,
        physics: Any,
        random_state: np.random.RandomState,
        site: mjcf.Element,
        target_pos: Any,
        target_quat: Any = None,
        max_ik_attempts: int = 10,
    ) -> bool:
        target_quat = DOWN_QUATERNION if target_quat is None else target_quat
        view = inverse_kinematics.view_of(physics.model.ptr, physics.data.ptr)
        for attempt in range(max_ik_attempts):
            if attempt:
                self.randomize_arm_joints(physics, random_state)
            solution = inverse_kinematics.solve(
                view, site.full_identifier, target_pos, target_quat, self._names()
            )
            if solution.success:
                physics.bind(self.joints).qpos = solution.qpos
                return True
        return False


class JointsObservables(composer.Observables):
    """Positions and velocities of an arm's joints."""

    joints_pos = define.feature("qpos", "joints")
    joints_vel = define.feature("qvel", "joints")


class RobotHand(composer.Robot, abc.ABC):
    """A hand."""

    @property
    @abc.abstractmethod
    def tool_center_point(self) -> mjcf.Element:
        """Site between the fingers."""

    @abc.abstractmethod
    def set_grasp(self, physics: Any, close_factors: Any) -> None:
        """Close each finger by a factor from 0, open, to 1."""
