"""Teach a quadruped to walk, to run, to climb out of a hilly bowl and to fetch a ball."""

from dataclasses import dataclass
from math import cos, pi, radians
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.hilly_ground import bumpy_bowl
from mjgym.resets import unit_vector
from mjgym.rewards import ramp, tolerance
from mjgym.rotations import ZZ, about_z, norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register, register_variants, variant
from mjgym.util.values import positive

WALK_SPEED = 0.5  # m/s
RUN_SPEED = 5.0  # m/s
LOWEST_HEIGHT = 0.19  # m, below which the torso is in the floor at any orientation
HEIGHT_STEP = 0.01  # m, step of the search for the initial height
HEIGHT_ATTEMPTS = 10_000

TERRAIN_SIZE = 30.0  # m, half the side of the terrain
TERRAIN_POINTS = 201  # of its elevations in each direction
TERRAIN_SPACING = 2 * TERRAIN_SIZE / (TERRAIN_POINTS - 1)  # m, between two points
TERRAIN_LEVEL = 0.04  # of that half side: within it the bowl is level
ESCAPE_FLOOR = 40.0  # m, half the side of the floor around the terrain
ESCAPE_TILT = 20.0  # degrees, up to which the torso counts as upright on slopes

FETCH_FLOOR = 15.0  # m, half the side of the floor; the walls stand at its ends
FETCH_DIAGONAL = 2**0.5 * FETCH_FLOOR  # m, distance at which the rewards of fetching reach 0
FETCH_START = 0.9 * FETCH_FLOOR  # m, largest x and y of the torso and the ball at the start
WORKSPACE_RADIUS = 0.3  # m
BALL_RADIUS = 0.15  # m
TARGET_RADIUS = 0.4  # m
BALL_HEIGHT = 2.0  # m, at the start
BALL_SPEED = 5.0  # m/s, standard deviation along x and y at the start

WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")
RANGEFINDERS = tuple(f"rf_{row}{column}" for row in range(4) for column in range(5))

# Slices of qpos and qvel: the torso, the 16 hinges (yaw, pitch, knee and ankle, leg by leg), then,
# when fetching, the ball.
ROOT_PLACE, ROOT_QUATERNION, HINGES = slice(0, 3), slice(3, 7), slice(7, 23)
ROOT_VELOCITY, HINGE_RATES = slice(0, 3), slice(6, 22)
BALL_PLACE = slice(23, 26)
BALL_VELOCITY, BALL_SPIN = slice(22, 25), slice(25, 28)
# Slices of the sensor readings.
IMU, VELOCIMETER, FORCE_TORQUE, RANGES = slice(0, 6), slice(6, 9), slice(9, 33), slice(36, 56)


@dataclass(frozen=True)
class Quadruped(Task):
    """The quadruped: base class of its tasks.

    Start: at rest with straight joints, at the lowest height, in steps of 1 cm, at which nothing
    touches anything.

    Observation: `egocentric_state`, angles (rad) and rates (rad/s) of each leg's yaw, pitch, knee
    and ankle, then each leg's filtered controls of yaw, lift and extension; `torso_velocity` in the
    torso's axes (m/s); `torso_upright`, the cosine of the torso's tilt; `imu`, the torso's
    acceleration, gravity included (m/s^2), and angular velocity (rad/s) in its axes;
    `force_torque`, arcsinh of the forces (N), then the torques (N m), that each toe exerts, in its
    axes. The legs' order is front left, front right,
    back right, back left.
    """

    time_limit = 20.0  # s
    control_timestep = 0.02  # s
    viewpoint = "y"

    def observation(self, v: View) -> Arrays:
        sensors = v.sensordata
        return {
            "egocentric_state": v.xp.concat(
                [v.qpos[..., HINGES], v.qvel[..., HINGE_RATES], v.act], axis=-1
            ),
            "torso_velocity": sensors[..., VELOCIMETER],
            "torso_upright": v.body("torso").xmat[..., ZZ],
            "imu": sensors[..., IMU],
            "force_torque": v.xp.asinh(sensors[..., FORCE_TORQUE]),
        }


@register_variants(
    "dmc/quadruped-{}-v0",
    ("extra", "reward_viz"),
    walk=variant("Walk forward on four legs at 0.5 m/s or more.", speed=WALK_SPEED),
    run=variant("Run forward on four legs at 5 m/s or more.", speed=RUN_SPEED),
)
@dataclass(frozen=True)
class Move(Quadruped):
    """Move forward at least at the wanted speed, in any direction.

    Reward: `upright`, (1 + cosine of the torso's tilt) / 2, times `moving`, which is 1 when the
    torso's forward velocity reaches the speed, 0.5 at rest and 0 at the same speed backwards.

    Start: as of every quadruped task, in any orientation, all equally likely.

    Observation: as of every quadruped task.
    """

    speed: float = WALK_SPEED  # m/s along the torso's own x axis

    def __post_init__(self) -> None:
        positive("speed", self.speed)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/quadruped.xml")
        _remove_ball(spec)
        _remove_terrain(spec)
        spec.geom("floor").size[:2] = self.speed * self.time_limit  # room for a whole episode
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        _place(v, 0, 0, unit_vector(rng, 4))

    def terms(self, v: View) -> Arrays:
        forward = v.sensordata[..., VELOCIMETER.start]
        return {"upright": _upright(v), "moving": ramp(forward, -self.speed, self.speed)}


@register("dmc/quadruped-escape-v0", tags=("extra", "reward_viz"))
@dataclass(frozen=True)
class Escape(Quadruped):
    """Climb out of a bowl of hills, seen by 20 range finders.

    Reward: `upright`, 1 up to a tilt of 20 degrees and falling with its cosine to 0 upside down,
    times `escaping`, the distance of a place in front of the torso from the middle of the bowl as a
    fraction of 30 m, the half size of the terrain.

    Start: as of every quadruped task, in the middle, in any orientation, all equally likely; the
    bumps of the terrain are drawn for each episode.

    Observation: as of every quadruped task, then `origin`, from the torso to the middle of the
    bowl in the torso's axes (m), and `rangefinder`, tanh of the distances (m) that the range
    finders measure, 1 where they see nothing.
    """

    bump_spacing: float = 2.0  # m between the places where the bumps' heights are drawn
    lowest_bump: float = 0.15  # of the heights drawn, as a fraction of the highest; 1 is smooth

    varies = ("hfield_data",)

    def __post_init__(self) -> None:
        if not TERRAIN_SPACING <= self.bump_spacing <= TERRAIN_SIZE:
            raise ValueError(
                f"bump_spacing: must lie in [{TERRAIN_SPACING}, {TERRAIN_SIZE}],"
                f" got {self.bump_spacing}"
            )
        if not 0 <= self.lowest_bump <= 1:
            raise ValueError(f"lowest_bump: must lie in [0, 1], got {self.lowest_bump}")

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/quadruped.xml")
        _remove_ball(spec)
        spec.geom("floor").size[:2] = ESCAPE_FLOOR
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        bumps = int(2 * TERRAIN_SIZE / self.bump_spacing)
        terrain = bumpy_bowl(rng, TERRAIN_POINTS, bumps, self.lowest_bump, TERRAIN_LEVEL)
        v.hfield_data = terrain.ravel()
        _place(v, 0, 0, unit_vector(rng, 4))

    def observation(self, v: View) -> Arrays:
        torso, ranges = v.body("torso"), v.sensordata[..., RANGES]
        return {
            **super().observation(v),
            "origin": -to_local(torso.xmat, torso.xpos),
            "rangefinder": v.xp.where(ranges == -1, 1.0, v.xp.tanh(ranges)),
        }

    def terms(self, v: View) -> Arrays:
        escaping = ramp(norm(v.site("workspace").xpos), 0.0, TERRAIN_SIZE)
        return {"upright": _upright(v, ESCAPE_TILT), "escaping": escaping}

    def success(self, v: View) -> Array:
        return norm(v.site("workspace").xpos) >= TERRAIN_SIZE


@register("dmc/quadruped-fetch-v0", tags=("extra", "reward_viz"))
@dataclass(frozen=True)
class Fetch(Quadruped):
    """Bring a ball to the middle of a walled arena.

    Reward: upright reach (1 + bring) / 2. `upright` is (1 + cosine of the torso's tilt) / 2;
    `reach` is 1 while the ball touches the workspace in front of the torso and falls linearly with
    their horizontal distance, `bring` is 1 while the ball's centre is over the target and falls
    likewise, both to 0 at 21.2 m, half the arena's diagonal.

    Start: as of every quadruped task, at any place of the inner 27 m x 27 m and facing any way; the
    ball thrown from 2 m above any place there, at about 5 m/s each along x and y.

    Observation: as of every quadruped task, then, in the torso's axes, `ball_state`, place (m) and
    velocity (m/s) of the ball relative to the torso and its spin (rad/s; the ball's own axes are
    taken for the world's, as in the published suite), and `target_position` relative to the torso
    (m).
    """

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/quadruped.xml")
        _remove_terrain(spec)
        spec.geom("floor").size[:2] = FETCH_FLOOR
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        heading = rng.uniform(0, 2 * pi)
        x, y = rng.uniform(-FETCH_START, FETCH_START, size=2)
        _place(v, x, y, about_z(heading))
        v.qpos[BALL_PLACE] = (*rng.uniform(-FETCH_START, FETCH_START, size=2), BALL_HEIGHT)
        v.qvel[BALL_VELOCITY][:2] = BALL_SPEED * rng.normal(size=2)

    def observation(self, v: View) -> Arrays:
        torso = v.body("torso")
        ball = v.xp.stack(
            [
                v.body("ball").xpos - torso.xpos,
                v.qvel[..., BALL_VELOCITY] - v.qvel[..., ROOT_VELOCITY],
                v.qvel[..., BALL_SPIN],
                v.site("target").xpos - torso.xpos,
            ],
            axis=-2,
        )
        ball = v.xp.reshape(to_local(torso.xmat[..., None, :], ball), (*v.lead, 12))
        return {
            **super().observation(v),
            "ball_state": ball[..., :9],
            "target_position": ball[..., 9:],
        }

    def terms(self, v: View) -> Arrays:
        ball = v.body("ball").xpos
        return {
            "upright": _upright(v),
            "reach": _near(v.site("workspace").xpos - ball, WORKSPACE_RADIUS + BALL_RADIUS),
            "bring": _near(v.site("target").xpos - ball, TARGET_RADIUS),
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["upright"] * terms["reach"] * (1 + terms["bring"]) / 2

    def success(self, v: View) -> Array:
        offset = v.site("target").xpos - v.body("ball").xpos
        return norm(offset[..., :2]) <= TARGET_RADIUS


def _remove_ball(spec: mjcf.Spec) -> None:
    mjcf.remove(spec, "geom", *WALLS)
    mjcf.remove(spec, "body", "ball")
    mjcf.remove(spec, "site", "target")


def _remove_terrain(spec: mjcf.Spec) -> None:
    mjcf.remove(spec, "geom", "terrain")
    mjcf.remove(spec, "sensor", *RANGEFINDERS)


def _place(v: SingleView, x: float, y: float, quaternion: np.ndarray) -> None:
    """Put the torso at the lowest height without any contact in the scene."""
    v.qpos[ROOT_QUATERNION] = quaternion
    height = 0.0
    for _ in range(HEIGHT_ATTEMPTS):
        if height > LOWEST_HEIGHT:
            v.qpos[ROOT_PLACE] = (x, y, height)
            v.detect_contacts()
            if v.ncon == 0:
                return
        # Added up, not multiplied: on its feet, the quadruped just touches the floor at 0.52 m, and
        # the rounding of the sum decides that this is high enough, as in the published suite.
        height += HEIGHT_STEP
    raise RuntimeError(f"no start without contacts up to {height:.2f} m")


def _upright(v: View, tilt: float = 0.0) -> Array:
    """1 up to a tilt of the torso (degrees), falling with its cosine to 0 when upside down."""
    return ramp(v.body("torso").xmat[..., ZZ], -1.0, cos(radians(tilt)))


def _near(offset: Array, radius: float) -> Array:
    """1 within a horizontal distance, falling to 0 at a further arena diagonal."""
    away = norm(offset[..., :2])
    return tolerance(away, (0, radius), FETCH_DIAGONAL, "linear", value_at_margin=0)
