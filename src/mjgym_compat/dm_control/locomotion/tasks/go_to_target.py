"""Go to a target on the floor and stay there."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer import variation
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask

DEFAULT_DISTANCE_TOLERANCE_TO_TARGET = 1.0  # m


class GoToTarget(WalkingTask):
    """A walker goes to a target, which may move once it is reached."""

    _ends_on_contact = True

    def __init__(
        self,
        walker: Any,
        arena: Any,
        moving_target: bool = False,
        target_relative: bool = False,
        target_relative_dist: float = 1.5,
        steps_before_moving_target: int = 10,
        distance_tolerance: float = DEFAULT_DISTANCE_TOLERANCE_TO_TARGET,
        target_spawn_position: Any = None,
        walker_spawn_position: Any = None,
        walker_spawn_rotation: Any = None,
        physics_timestep: float = 0.005,
        control_timestep: float = 0.025,
    ) -> None:
        super().__init__(walker, arena, physics_timestep, control_timestep)
        self._moves, self._patience = moving_target, steps_before_moving_target
        self._relative = target_relative_dist if target_relative else None
        self._near = distance_tolerance
        self._target_position = target_spawn_position
        self._walker_position, self._walker_rotation = walker_spawn_position, walker_spawn_rotation
        self._target = arena.mjcf_model.worldbody.add(
            "site", name="target", type="sphere", size=(0.1,), rgba=(0.9, 0.6, 0.6, 1.0)
        )
        self._there = 0
        walker.observables.add_egocentric_vector(
            "target",
            observable.MJCFFeature("xpos", self._target),
            origin_callable=lambda physics: physics.bind(walker.root_body).xpos,
        )

    def target_position(self, physics: Any) -> np.ndarray:
        return np.array(physics.bind(self._target).pos)

    def _drawn(self, given: Any, random_state: np.random.RandomState) -> Any:
        if given is not None:
            return variation.evaluate(given, random_state=random_state)
        half = np.asarray(self._arena.size) / 2
        return random_state.uniform(-half, half)

    def _place_target(self, physics: Any, random_state: np.random.RandomState) -> None:
        if self._relative is None:
            x, y = self._drawn(self._target_position, random_state)[:2]
        else:
            away = random_state.uniform(-self._relative, self._relative, size=2)
            x, y = physics.bind(self._walker.root_body).xpos[:2] + away
        physics.bind(self._target).pos = x, y, 0.0
        self._there = 0

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self._place_target(physics, random_state)
        x, y = self._drawn(self._walker_position, random_state)[:2]
        self.spawn(physics, random_state, (x, y, 0.0), self._walker_rotation)
        if self._relative is not None:
            self._place_target(physics, random_state)

    def before_step(self, physics: Any, action: Any, random_state: np.random.RandomState) -> None:
        self._walker.apply_action(physics, action, random_state)

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().after_step(physics, random_state)
        if self._moves and self._there >= self._patience:
            self._place_target(physics, random_state)

    def get_reward(self, physics: Any) -> float:
        """1 at the target."""
        away = self.target_position(physics) - physics.bind(self._walker.root_body).xpos
        if np.linalg.norm(away[:2]) >= self._near:
            return 0.0
        self._there += 1
        return 1.0
