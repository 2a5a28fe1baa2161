"""Reach a target that lies somewhere on the table with the finger of a planar arm of two links."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.resets import random_joints
from mjgym.rewards import tolerance
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, GoalTask, register_variants, variant

FINGER_RADIUS = 0.01  # m
TARGET_DISTANCE = (0.05, 0.2)  # m, from the shoulder


@register_variants(
    "dmc/reacher-{}-v0",
    ("benchmarking", "reward_viz"),
    easy=variant(
        "Bring the fingertip of a two-link arm to a large target.",
        ("benchmarking", "easy", "reward_viz"),
        target_radius=0.05,
    ),
    hard=variant("Bring the fingertip of a two-link arm to a small target.", target_radius=0.015),
)
@dataclass(frozen=True)
class Reacher(GoalTask):
    """Bring the finger to a target, placed at random in each episode.

    Reward: 1 while the finger and the target overlap, else 0.

    Start: at rest, the shoulder at any angle and the wrist anywhere in its range; the target at a
    uniform angle, 5 to 20 cm from the shoulder.

    Observation: `position`, the angles of shoulder and wrist (rad); `to_target`, x and y from the
    finger to the target (m); `velocity` of shoulder and wrist (rad/s).

    Goal: x and y of the finger (m), reached while it overlaps the target.
    """

    target_radius: float = 0.05  # m

    time_limit = 20.0  # s
    control_timestep = 0.02  # s
    varies = ("geom_pos",)
    shows_goal = ("to_target",)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/reacher.xml")
        spec.geom("target").size[0] = self.target_radius
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        random_joints(v, rng)
        angle = rng.uniform(0, 2 * np.pi)
        distance = rng.uniform(*TARGET_DISTANCE)
        v.geom("target").pos[:2] = distance * np.sin(angle), distance * np.cos(angle)

    def observation(self, v: View) -> Arrays:
        to_target = self.desired(v) - self.achieved(v)
        return {"position": v.qpos, "to_target": to_target, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        distance = norm(self.desired(v) - self.achieved(v))
        return {"reached": tolerance(distance, (0, self.target_radius + FINGER_RADIUS))}

    def achieved(self, v: View) -> Array:
        return v.geom("finger").xpos[..., :2]

    def desired(self, v: View) -> Array:
        return v.geom("target").xpos[..., :2]

    def reached(self, achieved: Array, desired: Array) -> Array:
        return norm(desired - achieved) <= self.target_radius + FINGER_RADIUS
