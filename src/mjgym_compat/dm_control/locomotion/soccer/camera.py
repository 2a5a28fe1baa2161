"""Cameras that follow players and ball."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.mujoco.engine import MovableCamera


class MultiplayerTrackingCamera:
    """A camera that looks at the middle of players and ball, far enough to see all."""

    def __init__(
        self,
        min_distance: float,
        distance_factor: float,
        smoothing_update_speed: float,
        azimuth: float = 90,
        elevation: float = -45,
        width: int = 1920,
        height: int = 1080,
    ) -> None:
        self._least, self._factor = min_distance, distance_factor
        self._speed = smoothing_update_speed
        self._angles = azimuth, elevation
        self._size = height, width
        self.camera: Any = None
        self._pose = np.zeros(4)

    def after_compile(self, physics: Any) -> None:
        self.camera = MovableCamera(physics, *self._size)

    def _target(self, entity_positions: np.ndarray) -> np.ndarray:
        """Point to look at and distance from it, (4,) m."""
        middle = np.mean(entity_positions, axis=0)
        farthest = np.max(np.linalg.norm(entity_positions - middle, axis=-1))
        return np.array([*middle, self._least + self._factor * farthest])

    def _move(self, pose: np.ndarray) -> None:
        self._pose = pose
        self.camera.set_pose(pose[:3], pose[3], *self._angles)

    def initialize_episode(self, entity_positions: np.ndarray) -> None:
        self._move(self._target(entity_positions))

    def after_step(self, entity_positions: np.ndarray) -> None:
        way = self._target(entity_positions) - self._pose
        self._move(self._pose + self._speed * way)

    def render(self) -> np.ndarray:
        return self.camera.render()
