"""Two teams, a ball and two goals."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mjgym.actions import Action, Model, bounds, controls
from mjgym.arrays import Array, drawn_row, known_empty, reshaped, smallest, total
from mjgym.mjcf import Spec, add
from mjgym.rotations import about_z
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, Task, register_variants, variant
from mjgym.tasks.locomotion.soccer import opponents, scripted, seeing
from mjgym.tasks.locomotion.soccer.pitch import BOX_ONLY, COLOURS, TEAMS, Half, Pitch
from mjgym.tasks.locomotion.walkers import Walker, find_walker
from mjgym.tasks.locomotion.walkers.any_walker import HOW_MANY
from mjgym.util.docstrings import meanings
from mjgym.util.values import one_of, whole_number

MOST = 11  # players of a team
SPREAD = 0.6  # fraction of the pitch's half-lengths, within which ball and players start
BALL_HEIGHT = 0.5  # m, initial height of the ball, also when thrown in
APART = 3.0  # m, least distance between players before the start is drawn
REDRAWS = 100  # of a start in which players touch each other or the ball
NEAREST, FARTHEST = 0.7, 0.9  # fractions of the ball's way from the centre, where it is thrown in
THROWS = 64  # throw-ins drawn per match, before they repeat
NEAR = 25.0  # m, half the length of a pitch, up to which viewers show all of it
NOBODY = -1.0  # instead of a player's number

LARGE = ((32.0, 24.0), (48.0, 36.0))  # m, smallest and largest half-lengths of a pitch
AREA = (100.0, 350.0)  # m^2 per player, of the smallest and the largest pitch by players
ASPECT = 0.75  # of such a pitch, width to length
SMALL_GOAL = (0.61, 1.83, 0.61)  # m, half of a goal of humanoids


class BallNumbers(NamedTuple):
    """Radius (m), mass (kg), friction, and time constant and damping of contacts."""

    radius: float
    mass: float
    friction: tuple[float, float, float]
    solref: tuple[float, float]


BALLS = {
    "large": BallNumbers(0.35, 0.045, (0.7, 0.075, 0.075), (0.02, 1.0)),
    "regulation": BallNumbers(0.117, 0.45, (0.7, 0.05, 0.04), (0.02, 0.4)),
}

_HUMANOID: dict[str, Any] = {
    "walker": "soccer_humanoid", "pitch": "by_players", "goal": SMALL_GOAL, "ball": "regulation",
}  # fmt: skip


@register_variants(
    "soccer/{}-v0",
    ("multi-agent",),
    **{
        "boxhead-1v1": variant("Two rolling players, one against one, and a ball.", team_size=1),
        "boxhead-2v2": variant("Four rolling players, two against two, and a ball.", team_size=2),
        "boxhead-3v3": variant(
            "Six rolling players, three against three, and a ball.", team_size=3
        ),
        "ant-1v1": variant("Two ants, one against one, and a ball.", walker="ant", team_size=1),
        "ant-2v2": variant("Four ants, two against two, and a ball.", walker="ant", team_size=2),
        "humanoid-1v1": variant(
            "Two humanoids, one against one, and a football.", team_size=1, **_HUMANOID
        ),
        "humanoid-2v2": variant(
            "Four humanoids, two against two, and a football.", team_size=2, **_HUMANOID
        ),
    },
)
@dataclass(frozen=True)
class Soccer(Task):
    """Two teams of walkers play football.

    Reward: for each player 1 in the step in which its team scores, -1 in which the other one does.

    Start: the ball and the players anywhere in the inner 60 % of the pitch each way; the players
    upright at rest, turned at random; drawn again while players touch each other or the ball.

    End: a goal. A ball that leaves the field otherwise is thrown in with the next control step, at
    rest, 70 to 90 % of its way from the middle in x and in y.

    Observation: what a player sees in its own axes: itself, the ball, each teammate and opponent,
    the corners of field and goals; and statistics.

    Opponent: with `opponent`, the home team is one agent, whose actions and observations are those
    of its players, one after the other. Your own function is called with what the away team's
    players see, (..., team_size, numbers), and returns their actions, (..., team_size, k). Without,
    actions, observations and rewards have an axis of players.
    """

    walker: str = "boxhead"  # of all players: its name, or "module:Class"
    team_size: int = 2  # players, 1 to 11
    pitch: str | tuple[Half, Half] = "large"  # m, half-lengths from and to; or "by_players"
    keep_aspect_ratio: bool = False  # the pitch's length and width are drawn together
    goal: tuple[float, float, float] | None = None  # m, half of its sizes; None goes by the pitch
    ball: str = "large"  # as light as a beach ball; or "regulation"
    box: bool = False  # walls around the field keep the ball in, and let players through
    ends_on_goal: bool = True  # else the ball is thrown in after a goal
    collide: bool = True  # players touch each other and themselves, not the ball alone
    frees_ball: bool = True  # a start with the ball inside a player is drawn again
    opponent: str | None = None  # "still", "random", "scripted", "module:function"; None: nobody's
    time_limit: float = 45.0  # s
    control_timestep: float = 0.025  # s
    physics_timestep: float = 0.005  # s

    def __post_init__(self) -> None:
        whole_number("team_size", self.team_size, most=MOST)
        if self.goal is not None and (np.shape(self.goal) != (3,) or min(self.goal) <= 0):
            raise ValueError(f"goal: expected half of its sizes (x, y, z) in m, got {self.goal!r}")
        one_of("ball", self.ball, BALLS)
        smallest, largest = self.ground.smallest, self.ground.largest
        field = self.ground.field(smallest)
        if any(low > high for low, high in zip(smallest, largest, strict=True)):
            raise ValueError(f"pitch: {smallest} is larger than {largest}")
        if min(field) <= 0 or self.ground.goal_size(smallest)[1] >= field[1]:
            raise ValueError(f"pitch: goals leave no field on a pitch of half-lengths {smallest} m")
        if self.opponent == opponents.SCRIPTED and self.walker != "boxhead":
            raise ValueError(f"opponent: 'scripted' plays with boxheads, not with {self.walker!r}")
        if self.opponent is not None and self.opponent not in opponents.NAMED:
            opponents.find_player(self.opponent)

    @functools.cached_property
    def ground(self) -> Pitch:
        return Pitch(*self._half_lengths(), self.keep_aspect_ratio, self.goal, self.box)

    def _half_lengths(self) -> tuple[Half, Half]:
        if self.pitch == "large":
            return LARGE
        if self.pitch == "by_players":
            areas = [2 * self.team_size * area for area in AREA]
            low, high = ((math.sqrt(a / ASPECT) / 2, math.sqrt(a * ASPECT) / 2) for a in areas)
            return low, high
        if isinstance(self.pitch, str):
            raise ValueError(
                f"pitch: {self.pitch!r} is neither large, by_players, nor two pairs of half-lengths"
            )
        try:
            (x0, y0), (x1, y1) = self.pitch
            return (float(x0), float(y0)), (float(x1), float(y1))
        except (TypeError, ValueError):
            raise ValueError(
                f"pitch: expected ((x, y), (x, y)), half-lengths in m, got {self.pitch!r}"
            ) from None

    # Teams.

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{team}_{i}" for team in TEAMS for i in range(self.team_size))

    @functools.cached_property
    def prefixes(self) -> tuple[str, ...]:
        return tuple(f"{name}/" for name in self.names)

    @functools.cached_property
    def creatures(self) -> tuple[Walker, ...]:
        return tuple(find_walker(self.walker).with_prefix(prefix) for prefix in self.prefixes)

    @property
    def players(self) -> tuple[str, ...]:
        return self.names if self.opponent is None else ()

    def as_one_agent(self) -> Task:
        if self.opponent is not None:
            return self
        return dataclasses.replace(self, opponent=opponents.STILL)

    def scripted_policy(self) -> Callable[[Any], Any] | None:
        return scripted.team if self.walker == "boxhead" and self.opponent is not None else None

    @functools.cached_property
    def _sides(self) -> np.ndarray:
        return np.repeat([1.0, -1.0], self.team_size)

    @property
    def varies(self) -> tuple[str, ...]:
        return self.ground.varies

    @property
    def viewpoint(self) -> str:
        return "stand" if self.ground.largest[0] <= NEAR else "follow"

    # Model.

    def model(self) -> Spec:
        spec = self.ground.model()
        spec.option.timestep = self.physics_timestep
        numbers, ball = BALLS[self.ball], spec.geom("ball")
        ball.size[0], ball.pos[2], ball.mass = numbers.radius, numbers.radius, numbers.mass
        ball.friction, ball.solref = numbers.friction, numbers.solref
        if self.box:
            ball.conaffinity = 1 | BOX_ONLY
        # Goals and hits count at each physics step: keep the history of a control step.
        steps = max(1, round(self.control_timestep / self.physics_timestep))
        for i, walker in enumerate(self.creatures):
            dressed = walker.model()
            walker.dress(dressed, COLOURS[i // self.team_size])
            for geom in dressed.geoms if not self.collide else ():
                geom.contype = 0  # what has a type still touches it
            team, number = divmod(i, self.team_size)
            walker.join(spec, dressed, (APART * (2 * team - 1), APART * (number + 1), 0.0))
            add(
                spec, "sensor", name=f"ball at {walker.prefix}", type="contact", intprm=HOW_MANY,
                objtype="geom", objname="ball", reftype="xbody", refname=walker.prefix,
                nsample=steps,
            )  # fmt: skip
        add(
            spec, "sensor", name="ball", type="framepos", objtype="geom", objname="ball",
            nsample=steps,
        )  # fmt: skip
        # Draws for throw-ins, and the seeds of a random opponent.
        spec.nuserdata = 2 * THROWS + (len(spec.actuators) // 2 if self._plays_at_random else 0)
        return spec

    @property
    def _plays_at_random(self) -> bool:
        return self.opponent == opponents.RANDOM

    def actions(self, model: Model) -> Sequence[Action]:
        every = controls(model)
        return every if self.players else every[: len(every) // 2]

    # Start.

    def initialize(self, v: SingleView, rng: Any) -> None:
        half = self.ground.draw(v, rng)
        v.userdata[: 2 * THROWS] = rng.uniform(NEAREST, FARTHEST, 2 * THROWS)
        v.userdata[2 * THROWS :] = rng.integers(1, opponents.SEEDS, v.userdata.size - 2 * THROWS)
        for _ in range(REDRAWS):
            v.joint("ball").qpos[:3] = *rng.uniform(-SPREAD, SPREAD, 2) * half, BALL_HEIGHT
            for walker in self.creatures:
                x, y = rng.uniform(-SPREAD, SPREAD, 2) * half
                walker.stand(v, (x, y, 0.0), about_z(rng.uniform(-math.pi, math.pi)))
            v.detect_contacts()
            if not self._crowded(v):
                return

    def _crowded(self, v: SingleView) -> bool:
        """Tell whether players touch each other or the ball."""
        movers = [v.body(prefix).id for prefix in self.prefixes]
        if self.frees_ball:
            movers.append(v.body("ball").id)
        pairs = v.body_rootid[v.geom_bodyid[v.contact.geom]][v.contact.dist <= 0]
        apart = pairs[:, 0] != pairs[:, 1]
        return bool((apart & np.isin(pairs, movers).all(axis=1)).any())

    def memory(self, v: View) -> Arrays:
        xp, nothing = v.xp, v.xp.zeros(v.lead, dtype=v.xp.float64)
        count = len(self.names)
        remembered = {
            "action": xp.zeros((*v.lead, count, v.ctrl.shape[-1] // count), dtype=xp.float64),
            "scored": nothing,  # in this control step: 1 for home, -1 for away
            "out": xp.zeros(v.lead, dtype=xp.bool),  # of the ball, at the end of the last step
            "throws": nothing,  # number of throw-ins
            "hit": nothing + NOBODY,  # first player to hit the ball in this control step
            "last_player": nothing + NOBODY,  # last player to hit it
        }
        if self._plays_at_random:
            remembered["words"] = xp.astype(v.userdata[..., 2 * THROWS :], xp.int64)
        return remembered

    # Control step.

    def before_step(self, v: View, action: Array) -> Arrays:
        m, xp, out = v.memory, v.xp, v.memory["out"]
        acting = self._all_actions(v, action)
        if known_empty(out):  # most of the time
            return acting
        return {
            **acting,
            **self._throw_in(v, out),
            "throws": m["throws"] + xp.astype(out, xp.float64),
            "last_player": xp.where(out, NOBODY, m["last_player"]),
        }

    def _throw_in(self, v: View, out: Array) -> Arrays:
        """Positions and velocities with an out ball put back on the field."""
        xp = v.xp
        share = drawn_row(v.userdata[..., : 2 * THROWS], 2, v.memory["throws"])
        place = v.geom("ball").xpos[..., :2] * share
        upright = xp.asarray([BALL_HEIGHT, 1.0, 0.0, 0.0, 0.0]) + xp.zeros((*v.lead, 1))
        pose = xp.concat([place, upright], axis=-1)
        ball, rest = v.qpos[..., :7], v.qpos[..., 7:]
        moving, others = v.qvel[..., :6], v.qvel[..., 6:]
        return {
            "qpos": xp.concat([xp.where(out[..., None], pose, ball), rest], axis=-1),
            "qvel": xp.concat([xp.where(out[..., None], 0.0, moving), others], axis=-1),
        }

    def _all_actions(self, v: View, action: Array) -> Arrays:
        xp, m = v.xp, v.memory
        shape = m["action"].shape
        actions = xp.astype(action, xp.float64)
        if self.opponent is None:
            return {"action": xp.reshape(actions, shape)}
        home = xp.reshape(actions, (*v.lead, self.team_size, shape[-1]))
        if self._plays_at_random:
            words = opponents.following(m["words"])
            every = controls(v.model)
            low, high = (xp.asarray(bound) for bound in bounds(every[len(every) // 2 :]))
            drawn = low + (high - low) * opponents.as_shares(xp, words)
            away = xp.reshape(drawn, home.shape)
            return {"action": xp.concat([home, away], axis=-2), "words": words}
        return {"action": xp.concat([home, self._opponent_actions(v, home)], axis=-2)}

    def _opponent_actions(self, v: View, home: Array) -> Array:
        """Deterministic part of the away team's actions."""
        if self.opponent == opponents.STILL:
            return v.xp.zeros_like(home)
        theirs = (*[slice(None)] * len(v.lead), slice(self.team_size, None), ...)
        entries = {name: value[theirs] for name, value in self._seen(v).items()}
        if self.opponent == opponents.SCRIPTED:
            return scripted.player(entries)
        player = opponents.find_player(self.opponent or "")
        lead = (*v.lead, self.team_size)
        action = v.xp.asarray(player(opponents.flat(v.xp, entries, lead)))
        if action.shape != home.shape:
            raise ValueError(
                f"opponent: {self.opponent} returned shape {tuple(action.shape)}, its players'"
                f" actions have {tuple(home.shape)}"
            )
        return v.xp.astype(action, v.xp.float64)

    def control(self, v: View, action: Array) -> Array:
        acting = v.memory["action"]
        return v.xp.reshape(acting, (*v.lead, acting.shape[-2] * acting.shape[-1]))

    @functools.cached_property
    def _contacts(self) -> tuple[str, ...]:
        return tuple(f"ball at {prefix}" for prefix in self.prefixes)

    def _scored(self, v: View) -> Array:
        """1 if home has scored in this control step, -1 if away has, else 0."""
        xp = v.xp
        lower = v.site("away_goal_lower").xpos[..., None, :]
        upper = v.site("away_goal_upper").xpos[..., None, :]
        between = v.past(("ball",))[..., 0, 1:, :]  # without the start of the control step
        way = xp.concat([between, v.geom("ball").xpos[..., None, :]], axis=-2)
        # The goals mirror each other: the sign of x alone tells which goal it is.
        deep = abs(way[..., 0]) > lower[..., 0]
        if known_empty(deep):  # most of the time
            return xp.zeros(v.lead, dtype=xp.float64)
        x, y, z = (way[..., i] for i in range(3))
        inside = deep & (abs(x) < upper[..., 0]) & (abs(y) < upper[..., 1])
        inside = inside & (z > lower[..., 2]) & (z < upper[..., 2])
        return xp.sign(total(xp.where(inside, x, 0.0)))

    def _hit(self, v: View) -> Array:
        """Number of the first player to touch the ball, or nobody's."""
        xp, count = v.xp, len(self.names)
        touched = v.past(self._contacts)[..., 0] > 0
        steps = touched.shape[-1]
        never = float(count * steps)
        # Pairs of physics step and player, steps first.
        turns = xp.reshape(xp.arange(never), (steps, count)).mT
        first = smallest(reshaped(xp.where(touched, turns, never), (*v.lead, count * steps)))
        return xp.where(first < never, first % count, NOBODY)

    def update(self, v: View) -> Arrays:
        ball = v.geom("ball").xpos[..., :2]
        corner = v.site("field_upper").xpos[..., :2]
        hit = self._hit(v)
        return {
            "scored": self._scored(v),
            "out": v.xp.any(abs(ball) > corner, axis=-1),
            "hit": hit,
            "last_player": v.xp.where(hit == NOBODY, v.memory["last_player"], hit),
        }

    # Reward and termination.

    def terms(self, v: View) -> Arrays:
        scored = self._scored(v)
        if self.opponent is not None:
            return {"goal": scored}
        return {"goal": scored[..., None] * v.xp.asarray(self._sides) + 0.0}  # without a -0.0

    def terminated(self, v: View) -> Array:
        ended = self._scored(v) != 0
        return ended if self.ends_on_goal else ended & False

    def success(self, v: View) -> Array | None:
        return None if self.opponent is None else self._scored(v) > 0

    # Observation.

    def _seen(self, v: View) -> Arrays:
        """Entries of all players' observations, with an axis of players."""
        scored = v.memory["scored"][..., None] * v.xp.asarray(self._sides)
        sight = seeing.Seen(v, self.creatures[0], self.prefixes, self.team_size)
        return sight.entries(v.memory["action"], scored)

    def observation(self, v: View) -> Arrays:
        entries, axis = self._seen(v), len(v.lead)
        if self.opponent is None:
            return entries
        return {
            f"{name}/{entry}": value[(*[slice(None)] * axis, i, ...)]
            for i, name in enumerate(self.names[: self.team_size])
            for entry, value in entries.items()
        }

    def labels(self, v: View) -> dict[str, Signal]:
        if self.opponent is None:
            return {}
        walker = self.creatures[0]
        entries = self._seen(v)
        acting = tuple(a.name.partition("/")[2] for a in self.actions(v.model))
        signals = seeing.labels(walker, self.team_size, acting[: len(acting) // self.team_size])
        for entry, meaning in meanings(type(walker), entries).items():
            stated = signals.get(entry, walker.labels().get(entry, Signal()))
            signals[entry] = dataclasses.replace(stated, meaning=stated.meaning or meaning)
        return {
            f"{name}/{entry}": dataclasses.replace(
                signal, frame=f"{name}/{signal.frame}" if signal.frame else ""
            )
            for name in self.names[: self.team_size]
            for entry, signal in signals.items()
            if entry in entries
        }
