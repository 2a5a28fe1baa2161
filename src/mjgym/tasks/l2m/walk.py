"""Follow a field of target velocities with 22 muscles: the task of "Learn to Move: Walk Around".

S. Song, Ł. Kidziński, X. B. Peng, C. Ong, J. Hicks, S. Levine, C. G. Atkeson and S. L. Delp, "Deep
reinforcement learning for modeling human locomotion control in neuromechanical simulation", Journal
of NeuroEngineering and Rehabilitation 18:126 (2021), doi 10.1186/s12984-021-00919-y. It is the
competition of NeurIPS 2019 that osim-rl's L2M2019Env ran on OpenSim.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from mjgym.arrays import Array, alongside, columns, reshaped, total
from mjgym.mjcf import Spec
from mjgym.sim import SingleView, View
from mjgym.task import Action, Arrays, Model, Signal, Task, register_variants, variant
from mjgym.tasks.l2m import shaping
from mjgym.tasks.l2m.fast_musculoskeletal import FastMusculoskeletal
from mjgym.tasks.l2m.musculoskeletal import (
    ACTION_TO_MODEL,
    COORDINATES,
    LONGEST_STEP,
    MUSCLES,
    Musculoskeletal,
)
from mjgym.tasks.l2m.reflex import Reflexes, parameters
from mjgym.tasks.l2m.skeleton import muscle_colour
from mjgym.tasks.l2m.step_feedback import SteppedReflexes, feedback
from mjgym.tasks.l2m.target_field import SEEN, SEEN_SPACING, TargetField

TIMESTEP = 0.01  # s, of a published control step
ROUND_1, ROUND_2 = 10.0, 25.0  # s, of an episode
BODY_WEIGHT = 75.1646 * 9.80665  # N

FALLEN = 0.6  # m, height of the pelvis, below which the walker has fallen
LOADED = 0.05  # fraction of body weight on a foot; rising above it is a footstep
FEW_FOOTSTEPS = 5  # with no more than these an episode fails

ALIVE = 0.1  # per published control step
FOOTSTEP = 10.0  # 1/s, per duration of a step
SINK = 500.0  # per sink achieved, in Round 2
FINISH = 10.0  # for a successful episode, in Round 1
VELOCITY_WEIGHTS = {1: 1.0, 2: 3.0}  # 1/m, by round

START_HEIGHT = 0.94  # m, of the pelvis
STRAIGHT = (0.0, 0.0, START_HEIGHT, 0.0, *(0.0,) * 8)

SEEN_FIELDS = ("map", "centre", "sink")
FAR_SINK = 2.0  # m, of which the direction alone is seen

ARROW, ARROW_HEIGHT = 0.5, 0.02  # m per m/s, m above the ground

SIDES = {"r": "right", "l": "left"}
JOINTS = ("hip abduction", "hip extension", "knee extension", "ankle plantarflexion")
HEADING = "pelvis, about the vertical"  # the axes of what is forward, leftward and up
# Muscles of a leg in the order of actions and observations, by the model's names.
LEG = {
    "HAB": ("abd", "hip abductors"),
    "HAD": ("add", "hip adductors"),
    "HFL": ("iliopsoas", "iliopsoas"),
    "GLU": ("glut_max", "gluteus maximus"),
    "HAM": ("hamstrings", "hamstrings"),
    "RF": ("rect_fem", "rectus femoris"),
    "VAS": ("vasti", "vasti"),
    "BFSH": ("bifemsh", "short head of the biceps femoris"),
    "GAS": ("gastroc", "gastrocnemius"),
    "SOL": ("soleus", "soleus"),
    "TA": ("tib_ant", "tibialis anterior"),
}


def _places(*names: str) -> tuple[int, ...]:
    return tuple(COORDINATES.index(name) for name in names)


TILT, LIST, ROTATION = _places("pelvis_tilt", "pelvis_list", "pelvis_rotation")
FORWARD, UP, RIGHT = _places("pelvis_tx", "pelvis_ty", "pelvis_tz")
# Observed joints of each leg, (2, 4): abduction, extension (of hip and knee) and plantarflexion are
# positive, which are the coordinates' directions at the knees alone.
LEG_JOINTS = np.array(
    [
        _places(f"hip_adduction_{s}", f"hip_flexion_{s}", f"knee_angle_{s}", f"ankle_angle_{s}")
        for s in SIDES
    ]
)
EXTENSION = np.array([-1.0, -1.0, 1.0, -1.0])
KNEES = LEG_JOINTS[:, 2]
OUTWARD = np.array([-1.0, 1.0])  # of each leg, leftward
# Observed muscles of each leg, (2, 11), in the model's order.
LEG_MUSCLES = np.array([[MUSCLES.index(f"{name}_{s}") for name, _ in LEG.values()] for s in SIDES])


Body = Musculoskeletal | FastMusculoskeletal
"""The walker's mechanics: skeleton and actuation."""


@dataclass(frozen=True)
class Walk(Task):
    """Walk with 22 muscles as a field of target velocities asks for (Song et al., 2021).

    An action is the excitation of each muscle, first of the right leg, then of the left; values are
    clipped to [0, 1]. The walker is that of Ong et al. (2019), after Delp et al. (1990).

    Reward: `alive`, 0.1 in each control step of 0.01 s. For each footstep (the load of a foot rises
    above 5 % of the body weight), of the time since the last one was paid for: `footstep`, 10 times
    its duration (s); `velocity`, -3 times the distance (m) by which the pelvis has gone astray from
    the target velocities, -1 times in Round 1, which is a `difficulty` below 3; and `effort`, minus
    the integral of the sum of squared activations. The time that is left is paid for in the same
    way when an episode ends well: it is not cut short, and has had more than five footsteps. In
    Round 1 that pays without `velocity` and `effort`, and there is `finish`, 10. In Round 2 each
    achieved sink pays 500 in `sink`. As published, a footstep and a sink are paid for one control
    step after they are noticed. Success: the episode has ended well.

    Start: standing straight and still, 0.94 m high, or as `init_pose` says; the muscles in
    equilibrium.

    End: the pelvis is lower than 0.6 m.

    Observation: `v_tgt_field`, the target velocities around the walker, in its own axes;
    `pelvis/height` (m); `pelvis/pitch` forward and `pelvis/roll` to the right (rad); `pelvis/vel`
    forward, leftward and up (m/s), then of pitch, roll and yaw (rad/s). Then of the right leg
    `r_leg/ground_reaction_forces`, over the body's weight; `r_leg/joint` and `r_leg/d_joint`,
    angles (rad) of hip abduction, hip extension, knee extension and ankle plantarflexion, and their
    rates; and of its muscles each force over the greatest, length over the optimal one, and
    velocity over that (1/s): `r_leg/HAB`, `r_leg/HAD`, `r_leg/HFL`, `r_leg/GLU`, `r_leg/HAM`,
    `r_leg/RF`, `r_leg/VAS`, `r_leg/BFSH`, `r_leg/GAS`, `r_leg/SOL`, `r_leg/TA`. The entries of the
    left leg, which begin with l_leg, follow in the same order.

    Raises:
        ValueError: the difficulty or the seen field is unknown, the pose is not of 12 numbers, or
            a field without sinks has a `target_reward` or is seen as "sink".
    """

    reflexes: ClassVar[str] = ""
    """The parameters with which reflexes walk in the plane."""

    # 0 for a constant target of 1.4 m/s forward; 1 and 2 for sinks of the field one after the
    # other, ahead or up to 90 degrees to the side; 3 for two sinks in any direction and the rules
    # of Round 2
    difficulty: int = 3
    # Forward and rightward speed (m/s), height of the pelvis (m), lean of the trunk (rad, forward),
    # then of the right leg and of the left hip abduction, hip extension, knee extension and ankle
    # plantarflexion (rad)
    init_pose: tuple[float, ...] = STRAIGHT
    planar: bool = False  # whether the walker moves in the vertical plane alone
    # Of straying from the target velocities (1/m); None for the round's own
    velocity_weight: float | None = None  # 1/m
    effort_weight: float = 1.0  # of the integral of the squared activations (1/s)
    # "map" for `v_tgt_field`; "centre" for the target at the walker alone, `v_tgt`, and `time`,
    # from -1 at the start to 1 at the time limit: 100 numbers in all; "sink" for `sink`, the way to
    # it ahead and to the left, of which its direction alone is seen from 2 m on. `pelvis/pitch`,
    # `pelvis/roll` and their rates are along the heading then, and no longer along the start's: 99
    # numbers
    seen_field: Literal["map", "centre", "sink"] = "map"
    # Per control step.
    # What each control step pays, in `pace`, at the target velocity; a tenth of it at 1.4 m/s off.
    # This reward and those that follow are no part of the published one
    dense_reward: float = 0.0
    # What each control step pays, in `progress`, for the part of the velocity that is along the
    # target, over the target: as much backwards is its negative, nothing is paid for standing or
    # for more speed
    progress_reward: float = 0.0
    # The most that each control step pays, in `vector`, for the target velocity, as Kolesnikov and
    # Khrulkov (2020) shaped the reward, with 0.3; so do all that follow, which
    # `mjgym.tasks.l2m.shaping` states
    vector_reward: float = 0.0
    speed_reward: float = 0.0  # in `speed`, for the target's speed in any direction
    direction_reward: float = 0.0  # in `direction`, for the target's direction at any speed
    target_reward: float = 0.0  # in `target`, for being close to the sink
    crossing_legs_reward: float = 0.0  # in `crossing_legs`, for legs that do not cross
    knee_bend_reward: float = 0.0  # in `knee_bend`, for each radian of a knee's flexion

    time_limit: float = dataclasses.field(default=ROUND_2, kw_only=True)  # s
    control_timestep: float = dataclasses.field(default=TIMESTEP, kw_only=True)  # s

    def __post_init__(self) -> None:
        _ = self.field
        if self.seen_field not in SEEN_FIELDS:
            raise ValueError(
                f'seen_field: expected "map", "centre" or "sink", got {self.seen_field!r}'
            )
        for name, needed in (
            ("target_reward", self.target_reward),
            ("seen_field", self.seen_field == "sink"),
        ):
            if needed and not self.difficulty:
                raise ValueError(f"{name}: there is no sink with difficulty=0")
        pose = tuple(float(x) for x in self.init_pose)
        if len(pose) != len(STRAIGHT) or not all(math.isfinite(x) for x in pose):
            raise ValueError(f"init_pose: expected 12 numbers, got {self.init_pose!r}")
        object.__setattr__(self, "init_pose", pose)

    @property
    def body(self) -> Body:
        raise NotImplementedError(f"{type(self).__name__} must define body")

    def activation(self, v: View) -> Array:
        """The muscles' activations, (..., 22), in the model's order."""
        raise NotImplementedError(f"{type(self).__name__} must define activation()")

    @functools.cached_property
    def field(self) -> TargetField:
        return TargetField(self.difficulty)

    @property
    def round(self) -> int:
        return 2 if self.difficulty == 3 else 1

    # Model.

    def model(self) -> Spec:
        spec = self.body.model()
        spec.nuserdata = self.field.draws
        return spec

    def actions(self, model: Model) -> Sequence[Action]:
        return [
            Action(
                f"{side}_{name}",
                0.0,
                1.0,
                source=f"muscle {source}_{side}",
                meaning=f"excitation of the {whose} {muscle}",
            )
            for side, whose in SIDES.items()
            for name, (source, muscle) in LEG.items()
        ]

    def scripted_policy(self) -> Reflexes | None:
        if self.seen_field == "sink":
            return None
        if self.planar:
            return Reflexes(parameters(self.reflexes))
        return SteppedReflexes(parameters("spatial-walk"), feedback("spatial-walk"))

    def colours(self, v: View) -> Arrays:
        """Muscles from pale to red by their activations."""
        activation = self.activation(v)
        return {
            f"material muscle {name}": muscle_colour(activation[..., i])
            for i, name in enumerate(MUSCLES)
        }

    def arrows(self, v: View) -> Arrays:
        """The target and the actual velocity, on the ground below the pelvis."""
        xp, position = v.xp, self._position(v)
        ground = xp.zeros_like(position[..., :1]) + ARROW_HEIGHT
        return {
            name: xp.concat([position, ground, position + ARROW * velocity, ground], axis=-1)
            for name, velocity in (("target", self._target(v)), ("actual", self._velocity(v)))
        }

    # Start of an episode.

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.body.place(v, *placed(self.init_pose))
        v.userdata = rng.uniform(size=self.field.draws)

    def memory(self, v: View) -> Arrays:
        xp = v.xp
        nothing = xp.zeros(v.lead, dtype=xp.float64)
        both = xp.zeros((*v.lead, 2), dtype=xp.float64)
        return {
            **self.body.memory(v),
            **self.field.start(v.userdata[..., : self.field.draws], both),
            "loaded": both + 1,  # whether each foot is loaded; as published, both are at first
            "footsteps": nothing,
            "new_footstep": nothing,  # whether there was one at the end of the previous step
            "new_sink": nothing,  # whether one was achieved at the end of the previous step
            # Since the last rewarded footstep:
            "duration": nothing,  # s
            "astray": both,  # m, travel of the pelvis relative to the targets
            "spent": nothing,  # s, integral of the sum of squared activations
        }

    # Control step.

    def _excitation(self, v: View, action: Array) -> Array:
        """Muscle excitations, (..., 22) from 0 to 1, in the model's order."""
        wanted = v.xp.astype(columns(action, ACTION_TO_MODEL), v.xp.float64)
        return v.xp.clip(wanted, 0.0, 1.0)

    # Reward.

    def _position(self, v: View) -> Array:
        """Position of the pelvis, forward and leftward in the world, (..., 2) m."""
        q = self.body.positions(v)
        return v.xp.stack([q[..., FORWARD], -q[..., RIGHT]], axis=-1)

    def _target(self, v: View) -> Array:
        """Target velocity at the pelvis, forward and leftward in the world, (..., 2)."""
        return self.field.velocity(v.memory, self._position(v)[..., None, :])[..., 0, :]

    def _velocity(self, v: View) -> Array:
        """Velocity of the pelvis, forward and leftward in the world, (..., 2) m/s."""
        u = self.body.speeds(v)
        return v.xp.stack([u[..., FORWARD], -u[..., RIGHT]], axis=-1)

    def _shaping(self, v: View) -> Arrays:
        """The shaping rewards that are not 0, by name."""
        weights = {
            "pace": self.dense_reward,
            "progress": self.progress_reward,
            "vector": self.vector_reward,
            "speed": self.speed_reward,
            "direction": self.direction_reward,
            "target": self.target_reward,
            "crossing_legs": self.crossing_legs_reward,
            "knee_bend": self.knee_bend_reward,
        }
        if not any(weights.values()):
            return {}
        velocity, target, to_sink = self._velocity(v), self._target(v), None
        if self.difficulty:
            away = v.memory["sink"] - self._position(v)
            to_sink = v.xp.sqrt(total(away * away))

        def from_pelvis(body: str) -> Array:
            return v.body(body).xpos - v.body("pelvis").xpos

        worth = {
            "pace": lambda: shaping.pace(velocity, target),
            "progress": lambda: shaping.progress(velocity, target),
            "vector": lambda: shaping.vector(velocity, target),
            "speed": lambda: shaping.speed(velocity, target, to_sink),
            "direction": lambda: shaping.direction(velocity, target, to_sink),
            "target": lambda: shaping.target(to_sink),
            "crossing_legs": lambda: shaping.crossing_legs(
                *map(from_pelvis, ("toes_l", "toes_r", "head"))
            ),
            "knee_bend": lambda: shaping.knee_bend(columns(self.body.positions(v), KNEES)),
        }
        return {name: weight * worth[name]() for name, weight in weights.items() if weight}

    def _sums(self, v: View) -> dict[str, Array]:
        """Sums since the last rewarded footstep, including the current step."""
        m, activation = v.memory, self.activation(v)
        return {
            "duration": m["duration"] + self.control_timestep,
            "astray": m["astray"] + self.control_timestep * (self._velocity(v) - self._target(v)),
            "spent": m["spent"] + self.control_timestep * total(activation * activation),
        }

    def _upright(self, v: View) -> Array:
        return self.body.positions(v)[..., UP] >= FALLEN

    def _ends_well(self, v: View) -> Array:
        over = v.time + self.control_timestep / 2 > self.time_limit
        return over & self._upright(v) & (v.memory["footsteps"] > FEW_FOOTSTEPS)

    def terms(self, v: View) -> Arrays:
        m, xp, sums = v.memory, v.xp, self._sums(v)
        ends_well = xp.astype(self._ends_well(v), xp.float64)
        new = m["new_footstep"]
        rest = xp.maximum(new, ends_well)
        paid = rest if self.round == 2 else new
        weight = self.velocity_weight
        weight = VELOCITY_WEIGHTS[self.round] if weight is None else weight
        astray = xp.sqrt(total(sums["astray"] * sums["astray"]))
        terms = {
            "alive": xp.full_like(new, ALIVE * (self.control_timestep / TIMESTEP)),
            "footstep": FOOTSTEP * sums["duration"] * rest,
            "velocity": -weight * astray * paid,
            "effort": -self.effort_weight * sums["spent"] * paid,
        }
        if self.round == 2:
            terms["sink"] = SINK * m["new_sink"]
        else:
            terms["finish"] = FINISH * ends_well
        return terms | self._shaping(v)

    def reward(self, terms: Arrays) -> Array:
        return sum(terms.values())

    def terminated(self, v: View) -> Array:
        return ~self._upright(v)

    def success(self, v: View) -> Array:
        return self._ends_well(v)

    def update(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        load = self.body.reactions(v)[..., 2] / BODY_WEIGHT
        loaded = xp.astype(load > LOADED, xp.float64)
        new = xp.max(loaded * (1 - m["loaded"]), axis=-1)
        going_on = 1 - m["new_footstep"]
        sums = self._sums(v)
        draws = v.userdata[..., : self.field.draws]
        field = self.field.advance(m, draws, self._position(v), self.control_timestep)
        achieved = m["new_sink"] * 0.0
        if field:
            achieved = field["sinks_achieved"] - m["sinks_achieved"]
        return {
            **field,
            "loaded": loaded,
            "footsteps": m["footsteps"] + new,
            "new_footstep": new,
            "new_sink": achieved,
            "duration": sums["duration"] * going_on,
            "astray": sums["astray"] * going_on[..., None],
            "spent": sums["spent"] * going_on,
        }

    # Observation.

    def observation(self, v: View) -> Arrays:
        xp = v.xp
        q, u = self.body.positions(v), self.body.speeds(v)
        heading = q[..., ROTATION]
        cosine, sine = xp.cos(heading), xp.sin(heading)

        def turned(x: Array, y: Array) -> tuple[Array, Array]:
            return cosine * x + sine * y, cosine * y - sine * x

        pitch, roll, pitching, rolling = -q[..., TILT], q[..., LIST], -u[..., TILT], u[..., LIST]
        seen: Arrays = {}
        if self.seen_field == "centre":
            target = self._target(v)
            target = xp.stack(turned(target[..., 0], target[..., 1]), axis=-1)
            seen = {"v_tgt": target, "time": 2 * v.time / self.time_limit - 1}
        elif self.seen_field == "sink":
            away = v.memory["sink"] - self._position(v)
            near = FAR_SINK / xp.clip(xp.sqrt(total(away * away)), FAR_SINK, None)
            way = xp.stack(turned(away[..., 0], away[..., 1]), axis=-1)
            seen = {"sink": near[..., None] * way}
            (pitch, left), (pitching, leftward) = turned(pitch, -roll), turned(pitching, -rolling)
            roll, rolling = -left, -leftward
        else:
            pose = xp.concat([self._position(v), heading[..., None]], axis=-1)
            seen = {"v_tgt_field": self.field.seen(v.memory, pose)}
        ahead, left = turned(u[..., FORWARD], -u[..., RIGHT])
        velocity = [ahead, left, u[..., UP], pitching, rolling, u[..., ROTATION]]
        return {
            **seen,
            "pelvis/height": q[..., UP],
            "pelvis/pitch": pitch,
            "pelvis/roll": roll,
            "pelvis/vel": xp.stack(velocity, axis=-1),
            **self._legs(v, q, u, cosine[..., None], sine[..., None]),
        }

    def _legs(self, v: View, q: Array, u: Array, cosine: Array, sine: Array) -> Arrays:
        """Entries of the legs, for coordinates, rates and the heading's direction, (..., 1)."""
        xp, body = v.xp, self.body
        force = body.reactions(v) / BODY_WEIGHT
        x, y = force[..., 0], force[..., 1]
        outward = alongside(OUTWARD, x) * (cosine * y - sine * x)
        force = xp.stack([cosine * x + sine * y, outward, force[..., 2]], axis=-1)
        signs = alongside(EXTENSION, q)
        angles, rates = (signs * _of_legs(x, LEG_JOINTS) for x in (q, u))
        state = body.muscles(v)
        muscles = xp.stack(
            [
                state.fibre_force / alongside(body.strength, q),
                state.fibre_length / alongside(body.optimal_length, q),
                state.fibre_velocity / alongside(body.optimal_length, q),
            ],
            axis=-1,
        )
        muscles = xp.stack([_of_legs(muscles[..., i], LEG_MUSCLES) for i in range(3)], axis=-1)
        entries = {}
        for leg, side in enumerate(SIDES):
            entries[f"{side}_leg/ground_reaction_forces"] = force[..., leg, :]
            entries[f"{side}_leg/joint"] = angles[..., leg, :]
            entries[f"{side}_leg/d_joint"] = rates[..., leg, :]
            for i, name in enumerate(LEG):
                entries[f"{side}_leg/{name}"] = muscles[..., leg, i, :]
        return entries

    def labels(self, v: View) -> dict[str, Signal]:
        places = range(-(SEEN // 2), SEEN // 2 + 1)
        field = tuple(
            f"{way} at {SEEN_SPACING * x:g} m ahead, {SEEN_SPACING * y:g} m left"
            for way in ("forward", "leftward")
            for x in places
            for y in places
        )
        moved = ("forward", "leftward", "up", "pitch", "roll", "yaw")
        units = ("m/s",) * 3 + ("rad/s",) * 3
        level, sink = ("forward", "leftward"), "memory sink"
        around = Signal("target velocities around the walker", field, "m/s", HEADING, sink)
        of_field = {
            "map": {"v_tgt_field": around},
            "centre": {
                "v_tgt": Signal("target velocity", level, "m/s", HEADING, sink),
                "time": Signal("time in the episode", ("time",), "1", "", "time"),
            },
            "sink": {"sink": Signal("way to the sink, of up to 2 m", level, "m", HEADING, sink)},
        }
        signals = {
            **of_field[self.seen_field],
            "pelvis/height": Signal("height of the pelvis", ("height",), "m", "world", "qpos"),
            "pelvis/pitch": Signal("lean forward", ("pitch",), "rad", "", "qpos"),
            "pelvis/roll": Signal("lean to the right", ("roll",), "rad", "", "qpos"),
            "pelvis/vel": Signal("velocity, and rates of lean", moved, units, HEADING, "qvel"),
        }
        for side, whose in SIDES.items():
            leg = f"{side}_leg"
            ways = tuple(f"{whose} foot {way}" for way in ("forward", "outward", "up"))
            joints = tuple(f"{whose} {name}" for name in JOINTS)
            signals[f"{leg}/ground_reaction_forces"] = Signal(
                f"the ground's force on the {whose} foot, over the body's weight",
                ways, "1", HEADING, "contact",
            )  # fmt: skip
            signals[f"{leg}/joint"] = Signal(
                f"angles of the {whose} leg", joints, "rad", "", "qpos"
            )
            signals[f"{leg}/d_joint"] = Signal(
                f"rates of the angles of the {whose} leg", joints, "rad/s", "", "qvel"
            )
            for name, (_, muscle) in LEG.items():
                numbers = tuple(f"{side}_{name} {x}" for x in ("force", "length", "velocity"))
                signals[f"{leg}/{name}"] = Signal(
                    f"force, length and velocity of the fibres of the {whose} {muscle}",
                    numbers, ("1", "1", "1/s"), "", "muscle",
                )  # fmt: skip
        return signals


def placed(pose: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and their rates, (17,) each, of an `init_pose`."""
    q, u = np.zeros((2, len(COORDINATES)))
    u[FORWARD], u[RIGHT], q[UP], q[TILT] = *pose[:3], -pose[3]
    q[LEG_JOINTS] = EXTENSION * np.reshape(pose[4:], LEG_JOINTS.shape)
    return q, u


def _of_legs(x: Array, places: np.ndarray) -> Array:
    chosen = columns(x, np.ravel(places))
    return reshaped(chosen, (*chosen.shape[:-1], *places.shape))


TAGS = ("musculoskeletal",)


@register_variants(
    "l2m/walk_{}-v0",
    TAGS,
    around=variant("Walk to two sinks of the target velocities, in Round 2."),
    sinks=variant(
        "Walk to one sink of the target velocities after the other, in Round 1.",
        difficulty=2,
        time_limit=ROUND_1,
    ),
    forward=variant("Walk forward at 1.4 m/s.", difficulty=0, time_limit=ROUND_1),
    planar=variant("Walk forward at 1.4 m/s in a plane.", difficulty=0, planar=True),
)
@dataclass(frozen=True)
class OpenSimWalk(Walk):
    """Walk with muscles, contacts and joint limits whose forces are OpenSim's."""

    control_every_substep = True
    reflexes = "planar"

    longest_step: float = dataclasses.field(default=LONGEST_STEP, kw_only=True)  # s, of the physics

    @functools.cached_property
    def body(self) -> Musculoskeletal:
        return Musculoskeletal(self.planar, self.control_timestep, self.longest_step)

    def activation(self, v: View) -> Array:
        return self.body.activation(v)

    def before_step(self, v: View, action: Array) -> Arrays:
        return self.body.before_step(v, self._excitation(v, action))

    def control(self, v: View, action: Array) -> Array:
        return self.body.control(v)

    def substep(self, v: View) -> Arrays:
        return self.body.substep(v)


@register_variants(
    "l2m/walk_{}-fast-v0",
    (*TAGS, "fast"),
    around=variant("Walk to two sinks, with MuJoCo's own muscles and contacts."),
    sinks=variant(
        "Walk to one sink after the other, with MuJoCo's own muscles and contacts.",
        difficulty=2,
        time_limit=ROUND_1,
    ),
    forward=variant(
        "Walk forward at 1.4 m/s, with MuJoCo's own muscles and contacts.",
        difficulty=0,
        time_limit=ROUND_1,
    ),
    planar=variant(
        "Walk forward at 1.4 m/s in a plane, with MuJoCo's own muscles and contacts.",
        difficulty=0,
        planar=True,
    ),
)
@dataclass(frozen=True)
class FastWalk(Walk):
    """Walk with MuJoCo's own muscles and contacts: faster, and not to be scored against OpenSim."""

    reflexes = "planar-fast"

    @functools.cached_property
    def body(self) -> FastMusculoskeletal:
        return FastMusculoskeletal(planar=self.planar)

    def activation(self, v: View) -> Array:
        return v.act

    def control(self, v: View, action: Array) -> Array:
        return self.body.control(v, self._excitation(v, action))

    def current_forces(self, v: View) -> Array:
        return True
