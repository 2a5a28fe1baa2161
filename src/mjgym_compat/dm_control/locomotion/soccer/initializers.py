"""Starts of matches."""

from typing import Any

import numpy as np


class Initializer:
    """Sets the state at a match's start."""

    def __call__(self, task: Any, physics: Any, random_state: np.random.RandomState) -> None:
        raise NotImplementedError


class UniformInitializer(Initializer):
    """Ball and players anywhere in the inner part of the pitch, and not in each other."""

    def __init__(
        self,
        spawn_ratio: float = 0.6,
        init_ball_z: float = 0.5,
        max_collision_avoidance_retries: int = 100,
    ) -> None:
        self._ratio, self._height = spawn_ratio, init_ball_z
        self._retries = max_collision_avoidance_retries

    def __call__(self, task: Any, physics: Any, random_state: np.random.RandomState) -> None:
        """Draw initial states until only the ground is touched."""
        half = np.asarray(task.arena.size) * self._ratio
        movers = [task.ball, *(player.walker for player in task.players)]
        owner = np.full(physics.model.ngeom, -1)
        for k, mover in enumerate(movers):
            owner[physics.bind(mover.mjcf_model.find_all("geom")).element_id] = k
        for _ in range(max(1, self._retries)):
            self._scatter(task, physics, random_state, half)
            physics.forward()
            pairs = owner[physics.data.contact.geom.reshape(-1, 2)]
            if not np.any((pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])):
                return

    def _scatter(self, task: Any, physics: Any, random_state: Any, half: np.ndarray) -> None:
        task.ball.set_pose(physics, (*random_state.uniform(-half, half), self._height))
        task.ball.set_velocity(physics, velocity=0.0, angular_velocity=0.0)
        for player in task.players:
            walker = player.walker
            walker.reinitialize_pose(physics, random_state)
            place = (*random_state.uniform(-half, half), 0.0)
            angle = random_state.uniform(-np.pi, np.pi)
            turn = np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)
            walker.shift_pose(physics, place, turn)
            walker.set_velocity(physics, velocity=0.0, angular_velocity=0.0)
