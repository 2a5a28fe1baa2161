"""Swing two links up and balance them with a motor at the elbow alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.rewards import tolerance
from mjgym.rotations import XZ, ZZ, norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant

MARGIN = 1.0  # m, from the target's edge to where the smooth reward is 0.1

ARMS = slice(1, None)  # bodies: the world, the upper arm, the lower arm


@register_variants(
    "dmc/acrobot-{}-v0",
    ("benchmarking", "reward_viz"),
    swingup=variant("Swing a two-link arm up by its elbow alone; being near the target counts."),
    swingup_sparse=variant(
        "Swing a two-link arm up by its elbow alone; only a tip at the target counts.", sparse=True
    ),
)
@dataclass(frozen=True)
class Acrobot(Task):
    """Bring the tip of the lower arm to where it is when both arms stand upright (Spong, 1995).

    Reward: 1 with the tip in the target, a sphere of 0.2 m radius, falling to 0.1 at 1 m from the
    target's edge. Sparse: 1 in the target, else 0.

    Start: both angles uniform over the circle, at rest.

    Observation: `orientations`, the sines of the upper and the lower arm's angle to the vertical,
    then the cosines; `velocity` of shoulder and elbow (rad/s).

    Success: the tip is in the target.
    """

    sparse: bool = False  # reward 1 at the goal and 0 elsewhere

    time_limit = 10.0  # s
    control_timestep = 0.01  # s

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/acrobot.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[:] = rng.uniform(-np.pi, np.pi, size=2)

    def observation(self, v: View) -> Arrays:
        arms = v.xmat[..., ARMS, :]  # absolute: the elbow's angle does not show by itself
        return {
            "orientations": v.xp.concat([arms[..., XZ], arms[..., ZZ]], axis=-1),
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        radius = v.site("target").size[..., 0]
        return {
            "near_target": tolerance(
                self._distance(v), (0.0, radius), margin=0.0 if self.sparse else MARGIN
            )
        }

    def success(self, v: View) -> Array:
        return self._distance(v) <= v.site("target").size[..., 0]

    def _distance(self, v: View) -> Array:
        return norm(v.site("target").xpos - v.site("tip").xpos)
