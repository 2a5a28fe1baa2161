"""Teach a dog with 73 hinges from jaw to tail's tip to stand, walk, trot, run and fetch a ball."""

from dataclasses import dataclass
from math import cos, inf, pi, radians
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import total
from mjgym.mjcf import published_look
from mjgym.rewards import ramp, tolerance
from mjgym.rotations import Z_ROW, ZZ, about_z, norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Signal, Task, Viewpoint, register, register_variants, variant
from mjgym.util.values import not_negative

WALK_SPEED = 1.0  # m/s
TROT_SPEED = 3.0  # m/s
RUN_SPEED = 9.0  # m/s

TORSO_HEIGHT = 0.9 * 0.41522  # m, nine tenths of the height in the default pose
PELVIS_HEIGHT = 0.9 * 0.4761649  # m, likewise
UPRIGHT_COSINE = cos(radians(30))  # cosine of the largest tilt that counts as upright
GRAVITY = 9.81  # m/s^2
WEIGHT = GRAVITY * 10.240944392384  # N, of the whole dog

START_SPEED = 2.0  # standard deviation of the initial velocities, m/s and rad/s

FETCH_FLOOR = 10.0  # m, half the side of the floor; the walls stand at its ends
TARGET_RADIUS = 0.1  # m
BITE_RADIUS = 0.005  # m, of the bite site of each jaw
BITE_MARGIN = 2.0  # m from there to the ball, where the reward is 0.1
THROW_DISTANCE = 0.75 * FETCH_FLOOR  # m, from the target
THROW_FROM = 0.05  # m above the floor
THROW_TO = 3.0  # m above that, at most
THROW_SPEED = 5.0  # m/s towards the target, at most
THROW_SPREAD = 0.05  # fraction of that speed, standard deviation along x and y

WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")

# Slices of qpos and qvel: the torso, the 73 hinges (of loin, left and right hind leg, tail, neck
# and head, left and right fore leg), then, when fetching, the ball.
ROOT_QUATERNION, ANGLES, BALL_PLACE = slice(3, 7), slice(7, 80), slice(80, 83)
ROOT_X_Y_YAW, RATES, BALL_VELOCITY = [0, 1, 5], slice(6, 79), slice(79, 82)
# Slices of the sensor readings.
INERTIAL, VELOCIMETER, TORSO_VELOCITY = slice(0, 9), slice(3, 6), slice(9, 12)
TOUCH, FORCES = slice(15, 19), slice(19, 31)

COAT = mjcf.Coat(
    ("look_ear", "look_fur", "look_cream"), cell=0.008, blend=0.018, hair=(0.03, 0.009)
)


@dataclass(frozen=True)
class Dog(Task):
    """The dog: base class of its tasks (Tunyasuvunakool et al., 2020).

    Reward: the product of the terms. Six of them ask for standing: `torso_high` and `pelvis_high`,
    1 above nine tenths of the height in the default pose and falling to 0.1 at the floor;
    `skull_upright`, `torso_upright` and `pelvis_upright`, 1 up to a tilt of 30 degrees and falling
    with its cosine to 0 upside down; `grounded`, from 0.9 with all paws in the air to 1 when they
    bear the dog's weight.

    Start: in the default pose, facing any way, with random velocities (2 m/s, 2 rad/s) along x and
    y and about the vertical, and random activations.

    Observation: `joint_angles` of the 73 hinges in the order of the model (rad);
    `joint_velocites`, the hinges' velocities (rad/s; spelt as in the published suite);
    `torso_pelvis_height`, heights of torso and pelvis (m); `z_projection`, the vertical as seen
    from skull, torso and pelvis; `torso_com_velocity`, the velocity of the whole dog's centre of
    mass in the torso's axes (m/s); `inertial_sensors`, the head's acceleration, gravity included
    (m/s^2), velocity (m/s) and angular velocity (rad/s) in its axes; `foot_forces` between leg and
    paw, left and right hind leg, left and right fore leg (N); `touch_sensors`, forces on left and
    right fore paw, left and right hind paw (N); `actuator_state`, the activations: filtered
    controls. With `observe_reward_factors`: `reward_factors`, the reward's terms.
    """

    observe_reward_factors: bool = False  # observe the reward's terms too

    time_limit = 15.0  # s
    control_timestep = 0.015  # s

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[ROOT_QUATERNION] = about_z(rng.uniform(0, 2 * pi))
        v.qvel[ROOT_X_Y_YAW] = START_SPEED * rng.normal(size=3)
        lowest, highest = v.actuator_ctrlrange.T
        v.act = rng.uniform(lowest, highest)

    def observation(self, v: View) -> Arrays:
        skull, torso, pelvis = v.body("skull"), v.body("torso"), v.body("pelvis")
        sensors = v.sensordata
        result = {
            "joint_angles": v.qpos[..., ANGLES],
            "joint_velocites": v.qvel[..., RATES],
            "torso_pelvis_height": v.xp.stack([torso.xpos[..., 2], pelvis.xpos[..., 2]], axis=-1),
            "z_projection": v.xp.concat(
                [part.xmat[..., Z_ROW] for part in (skull, torso, pelvis)], axis=-1
            ),
            "torso_com_velocity": to_local(torso.xmat, sensors[..., TORSO_VELOCITY]),
            "inertial_sensors": sensors[..., INERTIAL],
            "foot_forces": sensors[..., FORCES],
            "touch_sensors": sensors[..., TOUCH],
            "actuator_state": v.act,
        }
        result.update(self.further_observation(v))
        if self.observe_reward_factors:
            result["reward_factors"] = v.xp.stack(list(self.terms(v).values()), axis=-1)
        return result

    def dress(self, spec: mjcf.Spec) -> None:
        COAT.put_on(spec)

    has_published_look = True

    def dress_as_published(self, spec: mjcf.Spec) -> None:
        published_look.wear(spec, "suite/dog.xml")
        if spec.texture("tennis_ball"):
            published_look.replace_cube(spec, "tennis_ball", "suite/dog_assets/tennis_ball.png")

    def further_observation(self, v: View) -> Arrays:
        """Observation entries that a task adds to the dog's own."""
        return {}

    def labels(self, v: View) -> dict[str, Signal]:
        if not self.observe_reward_factors:
            return {}
        return {"reward_factors": Signal(names=tuple(self.terms(v)), unit="1", source="terms")}

    def terms(self, v: View) -> Arrays:
        skull, torso, pelvis = v.body("skull"), v.body("torso"), v.body("pelvis")
        grounded = tolerance(
            total(v.sensordata[..., TOUCH]),
            (WEIGHT, inf),
            margin=WEIGHT,
            sigmoid="linear",
            value_at_margin=0.9,
        )
        return {
            "torso_high": _high(torso.xpos[..., 2], TORSO_HEIGHT),
            "pelvis_high": _high(pelvis.xpos[..., 2], PELVIS_HEIGHT),
            "skull_upright": _upright(skull.xmat[..., ZZ]),
            "torso_upright": _upright(torso.xmat[..., ZZ]),
            "pelvis_upright": _upright(pelvis.xmat[..., ZZ]),
            "grounded": grounded,
        }


@register_variants(
    "dmc/dog-{}-v0",
    ("extra", "no_reward_viz"),
    stand=variant("Stand on four paws, with the weight on them."),
    walk=variant("Walk forward at 1 m/s.", speed=WALK_SPEED),
    trot=variant("Trot forward at 3 m/s.", speed=TROT_SPEED),
    run=variant("Run forward at 9 m/s.", speed=RUN_SPEED),
)
@dataclass(frozen=True)
class Move(Dog):
    """Stand or, with a speed, move forward at that speed, in any direction.

    Reward: the product of the terms of every dog task and, with a speed, of `moving`: 1 while the
    velocity of the dog's centre of mass along the torso is between the speed and twice the speed,
    falling linearly to 0.2 at a margin of max(1 m/s, speed) outside that range.

    Start and observation: as of every dog task.
    """

    speed: float = 0.0  # m/s along the torso's own x axis; 0 rewards standing alone

    def __post_init__(self) -> None:
        not_negative("speed", self.speed)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/dog.xml")
        mjcf.remove(spec, "camera", "ball", "head")
        mjcf.remove(spec, "geom", "target", *WALLS)
        mjcf.remove(spec, "body", "ball")
        spec.geom("floor").size[:2] = max(1.0, self.speed) * self.time_limit  # for a whole episode
        return spec

    def terms(self, v: View) -> Arrays:
        terms = super().terms(v)
        if self.speed:
            velocity = to_local(v.body("torso").xmat, v.sensordata[..., TORSO_VELOCITY])
            moving = tolerance(
                velocity[..., 0],
                (self.speed, 2 * self.speed),
                margin=max(1.0, self.speed),
                sigmoid="linear",
                value_at_margin=0,
            )
            terms["moving"] = (1 + 4 * moving) / 5
        return terms


@register("dmc/dog-fetch-v0", tags=("extra", "hard", "no_reward_viz"))
@dataclass(frozen=True)
class Fetch(Dog):
    """Catch a thrown ball with the mouth and bring it to the middle of a walled arena.

    Reward: the terms of every dog task times `reach` and `bring`. `reach` in [1/7, 1] is 1 with the
    ball between the jaws and (1 + 6 * 0.1) / 7 with the ball 2 m from there; it is also 1 while the
    ball's centre is within 0.2 m of the target's. `bring` in [1/2, 1] is 1 while that distance is
    within 0.1 m and (1 + 0.1) / 2 at 10 m. Success: within 0.1 m.

    Start: as of every dog task; the ball 7.5 m from the target, in any direction, thrown towards it
    at up to 5 m/s and up to 3 m high.

    Observation: as of every dog task, then, in the head's axes, `ball_state`, place (m) and
    velocity (m/s) of the ball relative to the head, and `target_position` relative to the head (m).
    """

    viewpoint = Viewpoint(azimuth=120, elevation=-20, distance=1.6, bodies=("torso", "ball"))

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/dog.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        direction = rng.uniform(0, 2 * pi)
        out = np.array([np.sin(direction), np.cos(direction)])
        height = rng.uniform(0, THROW_TO)
        speed = rng.uniform(0, THROW_SPEED)
        v.qpos[BALL_PLACE] = (*THROW_DISTANCE * out, THROW_FROM)
        towards = -out + THROW_SPREAD * rng.normal(size=2)
        v.qvel[BALL_VELOCITY] = (*speed * towards, np.sqrt(2 * GRAVITY * height))

    def further_observation(self, v: View) -> Arrays:
        head, ball = v.site("head"), v.geom("ball").xpos
        place = to_local(head.xmat, ball - head.xpos)
        velocity = to_local(head.xmat, v.qvel[..., BALL_VELOCITY])
        own_velocity = v.sensordata[..., VELOCIMETER]  # in the head's axes
        return {
            "ball_state": v.xp.concat([place, velocity - own_velocity], axis=-1),
            "target_position": to_local(head.xmat, v.geom("target").xpos - head.xpos),
        }

    def terms(self, v: View) -> Arrays:
        ball = v.geom("ball").xpos
        upper, lower = v.site("upper_bite").xpos, v.site("lower_bite").xpos
        to_mouth = (norm(ball - upper) + norm(ball - lower)) / 2
        to_target = _to_target(v)
        reach = tolerance(to_mouth, (0, BITE_RADIUS), margin=BITE_MARGIN, sigmoid="reciprocal")
        bring = tolerance(to_target, (0, TARGET_RADIUS), margin=FETCH_FLOOR, sigmoid="reciprocal")
        return {
            **super().terms(v),
            "reach": v.xp.where(to_target < 2 * TARGET_RADIUS, 1.0, (1 + 6 * reach) / 7),
            "bring": (1 + bring) / 2,
        }

    def success(self, v: View) -> Array:
        return _to_target(v) <= TARGET_RADIUS


def _to_target(v: View) -> Array:
    return norm(v.geom("ball").xpos - v.geom("target").xpos)


def _high(height: Array, enough: float) -> Array:
    return tolerance(height, (enough, inf), margin=enough)


def _upright(cosine: Array) -> Array:
    return ramp(cosine, -1.0, UPRIGHT_COSINE)
