"""Push a point mass to the middle of an arena, along known directions or ones to be found out."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.resets import random_joints, unit_vector
from mjgym.rewards import small_control, tolerance
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, GoalTask, register
from mjgym.tasks.dmc.adaptive_push import AdaptivePush

TARGET_RADIUS = 0.015  # m
LARGEST_COSINE = 0.9  # of the two drawn directions, which must not be nearly parallel


@register("dmc/point_mass-easy-v0", tags=("benchmarking", "easy", "reward_viz"))
@dataclass(frozen=True)
class PointMass(GoalTask):
    """Bring the mass to the target in the middle of the arena.

    Reward: 1 with the mass's centre inside the target, falling to 0.1 at one target radius (1.5 cm)
    outside of it; times a factor in [0.8, 1] for small control.

    Start: at rest anywhere in the arena. One motor pushes along x, the other along y.

    Observation: `position`, the mass's x and y (m); `velocity`, along x and y (m/s).

    Goal: the place of the mass's centre (m), reached inside the target.
    """

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/point_mass.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        random_joints(v, rng)

    def observation(self, v: View) -> Arrays:
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        distance = norm(self.desired(v) - self.achieved(v))
        return {
            "near_target": tolerance(distance, (0, TARGET_RADIUS), margin=TARGET_RADIUS),
            "small_control": small_control(v.ctrl),
        }

    def achieved(self, v: View) -> Array:
        return v.geom("pointmass").xpos

    def desired(self, v: View) -> Array:
        return v.geom("target").xpos

    def reached(self, achieved: Array, desired: Array) -> Array:
        return norm(desired - achieved) <= TARGET_RADIUS


@register("dmc/point_mass-hard-v0", tags=("extra", "reward_viz"))
@dataclass(frozen=True)
class UnknownDirections(PointMass):
    """Bring the mass to the target with motors that push in unknown directions.

    Reward: as with known directions.

    Start: at rest anywhere in the arena. Each episode draws the two directions in which the motors
    push, uniform but at least 25.8 degrees from parallel, and does not show them: a policy without
    memory cannot solve it.

    Observation: as with known directions.
    """

    varies = ("wrap_prm",)

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        first = unit_vector(rng, 2)
        second = unit_vector(rng, 2)
        while abs(first @ second) > LARGEST_COSINE:
            second = unit_vector(rng, 2)
        # Coefficients of the tendons that the motors pull: x and y of one, then of the other.
        v.wrap_prm[:2] = first
        v.wrap_prm[2:] = second

    def scripted_policy(self) -> AdaptivePush:
        return AdaptivePush()
