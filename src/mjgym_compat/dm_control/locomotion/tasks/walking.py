"""Base class of the tasks of locomotion: a walker in an arena, its start, and falls."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.composer import variation


class WalkingTask(composer.Task):
    """A walker in an arena."""

    _ends_on_contact = False

    def __init__(
        self, walker: Any, arena: Any, physics_timestep: float, control_timestep: float
    ) -> None:
        self._walker, self._arena = walker, arena
        walker.create_root_joints(arena.attach(walker))
        self.set_timesteps(control_timestep, physics_timestep)
        own = walker.observables
        for each in (*own.proprioception, *own.kinematic_sensors, *own.dynamic_sensors):
            each.enabled = True
        self._failed = False

    @property
    def root_entity(self) -> Any:
        return self._arena

    @property
    def name(self) -> str:
        return type(self).__name__

    # Start.

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        self._arena.regenerate(random_state)

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._failed = False
        walker, arena = self._walker, self._arena
        every = physics.bind(walker.mjcf_model.find_all("geom")).element_id
        feet = physics.bind(walker.ground_contact_geoms).element_id
        self._not_feet = np.setdiff1d(np.ravel(every), np.ravel(feet))
        self._ground = np.unique(physics.bind(arena.ground_geoms).element_id)

    def spawn(
        self, physics: Any, random_state: np.random.RandomState, position: Any, rotation: Any
    ) -> None:
        self._walker.reinitialize_pose(physics, random_state)
        angle = variation.evaluate(rotation, random_state=random_state)
        quaternion = None
        if angle is not None:
            quaternion = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        self._walker.shift_pose(
            physics,
            variation.evaluate(position, random_state=random_state),
            quaternion,
            rotate_velocity=True,
        )

    # Outcome.

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._failed = self._fails(physics)

    def _fails(self, physics: Any) -> bool:
        if not self._ends_on_contact or not physics.data.ncon:
            return False
        geoms = physics.data.contact.geom
        bare, ground = np.isin(geoms, self._not_feet), np.isin(geoms, self._ground)
        return bool(np.any(bare & ground[:, ::-1]))

    def should_terminate_episode(self, physics: Any) -> bool:
        return self._failed

    def get_discount(self, physics: Any) -> float:
        """0 if the walker has fallen."""
        return 0.0 if self._failed else 1.0
