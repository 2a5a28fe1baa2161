"""Matches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from dm_env import specs

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.locomotion.soccer.initializers import Initializer, UniformInitializer
from mjgym_compat.dm_control.locomotion.soccer.observables import (
    CoreObservablesAdder,
    ObservablesAdder,
)
from mjgym_compat.dm_control.locomotion.soccer.soccer_ball import SoccerBall
from mjgym_compat.dm_control.locomotion.soccer.team import Player

PHYSICS_TIMESTEP = 0.005  # s
BALL_HEIGHT = 0.5  # m, of a ball that is thrown in
NEAREST, FARTHEST = 0.7, 0.9  # fractions of the ball's way from the centre, where it is thrown in


class Task(composer.Task):
    """Two teams play until one scores.

    Args:
        nconmax_per_player: not used: the engine takes the memory that it needs.
        njmax_per_player: likewise.
    """

    def __init__(
        self,
        players: Sequence[Player],
        arena: Any,
        ball: SoccerBall | None = None,
        initializer: Initializer | None = None,
        observables: ObservablesAdder | None = None,
        disable_walker_contacts: bool = False,
        nconmax_per_player: int = 200,
        njmax_per_player: int = 400,
        control_timestep: float = 0.025,
        tracking_cameras: Sequence[Any] = (),
    ) -> None:
        del nconmax_per_player, njmax_per_player
        self.arena, self.players = arena, list(players)
        self.ball = SoccerBall() if ball is None else ball
        self._initializer = initializer or UniformInitializer()
        self._cameras = tracking_cameras
        arena.add_free_entity(self.ball)
        arena.register_ball(self.ball)
        for player in self.players:
            self.ball.register_player(player)
            player.walker.create_root_joints(arena.attach(player.walker))
            for geom in (
                player.walker.mjcf_model.find_all("geom") if disable_walker_contacts else ()
            ):
                geom.contype = 0  # what has a type still touches it
        self.set_timesteps(control_timestep, PHYSICS_TIMESTEP)
        adder = observables or CoreObservablesAdder()
        for player in self.players:
            adder(self, player)

    @property
    def root_entity(self) -> Any:
        return self.arena

    @property
    def observables(self) -> Any:
        return [p.walker.observables.as_dict(fully_qualified=False) for p in self.players]

    def _entity_positions(self, physics: Any) -> np.ndarray:
        bodies = [player.walker.root_body for player in self.players]
        places = [physics.bind(body).xpos for body in bodies]
        return np.array([physics.bind(self.ball.geom).xpos, *places])

    def after_compile(self, physics: Any, random_state: np.random.RandomState) -> None:
        for camera in self._cameras:
            camera.after_compile(physics)

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._initializer(self, physics, random_state)
        for camera in self._cameras:
            camera.initialize_episode(self._entity_positions(physics))

    def before_step(self, physics: Any, actions: Any, random_state: np.random.RandomState) -> None:
        for player, action in zip(self.players, actions, strict=True):
            player.walker.apply_action(physics, action, random_state)
        if self.arena.detected_off_court():
            self._throw_in(physics, random_state)

    def _throw_in(self, physics: Any, random_state: np.random.RandomState) -> None:
        place = self.ball.get_pose(physics)[0][:2] * random_state.uniform(NEAREST, FARTHEST, 2)
        self.ball.set_pose(physics, (*place, BALL_HEIGHT))
        self.ball.set_velocity(physics, velocity=np.zeros(3), angular_velocity=np.zeros(3))
        self.ball.initialize_entity_trackers()

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        for camera in self._cameras:
            camera.after_step(self._entity_positions(physics))

    def get_reward(self, physics: Any) -> list[np.ndarray]:
        """1 for the players of the team that has scored, and -1 for the others."""
        scored = self.arena.detected_goal()
        return [
            np.array(0 if scored is None else 1 if p.team is scored else -1, np.float32)
            for p in self.players
        ]

    def get_reward_spec(self) -> list[specs.Array]:
        return [specs.Array((), np.float32, "reward") for _ in self.players]

    def get_discount(self, physics: Any) -> np.ndarray:
        """0 after a goal."""
        return np.array(self.arena.detected_goal() is None, np.float32)

    def get_discount_spec(self) -> specs.Array:
        return specs.Array((), np.float32, "discount")

    def should_terminate_episode(self, physics: Any) -> bool:
        return self.arena.detected_goal() is not None

    def action_spec(self, physics: Any) -> list[specs.BoundedArray]:
        return [player.walker.action_spec for player in self.players]


class MultiturnTask(Task):
    """A match that continues from a new kick-off after a goal; see `Task`."""

    _scored = False

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._scored = False
        super().initialize_episode(physics, random_state)

    def before_step(self, physics: Any, actions: Any, random_state: np.random.RandomState) -> None:
        super().before_step(physics, actions, random_state)
        if self._scored:
            self._scored = False
            self._initializer(self, physics, random_state)
            self.ball.initialize_entity_trackers()

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().after_step(physics, random_state)
        self._scored = self.arena.detected_goal() is not None

    def should_terminate_episode(self, physics: Any) -> bool:
        return False

    def get_discount(self, physics: Any) -> np.ndarray:
        return np.ones((), np.float32)
