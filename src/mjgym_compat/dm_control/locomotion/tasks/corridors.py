"""Run along a corridor at a set speed."""

from typing import Any

import numpy as np

from mjgym.rewards import tolerance
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask
from mjgym_compat.dm_control.locomotion.walkers.base import centre_velocity


class RunThroughCorridor(WalkingTask):
    """A walker runs along a corridor at a target speed."""

    def __init__(
        self,
        walker: Any,
        arena: Any,
        walker_spawn_position: Any = (0, 0, 0),
        walker_spawn_rotation: Any = None,
        target_velocity: float = 3.0,
        contact_termination: bool = True,
        terminate_at_height: float | None = -0.5,
        physics_timestep: float = 0.005,
        control_timestep: float = 0.025,
    ) -> None:
        super().__init__(walker, arena, physics_timestep, control_timestep)
        self._spawn_position, self._spawn_rotation = walker_spawn_position, walker_spawn_rotation
        self._target = target_velocity
        self._ends_on_contact, self._lowest = contact_termination, terminate_at_height

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self.spawn(physics, random_state, self._spawn_position, self._spawn_rotation)

    def before_step(self, physics: Any, action: Any, random_state: np.random.RandomState) -> None:
        self._walker.apply_action(physics, action, random_state)

    def get_reward(self, physics: Any) -> float:
        """1 at the target speed, falling to 0 at rest and at twice that speed."""
        speed = centre_velocity(physics, self._walker.root_body)[0]
        bounds = (self._target, self._target)
        margin = self._target
        return float(tolerance(speed, bounds, margin=margin, sigmoid="linear", value_at_margin=0.0))

    def _fails(self, physics: Any) -> bool:
        if super()._fails(physics):
            return True
        if self._lowest is None:
            return False
        return bool(np.any(physics.bind(self._walker.end_effectors).xpos[:, 2] < self._lowest))
