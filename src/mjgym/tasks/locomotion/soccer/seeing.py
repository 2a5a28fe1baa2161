"""Observations of the players: themselves, the ball, each other, the pitch, and statistics.

All functions handle all players at once: arrays are (*lead, players, ...).
"""

import functools

import numpy as np

from mjgym.arrays import Array, columns, reshaped, total
from mjgym.rotations import cross, norm, rows_to_local, transposed
from mjgym.sim import GroupView, View
from mjgym.task import Arrays, Signal, vector_names
from mjgym.tasks.locomotion.walkers import Walker

FLAT = (1.0, 1.0, 0.0)  # drops the height
# The pitch from the home team's side; for the other team it is rotated by half a turn: four marks
# on.
MARKS = (
    "home_goal_lower", "home_goal_mid", "home_goal_upper", "field_upper",
    "away_goal_upper", "away_goal_mid", "away_goal_lower", "field_lower",
)  # fmt: skip
LANDMARKS = (
    "team_goal_back_right", "team_goal_mid", "team_goal_front_left", "field_front_left",
    "opponent_goal_back_left", "opponent_goal_mid", "opponent_goal_front_right",
    "field_back_right",
)  # fmt: skip
SOLID = tuple(3 if name.endswith("_mid") else 2 for name in LANDMARKS)  # sizes
_BOTH = (*MARKS, *MARKS[4:], *MARKS[:4])  # from each team's side
_SHOWN = np.array([(1.0, 1.0, 1.0) if count == 3 else FLAT for count in SOLID])
SPREAD = 5.0  # m, mean distance to the team above which it is spread out
LEAST = 1e-7  # m, added to divisors


@functools.cache
def teams(team_size: int) -> np.ndarray:
    return np.repeat([0, 1], team_size)


@functools.cache
def others(team_size: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Name the other players as a player sees them; with their indices, (players, others)."""
    count = 2 * team_size
    names = [f"teammate_{k}" for k in range(team_size - 1)]
    names += [f"opponent_{k}" for k in range(team_size)]
    who = [
        [
            *(j for j in range(count) if j != i and j // team_size == i // team_size),
            *(j for j in range(count) if j // team_size != i // team_size),
        ]
        for i in range(count)
    ]
    return tuple(names), np.array(who)


class Seen:
    """Observations of all players, by prefixes of names, the home team's first, at one moment."""

    def __init__(self, v: View, walker: Walker, prefixes: tuple[str, ...], size: int) -> None:
        self.v, self.xp, self.size = v, v.xp, size
        self.walker = walker.with_prefix("")
        self.players = GroupView.from_view(v, prefixes)
        self.names, self._who = others(size)
        players, root = self.players, self.walker.root
        self.place = players.body(root).xpos
        self.turn = players.body(root).xmat
        # Other bodies are observed from the inertial frame, which may differ.
        self.centre, self.axes = players.body(root).xipos, players.body(root).ximat
        motion = players.body(root).cvel
        self.spin = motion[..., :3]
        self.drift = motion[..., 3:]  # of the body's point at the centre of the whole
        middle = players.take("subtree_com", ("",))[..., 0, :]
        self.velocity = self.drift + cross(self.spin, self.centre - middle)
        ball = v.body("ball")  # world velocity of its centre, m/s
        self.rolling = ball.cvel[..., 3:] + cross(ball.cvel[..., :3], ball.xipos - ball.subtree_com)

    def _per_player(self, value: Array) -> Array:
        return value[..., None, :]

    def entries(self, previous: Array, scored: Array) -> Arrays:
        """Entries of an observation, in order; `scored` is 1 where the own team just has."""
        itself = {
            **self.walker.proprioception(self.players),
            **self.walker.kinematics(self.players),
            "prev_action": previous,
        }
        return {
            **{name: itself[name] for name in sorted(itself)},
            **self.ball(),
            **self.each_other(itself["end_effectors_pos"]),
            **self.landmarks(),
            **self.statistics(itself["sensors_velocimeter"], scored),
        }

    def ball(self) -> Arrays:
        """Ball entries: angular velocity, position and velocity."""
        ball = self.v.body("ball")
        turns = self._per_player(ball.cvel[..., :3]) - self.spin
        away = self._per_player(ball.xipos) - self.centre
        moves = self._per_player(self.rolling) - self.velocity - cross(self.spin, away)
        local = rows_to_local(self.axes, self.xp.stack([turns, away, moves], axis=-2))
        return {
            "ball_ego_angular_velocity": local[..., 0, :],
            "ball_ego_position": local[..., 1, :],
            "ball_ego_linear_velocity": local[..., 2, :],
        }

    def each_other(self, effectors: Array) -> Arrays:
        """Entries of each other player: end effectors, velocity, position, orientation."""
        xp, lead = self.xp, self.v.lead
        count, rest = self._who.shape
        limbs = self.players.take("xipos", self.walker.end_effectors)
        limbs = reshaped(limbs, effectors.shape)
        # Entries of each player, and of each player's others.
        each = xp.concat([self.centre, self.velocity, self.axes, limbs, effectors], axis=-1)
        theirs = reshaped(
            columns(each, np.ravel(self._who), -2), (*lead, count, rest, each.shape[-1])
        )

        def mine(values: Array) -> Array:
            return values[..., :, None, :]

        away = theirs[..., :3] - mine(self.centre)
        moves = theirs[..., 3:6] - mine(self.velocity) - cross(mine(self.spin), away)
        axes = reshaped(transposed(theirs[..., 6:15]), (*away.shape, 3))  # theirs, one per row
        numbers = effectors.shape[-1]
        limbs = reshaped(theirs[..., 15 : 15 + numbers], (*away.shape[:-1], numbers // 3, 3))
        limbs = limbs - mine(self.centre)[..., None, :]
        # A single product for all that a player observes of the others.
        world = xp.concat([moves[..., None, :], away[..., None, :], axes, limbs], axis=-2)
        local = rows_to_local(self.axes, reshaped(world, (*lead, count, -1, 3)))
        local = reshaped(local, world.shape)
        parts = {
            "ego_end_effectors_pos": reshaped(local[..., 5:, :], (*lead, count, rest, -1)),
            "ego_linear_velocity": local[..., 0, :],
            "ego_position": local[..., 1, :],
            "ego_orientation": reshaped(local[..., 2:5, :], (*lead, count, rest, 9)),
            "end_effectors_pos": theirs[..., 15 + numbers :],
        }
        return {
            f"{name}_{part}": values[..., k, :]
            for k, name in enumerate(self.names)
            for part, values in parts.items()
        }

    def landmarks(self) -> Arrays:
        """Corners of goals and field, seen from above, and the goals' centres."""
        lead, count = self.v.lead, len(MARKS)
        marks = reshaped(self.v.take("site_xpos", _BOTH), (*lead, 2, 1, count, 3))
        away = marks - reshaped(self.place, (*lead, 2, self.size, 1, 3))
        shown = reshaped(away * self.xp.asarray(_SHOWN), (*lead, 2 * self.size, count, 3))
        local = rows_to_local(self.turn, shown)
        return {name: local[..., k, : SOLID[k]] for k, name in enumerate(LANDMARKS)}

    def statistics(self, velocimeter: Array, scored: Array) -> Arrays:
        """Statistics that compare players."""
        xp, v, size = self.xp, self.v, self.size
        ball = v.geom("ball").xpos
        to_ball = self._per_player(ball) - self.place
        flat, distance = to_ball[..., :2], norm(to_ball)
        approach = total(flat / (norm(flat)[..., None] + LEAST) * self.drift[..., :2])
        by_team = xp.reshape(distance, (*v.lead, 2, size))
        nearest = xp.reshape(by_team == xp.min(by_team, axis=-1, keepdims=True), distance.shape)
        goals = v.take("site_xpos", ("away_goal_mid", "home_goal_mid"))
        to_goal = goals - ball[..., None, :]
        of_goal = total(to_goal / norm(to_goal)[..., None] * self._per_player(self.rolling))
        apart = self._mean_distance()
        return {
            "stats_vel_to_ball": approach,
            "stats_closest_vel_to_ball": xp.where(nearest, approach, 0.0),
            "stats_veloc_forward": velocimeter[..., 0],
            "stats_vel_ball_to_goal": columns(of_goal, teams(size)),
            "stats_home_avg_teammate_dist": apart,
            "stats_teammate_spread_out": xp.astype(apart > SPREAD, xp.float64),
            "stats_home_score": xp.astype(scored > 0, xp.float64),
            "stats_away_score": xp.astype(scored < 0, xp.float64),
        }

    def _mean_distance(self) -> Array:
        """Mean distance to the teammates, (*lead, players) m; 0 without teammates."""
        mates = self.size - 1
        if mates == 0:
            return 0 * self.place[..., 0]
        who = self._who[:, :mates]
        taken = reshaped(columns(self.place, np.ravel(who), -2), (*self.v.lead, *who.shape, 3))
        return total(norm(taken - self.place[..., :, None, :])) / mates


def labels(walker: Walker, team_size: int, actions: tuple[str, ...]) -> dict[str, Signal]:
    """Labels of one player's entries, by name; see `Task.labels`."""
    root = walker.root
    limbs = vector_names(*walker.end_effectors)
    signals = {
        "prev_action": Signal("the last action", actions, "1", source="memory action"),
        "ball_ego_angular_velocity": Signal("angular velocity of the ball", unit="rad/s"),
        "ball_ego_position": Signal("place of the ball", unit="m"),
        "ball_ego_linear_velocity": Signal("velocity of the ball", unit="m/s"),
        "stats_vel_to_ball": Signal("speed towards the ball", ("speed",), "m/s"),
        "stats_closest_vel_to_ball": Signal(
            "speed towards the ball of the team's nearest player, else 0", ("speed",), "m/s"
        ),
        "stats_veloc_forward": Signal("speed forwards", ("speed",), "m/s"),
        "stats_vel_ball_to_goal": Signal(
            "speed of the ball towards the goal of the others", ("speed",), "m/s"
        ),
        "stats_home_avg_teammate_dist": Signal(
            "mean distance of the teammates", ("distance",), "m"
        ),
        "stats_teammate_spread_out": Signal("1 where that is more than 5 m", ("spread",), "1"),
        "stats_home_score": Signal("1 where the own team has just scored", ("scored",), "1"),
        "stats_away_score": Signal("1 where the other team has just scored", ("scored",), "1"),
    }
    for name in ("ball_ego_angular_velocity", "ball_ego_position", "ball_ego_linear_velocity"):
        signals[name] = _in_frame(signals[name], vector_names("ball"), root)
    for name in others(team_size)[0]:
        whose = f"{name.replace('_', ' ')}"
        for part, what, names, unit in (
            ("ego_end_effectors_pos", "places of the end effectors", limbs, "m"),
            ("ego_linear_velocity", "velocity", vector_names(root), "m/s"),
            ("ego_position", "place", vector_names(root), "m"),
            ("ego_orientation", "axes", vector_names("x axis", "y axis", "z axis"), "1"),
        ):
            signals[f"{name}_{part}"] = _in_frame(
                Signal(f"{what} of {whose}", unit=unit), names, root
            )
        signals[f"{name}_end_effectors_pos"] = Signal(
            f"places of the end effectors of {whose} as it sees them itself", limbs, "m"
        )
    for name, count in zip(LANDMARKS, SOLID, strict=True):
        signals[name] = Signal(
            f"the pitch's {name.replace('_', ' ')}", tuple("xyz"[:count]), "m", root
        )
    return signals


def _in_frame(signal: Signal, names: tuple[str, ...], frame: str) -> Signal:
    return Signal(signal.meaning, names, signal.unit, frame)
