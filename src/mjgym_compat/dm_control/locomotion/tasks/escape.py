"""Climb out of a bowl."""

import itertools
import math
from typing import Any

import numpy as np

from mjgym.rewards import ramp
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask

UPRIGHT = math.cos(math.radians(30))  # cosine of the tilt that counts as upright
LIFT = 0.01  # m, step by which the start is raised until nothing touches
MOST = 1000  # limit of lifts


class Escape(WalkingTask):
    """A walker climbs from the middle of a bowl over its rim.

    Args:
        walker_spawn_rotation: not used: it starts in any orientation.
    """

    def __init__(
        self,
        walker: Any,
        arena: Any,
        walker_spawn_position: Any = (0, 0, 0),
        walker_spawn_rotation: Any = None,
        physics_timestep: float = 0.005,
        control_timestep: float = 0.025,
    ) -> None:
        super().__init__(walker, arena, physics_timestep, control_timestep)
        self._spawn_position = walker_spawn_position
        walker.observables.add_egocentric_vector(
            "origin",
            observable.Generic(lambda physics: np.zeros(3)),
            origin_callable=lambda physics: physics.bind(walker.root_body).xpos,
        )

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        self.spawn(physics, random_state, self._spawn_position, None)
        x, y, _ = self._walker.get_pose(physics)[0]
        orientation = random_state.randn(4)
        orientation /= np.linalg.norm(orientation)
        for height in itertools.islice(itertools.count(0.0, LIFT), MOST):
            self._walker.set_pose(physics, (x, y, height), orientation)
            physics.forward()
            if not physics.data.ncon:
                return
        raise RuntimeError("no height at which the walker touches nothing")

    def get_reward(self, physics: Any) -> float:
        """Distance of its head from the middle, in radii of the bowl, times its uprightness."""
        walker = self._walker
        head = walker.mjcf_model.find("site", "head")
        place = physics.bind(walker.root_body).xpos if head is None else physics.bind(head).xpos
        trunk = [walker.root_body, *filter(None, [getattr(walker, "pelvis_body", None)])]
        upright = ramp(np.array(physics.bind(trunk).xmat)[:, 8], -1.0, UPRIGHT)
        radius = physics.model.hfield_size[0, 0]
        away = min(float(np.linalg.norm(place)) / radius, 1.0)
        return away * float(np.min(upright))
