"""Get a weightless fish in a dense fluid to turn upright, or to swim to a target."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.resets import unit_vector
from mjgym.rewards import tolerance
from mjgym.rotations import ZZ, norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register

START_ANGLE = 0.2  # rad, largest of each joint at the start
TARGET_LOWEST = (-0.4, -0.4, 0.1)  # m, corners of the box in which the target is drawn
TARGET_HIGHEST = (0.4, 0.4, 0.3)  # m
TARGET_RADIUS = 0.04  # m
MOUTH_RADIUS = 0.005  # m
REACH = MOUTH_RADIUS + TARGET_RADIUS  # m, from mouth to target when they touch

ROOT_QUATERNION = slice(3, 7)  # of qpos
JOINTS = slice(7, None)  # of qpos: three of the tail, then roll and pitch of the right and left fin


@dataclass(frozen=True)
class Fish(Task):
    """The fish: base class of its tasks.

    Start: at rest, in any orientation, all equally likely, each joint uniform within 0.2 rad.

    Observation: `joint_angles` of the tail (first joint, twist, second joint), then roll and pitch
    of the right and of the left fin (rad); `upright`, the cosine of the torso's tilt; `velocity` of
    the root, linear in world axes (m/s) and angular in the torso's (rad/s), then of the joints
    (rad/s).
    """

    time_limit = 40.0  # s
    control_timestep = 0.04  # s
    viewpoint = "tracking_x"

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[ROOT_QUATERNION] = unit_vector(rng, 4)
        v.qpos[JOINTS] = rng.uniform(-START_ANGLE, START_ANGLE, size=7)

    def observation(self, v: View) -> Arrays:
        return {
            "joint_angles": v.qpos[..., JOINTS],
            "upright": v.body("torso").xmat[..., ZZ],
            "velocity": v.qvel,
        }


@register("dmc/fish-upright-v0", tags=("benchmarking", "reward_viz"))
@dataclass(frozen=True)
class Upright(Fish):
    """Turn upright.

    Reward: 1 when exactly upright, falling with the cosine of the torso's tilt to 0.1 when it lies
    on its side.

    Start and observation: as of every fish task.
    """

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/fish.xml")
        spec.geom("target").rgba[3] = 0  # no target: make it transparent
        return spec

    def terms(self, v: View) -> Arrays:
        return {"upright": tolerance(v.body("torso").xmat[..., ZZ], (1, 1), margin=1)}


@register("dmc/fish-swim-v0", tags=("benchmarking", "reward_viz"))
@dataclass(frozen=True)
class Swim(Fish):
    """Touch the target with the mouth, preferably upright.

    Reward: (7 in_target + upright) / 8, where `in_target` is 1 while the mouth touches the target,
    falling to 0.1 at 9 cm from touching it, and `upright` is (1 + cosine of the torso's tilt) / 2.

    Start: as of every fish task; the target anywhere within 0.4 m of the fish along x and y, 0.1 to
    0.3 m above the floor.

    Observation: as of every fish task, then, before the velocity, `target`, from mouth to target in
    the mouth's axes (m).
    """

    varies = ("geom_pos",)

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/fish.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        v.geom("target").pos = rng.uniform(TARGET_LOWEST, TARGET_HIGHEST)

    def observation(self, v: View) -> Arrays:
        common = super().observation(v)
        velocity = common.pop("velocity")
        common["target"] = to_local(v.geom("mouth").xmat, _mouth_to_target(v))
        return {**common, "velocity": velocity}

    def terms(self, v: View) -> Arrays:
        distance = norm(_mouth_to_target(v))
        return {
            "in_target": tolerance(distance, (0, REACH), margin=2 * REACH),
            "upright": (1 + v.body("torso").xmat[..., ZZ]) / 2,
        }

    def reward(self, terms: Arrays) -> Array:
        return (7 * terms["in_target"] + terms["upright"]) / 8

    def success(self, v: View) -> Array:
        return norm(_mouth_to_target(v)) <= REACH


def _mouth_to_target(v: View) -> Array:
    return v.geom("target").xpos - v.geom("mouth").xpos
