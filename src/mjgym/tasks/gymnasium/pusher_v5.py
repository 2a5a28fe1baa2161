"""Gymnasium's Pusher: get an arm to push a cylinder to a goal."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS, length
from mjgym.tasks.gymnasium.reacher_v5 import ReachingTask

X_RANGE, Y_RANGE = (-0.3, 0.0), (-0.2, 0.2)  # m, of the cylinder from the goal
CLEARANCE = 0.17  # m, from the goal
VELOCITY_NOISE = 0.005  # rad/s

ARM = slice(7)  # joints


@register("gymnasium/Pusher-v5", "Push a cylinder to a goal.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Pusher(ReachingTask):
    """Push a cylinder to a goal with an arm of seven joints, as in Gymnasium's Pusher-v5.

    Reward: `reward_dist` and `reward_near`, the negative distances of the cylinder from the goal
    and from the arm's tip (m), and `reward_ctrl`, the negative sum of the squares of the actions,
    each times its weight.

    Start: the arm in the model's pose with velocities uniform within 0.005 rad/s, the cylinder
    uniform within 0.3 m before and 0.2 m beside the goal, more than 0.17 m from it.

    Observation: `angles` (rad) and `velocities` (rad/s) of the joints; `tip`, `object`, `goal`,
    the places of the arm's tip, the cylinder and the goal (m).
    """

    reward_near_weight: float = 0.5
    reward_control_weight: float = 0.1

    xml_file: str = "pusher_v5.xml"
    frame_skip: int = 5  # physics steps of 0.01 s

    time_limit: float = 5.0  # s: 100 control steps
    control_timestep: float = field(default=0.05, init=False)  # s

    reported = (*ReachingTask.reported, "reward_near")
    usual_camera: ClassVar[Viewpoint] = Viewpoint(
        azimuth=150.0, elevation=-35.0, distance=2.2, lookat=(0.3, -0.3, -0.2)
    )

    def initialize(self, v: SingleView, rng: Any) -> None:
        cylinder = np.zeros(2)
        while np.linalg.norm(cylinder) <= CLEARANCE:
            cylinder[:] = rng.uniform(*X_RANGE), rng.uniform(*Y_RANGE)
        v.qpos[-4:] = *cylinder, 0, 0
        v.qvel += rng.uniform(-VELOCITY_NOISE, VELOCITY_NOISE, v.model.nv)
        v.qvel[-4:] = 0

    def observation(self, v: View) -> Arrays:
        return {
            "angles": v.qpos[..., ARM],
            "velocities": v.qvel[..., ARM],
            "tip": v.body("tips_arm").xpos,
            "object": v.body("object").xpos,
            "goal": v.body("goal").xpos,
        }

    def terms(self, v: View) -> Arrays:
        cylinder = v.body("object").xpos
        near, far = cylinder - v.body("tips_arm").xpos, cylinder - v.body("goal").xpos
        return {
            "reward_dist": -length(v, far) * self.reward_dist_weight,
            "reward_ctrl": -v.memory["control_cost"],
            "reward_near": -length(v, near) * self.reward_near_weight,
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["reward_dist"] + terms["reward_ctrl"] + terms["reward_near"]
