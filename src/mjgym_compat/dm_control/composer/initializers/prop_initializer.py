"""Placing of free props."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer.entity import Entity, Initializer
from mjgym_compat.dm_control.composer.environment import EpisodeInitializationError
from mjgym_compat.dm_control.composer.initializers.utils import JointStaticIsolator, geom_ids
from mjgym_compat.dm_control.composer.variation.base import evaluate
from mjgym_compat.dm_control.composer.variation.rotations import IDENTITY_QUATERNION

_REJECTION_SAMPLING_FAILED = (
    "Failed to find a non-colliding pose for prop {model_name!r} in {max_attempts} attempts"
)
_SETTLING_PHYSICS_FAILED = (
    "Failed to settle physics in {max_attempts} attempts of {max_time} s: qvel is {qvel}, qacc is"
    " {qacc}"
)


class PropPlacer(Initializer):
    """Places props one after another where they touch nothing."""

    def __init__(
        self,
        props: Sequence[Entity],
        position: Any,
        quaternion: Any = IDENTITY_QUATERNION,
        ignore_collisions: bool = False,
        max_qvel_tol: float = 1e-3,
        max_qacc_tol: float = 1e-2,
        max_attempts_per_prop: int = 20,
        settle_physics: bool = False,
        min_settle_physics_time: float = 0.0,
        max_settle_physics_time: float = 2.0,
        max_settle_physics_attempts: int = 1,
        raise_exception_on_settle_failure: bool = False,
    ) -> None:
        if max_settle_physics_attempts < 1:
            raise ValueError("max_settle_physics_attempts: must be at least 1")
        self._props = list(props)
        self._position, self._quaternion = position, quaternion
        self._ignores = ignore_collisions
        self._tolerances = max_qvel_tol, max_qacc_tol
        self._attempts = max_attempts_per_prop
        self._settles = settle_physics
        self._times = min_settle_physics_time, max_settle_physics_time
        self._settle_attempts = max_settle_physics_attempts
        self._raises = raise_exception_on_settle_failure

    def __call__(
        self,
        physics: Any,
        random_state: np.random.RandomState,
        ignore_contacts_with_entities: Sequence[Entity] | None = None,
    ) -> bool:
        """Place the props.

        Args:
            ignore_contacts_with_entities: entities that props may touch.
        """
        ignored = list(ignore_contacts_with_entities or ())
        for attempt in range(self._settle_attempts if self._settles else 1):
            self._place(physics, random_state, ignored)
            if not self._settles or self._settle(physics):
                break
            if attempt == self._settle_attempts - 1:
                moving = physics.bind(self._joints())
                message = _SETTLING_PHYSICS_FAILED.format(
                    max_attempts=self._settle_attempts,
                    max_time=self._times[1],
                    qvel=np.abs(moving.qvel).max(),
                    qacc=np.abs(moving.qacc).max(),
                )
                if self._raises:
                    raise EpisodeInitializationError(message)
                logging.getLogger(__name__).warning("%s", message)
        return True

    def _place(
        self, physics: Any, random_state: np.random.RandomState, ignored: Sequence[Entity]
    ) -> None:
        model, data = physics.model, physics.data
        without = [geom_ids(physics, entity) for entity in (*ignored, *self._props)]
        kept = model.geom_contype.copy(), model.geom_conaffinity.copy()
        model.geom_contype[np.concatenate(without)] = 0
        model.geom_conaffinity[np.concatenate(without)] = 0
        try:
            for prop, geoms in zip(self._props, without[len(ignored) :], strict=True):
                model.geom_contype[geoms] = kept[0][geoms]
                model.geom_conaffinity[geoms] = kept[1][geoms]
                for _ in range(self._attempts):
                    self._draw(physics, random_state, prop)
                    physics.forward()
                    touched = np.isin(data.contact.geom, geoms).any()
                    if self._ignores or not touched:
                        break
                else:
                    raise EpisodeInitializationError(
                        _REJECTION_SAMPLING_FAILED.format(
                            model_name=prop.mjcf_model.model, max_attempts=self._attempts
                        )
                    )
        finally:
            model.geom_contype[:], model.geom_conaffinity[:] = kept
        physics.forward()

    def _draw(self, physics: Any, random_state: np.random.RandomState, prop: Entity) -> None:
        pose = [
            evaluate(variation, initial_value=value, current_value=value, random_state=random_state)
            for variation, value in zip(
                (self._position, self._quaternion), prop.get_pose(physics), strict=True
            )
        ]
        prop.set_pose(physics, *pose)
        if mjcf.get_frame_freejoint(prop.mjcf_model) is not None:
            prop.set_velocity(physics, np.zeros(3), np.zeros(3))

    def _joints(self) -> list[Any]:
        frames = [prop.root_body for prop in self._props]
        inner = [joint for prop in self._props for joint in prop.mjcf_model.find_all("joint")]
        return [j for frame in frames for j in frame.find_all("joint", True)] + inner

    def _settle(self, physics: Any) -> bool:
        """Let the props settle; returns whether they came to rest."""
        joints = list({id(joint): joint for joint in self._joints()}.values())
        moving, start = physics.bind(joints), physics.data.time
        shortest, longest = self._times
        try:
            while True:
                with JointStaticIsolator(physics, joints):
                    physics.step()
                passed = physics.data.time - start
                rests = (
                    np.abs(moving.qvel).max() < self._tolerances[0]
                    and np.abs(moving.qacc).max() < self._tolerances[1]
                )
                if passed >= shortest and (rests or passed >= longest):
                    return bool(rests)
        finally:
            physics.data.time = start
