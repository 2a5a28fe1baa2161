"""Observables of players: themselves, the ball, each other, the pitch, and statistics."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.soccer.team import Player, Team

LEAST = 1e-7  # m, added to divisors
SPREAD = 5.0  # m, mean distance to the team above which it is spread out
FAR = (5, 10, 15)  # m, between the places of two hits
MOTION = {
    "angular_velocity": "frameangvel",
    "position": "framepos",
    "linear_velocity": "framelinvel",
}


class ObservablesAdder:
    """Adds observables to a player."""

    def __call__(self, task: Any, player: Player) -> None:
        raise NotImplementedError


class MultiObservablesAdder(ObservablesAdder):
    """Several adders applied in order."""

    def __init__(self, observables: Sequence[ObservablesAdder]) -> None:
        self._adders = observables

    def __call__(self, task: Any, player: Player) -> None:
        for adder in self._adders:
            adder(task, player)


def _add(player: Player, name: str, function: Callable[[Any], Any]) -> None:
    player.walker.observables.add_observable(name, observable.Generic(function))


def _add_number(player: Player, name: str, function: Callable[[Any], Any]) -> None:
    _add(player, name, lambda physics: float(function(physics)))


class CoreObservablesAdder(ObservablesAdder):
    """The observables of the published matches."""

    def __call__(self, task: Any, player: Player) -> None:
        own = player.walker.observables
        for each in (*own.proprioception, *own.kinematic_sensors, own.prev_action):
            each.enabled = True
        self._watch(task, player, "ball_ego_", "geom", task.ball.geom, tuple(MOTION))
        counts = {True: 0, False: 0}
        for other in task.players:
            if other is not player:
                mate = other.team is player.team
                self._watch_player(task, player, other, mate, counts[mate])
                counts[mate] += 1
        self._add_landmarks(task, player)
        self._add_statistics(task, player)

    def _watch(
        self, task: Any, player: Player, name: str, kind: str, what: Any, parts: Sequence[str]
    ) -> None:
        """Observe the motion of something in the frame of the player's root body."""
        for part in parts:
            sensor = _sensor(task, player, MOTION[part], kind, what)
            feature = observable.MJCFFeature("sensordata", sensor)
            player.walker.observables.add_observable(name + part, feature)

    def _watch_player(
        self, task: Any, player: Player, other: Player, mate: bool, number: int
    ) -> None:
        prefix = f"{'teammate' if mate else 'opponent'}_{number}_"
        own, theirs = player.walker.observables, other.walker
        limbs = [_sensor(task, player, "framepos", "body", body) for body in theirs.end_effectors]
        _add(
            player, f"{prefix}ego_end_effectors_pos",
            lambda physics: np.ravel(physics.bind(limbs).sensordata),
        )  # fmt: skip
        root = theirs.root_body
        self._watch(task, player, f"{prefix}ego_", "body", root, ("linear_velocity", "position"))
        axes = [_sensor(task, player, f"frame{axis}axis", "body", root) for axis in "xyz"]
        own.add_observable(f"{prefix}ego_orientation", observable.MJCFFeature("sensordata", axes))
        ends = theirs.observables.end_effectors_pos
        _add(player, f"{prefix}end_effectors_pos", ends.raw)

    def _add_landmarks(self, task: Any, player: Player) -> None:
        arena, walker = task.arena, player.walker
        home = player.team is Team.HOME

        def corner(goal: Any, name: str) -> Any:
            return lambda physics: getattr(goal, name)

        own, theirs = arena.home_goal, arena.away_goal
        first, last = "lower", "upper"
        if not home:
            own, theirs, first, last = theirs, own, last, first
        marks = {
            "team_goal_back_right": corner(own, first),
            "team_goal_mid": corner(own, "mid"),
            "team_goal_front_left": corner(own, last),
            "field_front_left": corner(arena.field, last),
            "opponent_goal_back_left": corner(theirs, last),
            "opponent_goal_mid": corner(theirs, "mid"),
            "opponent_goal_front_right": corner(theirs, first),
            "field_back_right": corner(arena.field, first),
        }
        for name, mark in marks.items():
            size = 3 if name.endswith("mid") else 2
            walker.observables.add_egocentric_vector(
                name,
                observable.Generic(_first(size, mark)),
                origin_callable=_first(size, lambda physics: physics.bind(walker.root_body).xpos),
            )

    def _add_statistics(self, task: Any, player: Player) -> None:
        ball, arena, root = task.ball.geom, task.arena, player.walker.root_body
        mates = [p for p in task.players if p.team is player.team]
        goal = arena.away_goal if player.team is Team.HOME else arena.home_goal

        def distance(physics: Any, other: Player) -> float:
            away = physics.bind(ball).xpos - physics.bind(other.walker.root_body).xpos
            return float(np.linalg.norm(away[:2]))

        def approach(physics: Any) -> float:
            away = (physics.bind(ball).xpos - physics.bind(root).xpos)[:2]
            speed = physics.bind(root).cvel[3:5]
            return float(away / (np.linalg.norm(away) + LEAST) @ speed)

        def is_closest(physics: Any) -> bool:
            return distance(physics, player) <= min(distance(physics, mate) for mate in mates)

        def towards_goal(physics: Any) -> float:
            way = goal.mid - physics.bind(ball).xpos
            speed = physics.bind(task.ball.linear_velocity).sensordata
            return float(way / np.linalg.norm(way) @ speed)

        def apart(physics: Any) -> float:
            here = physics.bind(root).xpos
            rest = [mate.walker.root_body for mate in mates if mate is not player]
            gaps = [np.linalg.norm(physics.bind(body).xpos - here) for body in rest]
            return float(np.mean(gaps)) if gaps else 0.0

        statistics: dict[str, Callable[[Any], Any]] = {
            "vel_to_ball": approach,
            "closest_vel_to_ball": lambda p: approach(p) if is_closest(p) else 0.0,
            "veloc_forward": player.walker.observables.veloc_forward.raw,
            "vel_ball_to_goal": towards_goal,
            "home_avg_teammate_dist": apart,
            "teammate_spread_out": lambda p: apart(p) > SPREAD,
            "home_score": lambda p: arena.detected_goal() is player.team,
            "away_score": lambda p: arena.detected_goal() not in (None, player.team),
        }
        for name, function in statistics.items():
            _add_number(player, f"stats_{name}", function)


def _first(size: int, vector: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda physics: vector(physics)[:size]


def _sensor(task: Any, player: Player, tag: str, kind: str, what: Any) -> Any:
    return task.root_entity.mjcf_model.sensor.add(
        tag, objtype=kind, objname=what, reftype="body", refname=player.walker.root_body
    )


class InterceptionObservablesAdder(ObservablesAdder):
    """Statistics of receptions and interceptions, by the distance from the previous hit."""

    def __call__(self, task: Any, player: Player) -> None:
        for least in (0, *FAR):
            self._add_won(task.ball, player, least, f"_{least}m" if least else "")

    def _add_won(self, ball: Any, player: Player, least: float, end: str) -> None:
        def hit() -> bool:
            return ball.hit and (not least or (ball.dist_between_last_hits or 0.0) > least)

        _add_number(
            player, f"stats_i_received_ball{end}",
            lambda physics: hit() and ball.repossessed and ball.last_hit is player,
        )  # fmt: skip
        _add_number(
            player, f"stats_opponent_intercepted_ball{end}",
            lambda physics: hit() and ball.intercepted and ball.last_hit.team is not player.team,
        )  # fmt: skip
