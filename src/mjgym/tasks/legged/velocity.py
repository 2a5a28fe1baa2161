"""Follow a velocity command on legs, as in mjlab.

Zakka, Liao, Yi, Le Lay, Sreenath and Abbeel, "mjlab: A Lightweight Framework for GPU-Accelerated
Robot Learning", 2026, arXiv:2601.22074.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, inf, log10, pi, radians
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, drawn_row, total
from mjgym.mjcf import Spec, add
from mjgym.rotations import Z_ROW, norm, smallest_angle, squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register_variants, variant, vector_names
from mjgym.tasks.legged.legged_task import (
    COUNT,
    FLOOR,
    FORCE,
    FOREVER,
    ROOT,
    CommandedTask,
    uniform_columns,
)
from mjgym.tasks.legged.servos import ITSELF, ServoTask, hard_steps
from mjgym.variation import Distribution, Uniform

DROP = (0.01, 0.05)  # m, of the start above the usual height
FALLEN = radians(70)  # tilt of the root that ends the episode

# Commands.
COMMANDS = 16  # drawn per episode, which needs at most 7 in 20 s; a longer one repeats them
HOLD = (3.0, 8.0)  # s, from one to the next
HEADING, STANDING, FORWARD = 0.3, 0.1, 0.2  # shares of commands of each kind, independent
SLOWEST_FORWARD = 0.3  # m/s, of commands straight ahead
STIFFNESS = 0.5  # 1/s, turning rate per error of the heading
# The curriculum: control steps of an environment after which commands are drawn from wider ranges,
# forward (m/s) and about the vertical (rad/s).
STAGES = ((120_000, (-1.5, 2.0), (-0.7, 0.7)), (240_000, (-2.0, 3.0), (-0.7, 0.7)))
VX, VY, WZ, TARGET, HEADS, STANDS, HELD = range(7)  # columns of the drawn commands
COLUMNS = 7

# Events, all off by default.
SHOVES = (0.5, 0.5, 0.4, 0.52, 0.52, 0.78)  # m/s and rad/s, largest change of the root's velocity
SHIFT = (0.025, 0.025, 0.03)  # m, largest of the trunk's centre of mass along x, y, z
# Friction of the feet: sliding, and for soles of one geom torsional and rolling (m).
FRICTIONS = {
    "geom": (Uniform(0.3, 1.5), 10 ** Uniform(-4, log10(2e-2)), 10 ** Uniform(-5, log10(5e-3))),
    "xbody": (Uniform(0.3, 1.2),),
}
NOISE = {
    "base_lin_vel": 0.5,  # m/s, largest error, as all that follow
    "base_ang_vel": 0.2,  # rad/s
    "projected_gravity": 0.05,
    "joint_pos": 0.01,  # rad
    "joint_vel": 1.5,  # rad/s
}

# Rewards.
LINEAR, ANGULAR = 0.25, 0.5  # (m/s)^2, (rad/s)^2, scales of tracking errors
UPRIGHT = 0.2  # scale of the squared sine of the tilt
STILL, RUNNING = 0.05, 1.5  # commanded speeds (m/s + rad/s) below and above which poses are judged
CLEARANCE = 0.1  # m, wanted height of a swinging foot
AIRBORNE = (0.05, 0.5)  # s, durations of a swing that are rewarded
STEPPING = 0.5  # commanded speed (m/s + rad/s) above which they are
HIGHEST = 1.0  # m, beyond which heights of feet are not told apart
ROUNDING = 1e-6  # s

# Vectors that rewards see as they were before the last physics step.
VELOCITY, RATE, UP, ROOT_UP = "base_velocity", "base_rate", "trunk_up", "root_up"
TRUNK_RATE, MOMENTUM = "trunk_rate", "angular_momentum"
SEEN = (VELOCITY, RATE, UP, ROOT_UP, TRUNK_RATE, MOMENTUM)

TERMS = (
    "track_linear_velocity", "track_angular_velocity", "upright", "pose", "body_ang_vel",
    "angular_momentum", "dof_pos_limits", "action_rate_l2", "air_time", "foot_clearance",
    "foot_swing_height", "foot_slip", "soft_landing", "self_collisions",
)  # fmt: skip


@register_variants(
    "legged/{}-velocity-v0",
    g1=variant(
        "A humanoid follows a velocity command.",
        robot="g1",
        body_ang_vel=-0.05,
        angular_momentum=-0.02,
        self_collisions=-1.0,
    ),
    go2=variant("A Go2 follows a velocity command.", robot="go2"),
    go1=variant("A Go1 follows a velocity command."),
)
@dataclass(frozen=True)
class Velocity(CommandedTask, ServoTask):
    """A legged robot follows a velocity command in its own frame.

    Reward: 0.02 s times the weighted sum of the terms, which are named as in mjlab; their weights
    are keyword arguments.

    Start: in its usual pose at rest, up to 0.5 m from the origin each way and 1 to 5 cm above the
    ground, turned at random. The episode ends when the root tilts by more than 70 degrees.

    Commands: drawn at the start, and again 3 to 8 s later. Some hold a heading instead of a turning
    rate, some ask to stand still, some to go straight ahead.

    Observation: `base_lin_vel`, velocity of the inertial measurement unit; `base_ang_vel`, its
    angular velocity; `projected_gravity`, direction of gravity as the root sees it; `joint_pos`,
    position of each joint relative to the usual pose, as the encoders show it; `joint_vel`,
    velocity of each joint; `actions`, the last action; `command`, wanted velocity forward, to the
    left, and about the vertical.

    With `privileged` follow heights, times in the air, contacts and contact forces of the feet.
    """

    lin_vel_x: tuple[float, float] = (-1.0, 1.0)  # m/s, range of commands forward
    lin_vel_y: tuple[float, float] = (-1.0, 1.0)  # m/s, to the left
    ang_vel_z: tuple[float, float] = (-0.5, 0.5)  # rad/s, about the vertical
    command_curriculum: bool = False  # the ranges grow with an environment's control steps
    track_linear_velocity: float = 2.0  # weight, as all that follow
    track_angular_velocity: float = 2.0
    upright: float = 1.0
    pose: float = 1.0
    body_ang_vel: float = 0.0
    angular_momentum: float = 0.0
    dof_pos_limits: float = -1.0
    action_rate_l2: float = -0.1
    air_time: float = 0.0
    foot_clearance: float = -2.0
    foot_swing_height: float = -0.25
    foot_slip: float = -0.1
    soft_landing: float = -1e-5
    self_collisions: float = 0.0

    largest_noise: ClassVar[Mapping[str, float]] = NOISE
    largest_push: ClassVar[tuple[float, ...]] = SHOVES
    largest_shift: ClassVar[tuple[float, ...]] = SHIFT
    ground: ClassVar[Mapping[str, str]] = {"reftype": "geom", "refname": FLOOR}  # of contacts

    def __post_init__(self) -> None:
        for name in ("lin_vel_x", "lin_vel_y", "ang_vel_z"):
            span = getattr(self, name)
            if len(span) == 2 and not span[0] <= span[1]:  # other lengths are refused elsewhere
                raise ValueError(f"{name}: a range from low to high, got {span}")
        super().__post_init__()

    def model(self) -> Spec:
        spec = super().model()
        self._add_sensors(spec)
        return spec

    def _add_sensors(self, spec: Spec) -> None:
        robot = self.body
        add(spec.body(robot.root), "site", name="base", group=3)
        self.watch(spec, VELOCITY, type="velocimeter", objtype="site", objname="base")
        self.watch(spec, RATE, type="gyro", objtype="site", objname="base")
        for name, body in ((UP, robot.trunk), (ROOT_UP, robot.root)):
            self.watch(
                spec, name, type="framezaxis", objtype="body", objname="world", reftype="xbody",
                refname=body,
            )  # fmt: skip
        self.watch(spec, TRUNK_RATE, type="frameangvel", objtype="xbody", objname=robot.trunk)
        self.watch(spec, MOMENTUM, type="subtreeangmom", objtype="body", objname=robot.root)
        for foot in robot.feet:
            self.watch(spec, f"{foot}_velocity", type="framelinvel", objtype="site", objname=foot)
        for foot, sole in zip(robot.feet, robot.soles, strict=True):
            for name, data in ((f"{foot}_found", COUNT), (f"{foot}_force", FORCE)):
                self.watch(
                    spec, name, type="contact", objtype=robot.sole_kind, objname=sole,
                    **self.ground, intprm=data,
                )  # fmt: skip
        if self.self_collisions:
            self.watch_itself(spec)

    @property
    def drawn_sizes(self) -> Mapping[str, int]:
        stage = 3 if self.command_curriculum else 0  # control steps before, range of turning rates
        return {"commands": COMMANDS * COLUMNS, **super().drawn_sizes, "stage": stage}

    @property
    def foot_friction(self) -> tuple[Distribution, ...]:
        return FRICTIONS[self.body.sole_kind]

    # Start, commands.

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        v.qpos[2] += rng.uniform(*DROP)
        steps = float(v.kept.get("steps", 0))
        spans = self._ranges_after(steps)
        self.drawn_numbers(v, "commands")[:] = self._draw_commands(rng, spans).ravel()
        self.draw_events(v, rng)
        if self.command_curriculum:
            self.drawn_numbers(v, "stage")[:] = steps, *spans[2]

    @property
    def kept(self) -> tuple[str, ...]:
        return ("steps",) if self.command_curriculum else ()

    def _ranges_after(self, steps: float) -> tuple[tuple[float, float], ...]:
        """Ranges of commands after some control steps, as `command_ranges`."""
        forward, turn = self.lin_vel_x, self.ang_vel_z
        for first, wider_forward, wider_turn in STAGES:
            if self.command_curriculum and steps >= first:
                forward, turn = wider_forward, wider_turn
        return forward, self.lin_vel_y, turn

    @property
    def command_ranges(self) -> tuple[tuple[float, float], ...]:
        return self._ranges_after(inf)

    def commanded(self, command: np.ndarray) -> dict[str, np.ndarray]:
        row = np.zeros(COLUMNS)
        row[[VX, VY, WZ]] = command
        return {"command": command, "drawn": row, "left": np.array(FOREVER)}

    def _draw_commands(self, rng: Any, ranges: tuple[tuple[float, float], ...]) -> np.ndarray:
        ahead, aside, turn, target = uniform_columns(rng, (*ranges, (-pi, pi)), COMMANDS).T
        kinds = rng.random((3, COMMANDS))
        heads, stands, forward = kinds[0] < HEADING, kinds[1] < STANDING, kinds[2] < FORWARD
        ahead = np.where(forward, np.maximum(np.abs(ahead), SLOWEST_FORWARD), ahead)
        aside, turn = np.where(forward, 0.0, aside), np.where(forward, 0.0, turn)
        if self.command is not None:
            ahead, aside, turn = (np.full(COMMANDS, x) for x in self.command)
            heads = stands = np.zeros(COMMANDS)
        held = rng.uniform(*HOLD, COMMANDS)
        return np.stack([ahead, aside, turn, target, heads, stands, held], axis=-1)

    def _command_row(self, v: View, number: Array) -> Array:
        return drawn_row(self.drawn_numbers(v, "commands"), COLUMNS, number)

    def _as_commanded(self, v: View, drawn: Array, turning: Array) -> Array:
        """The command of a row: its heading becomes a turning rate, standing comes last."""
        xp = v.xp
        error = smallest_angle(drawn[..., TARGET] - self.heading(v), 2 * pi)
        low, high = self.ang_vel_z
        if self.command_curriculum:
            low, high = (self.drawn_numbers(v, "stage")[..., k] for k in (1, 2))
        rate = xp.clip(STIFFNESS * error, low, high)
        turn = xp.where(drawn[..., HEADS] > 0, rate, turning)
        velocity = xp.stack([drawn[..., VX], drawn[..., VY], turn], axis=-1)
        return xp.where(drawn[..., STANDS, None] > 0, 0.0, velocity)

    def memory(self, v: View) -> Arrays:
        xp, feet = v.xp, len(self.body.feet)
        nothing = xp.zeros((*v.lead, feet), dtype=xp.float64)
        number = xp.zeros(v.lead, dtype=xp.float64)
        drawn = self._command_row(v, number)
        counted = (
            {"steps": self.drawn_numbers(v, "stage")[..., 0]} if self.command_curriculum else {}
        )
        return {
            **super().memory(v),
            **counted,
            "number": number,  # of the command
            "drawn": drawn,  # the row that the command comes from
            "left": drawn[..., HELD],  # s, until the next one
            "command": self._as_commanded(v, drawn, drawn[..., WZ]),
            "air_time": nothing,  # s, of the present swing of each foot; 0 on the ground
            "contact_time": nothing,  # s, of the present stance of each foot; 0 in the air
            "last_air_time": nothing,  # s, of the swing before
            "last_contact_time": nothing,  # s, of the stance before
            "heights": self.heights(v),  # m, of the feet at the end of the step before
            "peaks": nothing,  # m, greatest height of each foot in its present swing
        }

    def update(self, v: View) -> Arrays:
        xp, m = v.xp, v.memory
        times, peaks = self._times(v), self._peaks(v)
        first = self._first_contact(times)
        left = m["left"] - self.control_timestep
        over = left <= 0
        number = xp.where(over, m["number"] + 1, m["number"])
        drawn = xp.where(over[..., None], self._command_row(v, number), m["drawn"])
        turning = xp.where(over, drawn[..., WZ], m["command"][..., 2])
        counted = {"steps": m["steps"] + 1} if self.command_curriculum else {}
        return {
            **counted,
            **times,
            "peaks": xp.where(first, 0.0, peaks),
            "heights": self.heights(v),
            "number": number,
            "drawn": drawn,
            "left": xp.where(over, drawn[..., HELD], left),
            "command": self._as_commanded(v, drawn, turning),
        }

    # Feet.

    def heights(self, v: View) -> Array:
        """Heights of the feet above the ground, (..., feet) m."""
        return v.xp.clip(v.take("site_xpos", self.body.feet)[..., 2], 0.0, HIGHEST)

    @functools.cached_property
    def _found_sensors(self) -> tuple[str, ...]:
        return tuple(f"{foot}_found" for foot in self.body.feet)

    @functools.cached_property
    def _forces(self) -> tuple[str, ...]:
        return tuple(f"{foot}_force" for foot in self.body.feet)

    def _times(self, v: View) -> Arrays:
        """Times of swing and stance after this control step's physics steps."""
        m, xp, step = v.memory, v.xp, self.physics_timestep
        touching = v.past(self._found_sensors)[..., 0] > 0
        air, contact = m["air_time"], m["contact_time"]
        last_air, last_contact = m["last_air_time"], m["last_contact_time"]
        for i in range(touching.shape[-1]):
            on = touching[..., i]
            last_air = xp.where(on & (air > 0), air + step, last_air)
            last_contact = xp.where(~on & (contact > 0), contact + step, last_contact)
            air = xp.where(on, 0.0, air + step)
            contact = xp.where(on, contact + step, 0.0)
        return {
            "air_time": air,
            "contact_time": contact,
            "last_air_time": last_air,
            "last_contact_time": last_contact,
        }

    def _first_contact(self, times: Arrays) -> Array:
        contact = times["contact_time"]
        return (contact > 0) & (contact < self.control_timestep + ROUNDING)

    def _peaks(self, v: View) -> Array:
        m, touching = v.memory, v.past(self._found_sensors)[..., -1, 0] > 0
        return v.xp.where(touching, m["peaks"], v.xp.maximum(m["peaks"], m["heights"]))

    # Reward and end.

    def terms(self, v: View) -> Arrays:
        xp, m, robot = v.xp, v.memory, self.body
        feet = tuple(f"{foot}_velocity" for foot in robot.feet)
        seen = self.seen(v, (*SEEN, *feet))
        command = m["command"]
        speed = norm(command[..., :2]) + abs(command[..., 2])
        moving = xp.astype(speed > STILL, xp.float64)
        velocity, rate = seen[VELOCITY], seen[RATE]
        drift = squared_norm(command[..., :2] - velocity[..., :2]) + velocity[..., 2] ** 2
        turn = (command[..., 2] - rate[..., 2]) ** 2 + squared_norm(rate[..., :2])
        position = v.qpos[..., ROOT:]
        slip = xp.stack([squared_norm(seen[foot][..., :2]) for foot in feet], axis=-1)
        touching = xp.astype(v.past(self._found_sensors)[..., -1, 0] > 0, xp.float64)
        force = norm(v.past(self._forces)[..., -1, :])
        times = self._times(v)
        first = xp.astype(self._first_contact(times), xp.float64)
        air = times["air_time"]
        swinging = xp.astype((air > AIRBORNE[0]) & (air < AIRBORNE[1]), xp.float64)
        stepping = xp.astype(speed > STEPPING, xp.float64)
        terms = {
            "track_linear_velocity": xp.exp(-drift / LINEAR),
            "track_angular_velocity": xp.exp(-turn / ANGULAR),
            "upright": xp.exp(-self.tilt(v, seen) / UPRIGHT),
            "pose": self._likeness(v, position, speed),
            "body_ang_vel": squared_norm(seen[TRUNK_RATE][..., :2]),
            "angular_momentum": squared_norm(seen[MOMENTUM]),
            "dof_pos_limits": self.beyond_limits(v),
            "action_rate_l2": total((m["action"] - m["last_action"]) ** 2),
            "air_time": total(swinging) * stepping,
            "foot_clearance": moving * total(abs(m["heights"] - CLEARANCE) * xp.sqrt(slip)),
            "foot_swing_height": moving * total((self._peaks(v) / CLEARANCE - 1) ** 2 * first),
            "foot_slip": moving * total(slip * touching),
            "soft_landing": moving * total(force * first),
        }
        if self.self_collisions:
            terms["self_collisions"] = hard_steps(v, (ITSELF,))
        return self.weighted(terms)

    def tilt(self, v: View, seen: Mapping[str, Array]) -> Array:
        """Squared sine of the trunk's tilt."""
        return squared_norm(seen[UP][..., :2])

    def _likeness(self, v: View, position: Array, speed: Array) -> Array:
        xp, robot = v.xp, self.body
        standing, walking, running = (
            v.from_numpy(np.array(spread))
            for spread in (robot.standing, robot.walking, robot.running)
        )
        fast = xp.where((speed < RUNNING)[..., None], walking, running)
        spread = xp.where((speed < STILL)[..., None], standing, fast)
        away = ((position - self.at_rest(v)) / spread) ** 2
        return xp.exp(-total(away) / len(robot.pose))

    def terminated(self, v: View) -> Array:
        return self.seen(v, (ROOT_UP,))[ROOT_UP][..., 2] < cos(FALLEN)

    # Observation.

    def observation(self, v: View) -> Arrays:
        m, xp = v.memory, v.xp
        entries = {
            "base_lin_vel": v.sensor("imu_lin_vel").data,
            "base_ang_vel": v.sensor("imu_ang_vel").data,
            "projected_gravity": -v.body(self.body.root).xmat[..., Z_ROW],
            "joint_pos": self.encoders(v),
            "joint_vel": v.take("qvel", self.body.joints),
            "actions": m["action"],
            "command": m["command"],
        }
        if self.privileged:
            # As the last physics step left them; mjlab shows the current ones after resets.
            touching = v.take("sensordata", self._found_sensors) > 0
            force = v.take("sensordata", self._forces)
            entries |= {
                "foot_height": m["heights"],
                "foot_air_time": m["air_time"],
                "foot_contact": xp.astype(touching, xp.float64),
                "foot_contact_forces": xp.sign(force) * xp.log1p(abs(force)),
            }
        return entries

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        return {
            **super().measurements,
            "projected_gravity": {"quantity": "gravity_direction", "of": self.body.root},
        }

    def known_labels(self) -> dict[str, Signal]:
        feet = self.body.feet
        forces = vector_names(*feet)
        return {
            **super().known_labels(),
            "foot_height": Signal("height of each foot", feet, "m", "world", "memory heights"),
            "foot_air_time": Signal(
                "time since each foot left the ground", feet, "s", source="memory air_time"
            ),
            "foot_contact": Signal("1 where a foot touches the ground", feet, "1"),
            "foot_contact_forces": Signal(
                "force of each foot on the ground, sign(f) log(1 + |f|)", forces, "log(1 + N)",
                "world",
            ),
        }  # fmt: skip
