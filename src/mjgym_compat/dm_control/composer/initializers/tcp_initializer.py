"""Placing of an arm's tool."""

from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control.composer.entity import Initializer
from mjgym_compat.dm_control.composer.environment import EpisodeInitializationError
from mjgym_compat.dm_control.composer.initializers.utils import geom_ids
from mjgym_compat.dm_control.composer.variation.base import evaluate
from mjgym_compat.dm_control.composer.variation.rotations import IDENTITY_QUATERNION

_REJECTION_SAMPLING_FAILED = (
    "Failed to find a valid initial configuration for the robot after {max_rejection_samples}"
    " poses and up to {max_ik_attempts} attempts of inverse kinematics for each"
)


class ToolCenterPointInitializer(Initializer):
    """Moves an arm's joints such that the tool has a pose.

    The robot may touch free bodies, but neither itself nor what is fixed.
    """

    def __init__(
        self,
        hand: Any,
        arm: Any,
        position: Any,
        quaternion: Any = IDENTITY_QUATERNION,
        ignore_collisions: bool = False,
        max_ik_attempts: int = 10,
        max_rejection_samples: int = 10,
    ) -> None:
        self._arm, self._hand = arm, hand
        self._site = arm.wrist_site if hand is None else hand.tool_center_point
        self._position, self._quaternion = position, quaternion
        self._ignores = ignore_collisions
        self._ik_attempts, self._samples = max_ik_attempts, max_rejection_samples

    def __call__(self, physics: Any, random_state: np.random.RandomState) -> bool:
        """Move the arm."""
        joints = physics.bind(self._arm.joints)
        before = np.array(joints.qpos)
        for _ in range(self._samples):
            reached = self._arm.set_site_to_xpos(
                physics=physics,
                random_state=random_state,
                site=self._site,
                target_pos=evaluate(self._position, random_state=random_state),
                target_quat=evaluate(self._quaternion, random_state=random_state),
                max_ik_attempts=self._ik_attempts,
            )
            if reached:
                physics.forward()
                if self._ignores or not self._collides(physics):
                    return True
            joints.qpos = before
        raise EpisodeInitializationError(
            _REJECTION_SAMPLING_FAILED.format(
                max_rejection_samples=self._samples, max_ik_attempts=self._ik_attempts
            )
        )

    def _collides(self, physics: Any) -> bool:
        model, contact = physics.model, physics.data.contact
        parts = [self._arm] if self._hand is None else [self._arm, self._hand]
        robot = np.concatenate([geom_ids(physics, part) for part in parts])
        first = model.body_jntadr[model.body_rootid[model.geom_bodyid]]  # -1: no joint
        free = (first >= 0) & (model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE)
        mine = np.isin(contact.geom, robot)
        fixed = ~mine & ~free[contact.geom]
        touching = contact.dist <= 0
        return bool((touching & mine.any(axis=1) & (mine | fixed).all(axis=1)).any())
