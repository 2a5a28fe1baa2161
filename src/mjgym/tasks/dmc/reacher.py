"""Reach a target that lies somewhere on the table with the finger of a planar arm of two links."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.resets import random_joints
from mjgym.rewards import tolerance
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, GoalTask, register

FINGER_RADIUS = 0.01  # m
TARGET_DISTANCE = (0.05, 0.2)  # m, from the shoulder


@register(
    "dmc/reacher-easy-v0",
    summary="Bring the fingertip of a two-link arm to a large target.",
    tags=("benchmarking", "easy", "reward_viz"),
    target_radius=0.05,
)
@register(
    "dmc/reacher-hard-v0",
    summary="Bring the fingertip of a two-link arm to a small target.",
    tags=("benchmarking", "reward_viz"),
    target_radius=0.015,
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
        return {
            "position": v.qpos,
            "to_target": _to_target(v),
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        return {"reached": tolerance(norm(_to_target(v)), (0, self.target_radius + FINGER_RADIUS))}

    def achieved(self, v: View) -> Array:
        return v.geom("finger").xpos[..., :2]

    def desired(self, v: View) -> Array:
        return v.geom("target").xpos[..., :2]

    def reached(self, achieved: Array, desired: Array) -> Array:
        return norm(desired - achieved) <= self.target_radius + FINGER_RADIUS


def _to_target(v: View) -> Array:
    return v.geom("target").xpos[..., :2] - v.geom("finger").xpos[..., :2]
