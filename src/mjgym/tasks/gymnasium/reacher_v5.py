"""Gymnasium's Reacher: get the tip of a planar arm to a target."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS, GymnasiumTask, control_cost, length

ANGLE_NOISE = 0.1  # rad, about the stretched arm
VELOCITY_NOISE = 0.005  # rad/s
REACH = 0.2  # m, distance of the furthest targets

ARM = slice(2)  # joints
TARGET = slice(2, None)  # place of the target


@dataclass(frozen=True, kw_only=True)
class ReachingTask(GymnasiumTask):
    """An arm with costs for distances and for control."""

    reward_dist_weight: float = 1.0
    reward_control_weight: float

    reported: ClassVar[tuple[str, ...]] = ("reward_dist", "reward_ctrl")

    def memory(self, v: View) -> Arrays:
        return {"control_cost": v.xp.zeros(v.lead)}

    def before_step(self, v: View, action: Array) -> Arrays:
        return {"control_cost": control_cost(v, self.reward_control_weight, action)}


@register("gymnasium/Reacher-v5", "Reach a target with a planar arm.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Reacher(ReachingTask):
    """Reach a target with the tip of a planar arm of two joints, as in Gymnasium's Reacher-v5.

    Reward: `reward_dist`, the negative distance of the tip from the target (m), and `reward_ctrl`,
    the negative sum of the squares of the actions, each times its weight.

    Start: angles uniform within 0.1 rad of the stretched arm, velocities within 0.005 rad/s, the
    target uniform over a disc of 0.2 m.

    Observation: `cos`, `sin`, of the joint angles; `target`, its place (m); `velocity`, of the
    joints (rad/s); `to_target`, place of the tip from the target (m).
    """

    reward_control_weight: float = 1.0

    xml_file: str = "reacher.xml"
    frame_skip: int = 2  # physics steps of 0.01 s

    time_limit: float = 1.0  # s: 50 control steps
    control_timestep: float = field(default=0.02, init=False)  # s

    usual_camera: ClassVar[Viewpoint] = Viewpoint(elevation=-70.0, distance=0.65)

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos += rng.uniform(-ANGLE_NOISE, ANGLE_NOISE, v.model.nq)
        target = rng.uniform(-REACH, REACH, 2)
        while np.linalg.norm(target) >= REACH:
            target = rng.uniform(-REACH, REACH, 2)
        v.qpos[-2:] = target
        v.qvel += rng.uniform(-VELOCITY_NOISE, VELOCITY_NOISE, v.model.nv)
        v.qvel[-2:] = 0

    def observation(self, v: View) -> Arrays:
        return {
            "cos": v.xp.cos(v.qpos[..., ARM]),
            "sin": v.xp.sin(v.qpos[..., ARM]),
            "target": v.qpos[..., TARGET],
            "velocity": v.qvel[..., ARM],
            "to_target": self.to_target(v)[..., :2],
        }

    def to_target(self, v: View) -> Array:
        return v.body("fingertip").xpos - v.body("target").xpos

    def terms(self, v: View) -> Arrays:
        return {
            "reward_dist": -length(v, self.to_target(v)) * self.reward_dist_weight,
            "reward_ctrl": -v.memory["control_cost"],
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["reward_dist"] + terms["reward_ctrl"]
