"""Poses of walkers at the start of an episode."""

from collections.abc import Sequence
from typing import Any


class WalkerInitializer:
    """Sets the pose of a walker at the start of an episode."""

    def initialize_pose(self, physics: Any, walker: Any, random_state: Any) -> None:
        raise NotImplementedError


class UprightInitializer(WalkerInitializer):
    """Puts the walker upright and at rest."""

    def initialize_pose(self, physics: Any, walker: Any, random_state: Any) -> None:
        joints = physics.bind(walker.mjcf_model.find_all("joint", exclude_attachments=True))
        pose = walker.upright_pose
        joints.qpos = joints.qpos0 if pose.qpos is None else pose.qpos
        joints.qvel = 0.0
        walker.set_pose(physics, position=pose.xpos, quaternion=pose.xquat)
        walker.set_velocity(physics, velocity=(0, 0, 0), angular_velocity=(0, 0, 0))


class RandomlySampledInitializer(WalkerInitializer):
    """Applies one of several initializers, drawn at random."""

    def __init__(self, initializers: Sequence[WalkerInitializer]) -> None:
        self._initializers = initializers

    def initialize_pose(self, physics: Any, walker: Any, random_state: Any) -> None:
        chosen = self._initializers[random_state.randint(len(self._initializers))]
        chosen.initialize_pose(physics, walker, random_state)


class NoOpInitializer(WalkerInitializer):
    """Leaves the pose unchanged."""

    def initialize_pose(self, physics: Any, walker: Any, random_state: Any) -> None:
        """Do nothing."""
