"""Swing a ball that hangs from a cup by a string up into the cup, by moving the cup."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.arrays import largest
from mjgym.resets import until_free
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register

CUP_HALF_SIZE = 0.05  # m, of the box inside the cup, in x and z
BALL_RADIUS = 0.025  # m


@register("dmc/ball_in_cup-catch-v0", tags=("benchmarking", "easy", "reward_viz"))
@dataclass(frozen=True)
class BallInCup(Task):
    """Catch the ball in the cup.

    Reward: 1 while the whole ball is inside the cup's box, else 0.

    Start: at rest, the cup in its place and the ball somewhere above its own: up to 20 cm to either
    side and 20 to 50 cm up, where it touches nothing.

    Observation: `position`, x and z of the cup and of the ball, each from where it is drawn in the
    model (m); `velocity` of the cup and of the ball (m/s).
    """

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/ball_in_cup.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        def draw() -> None:
            v.joint("ball_x").qpos = rng.uniform(-0.2, 0.2)
            v.joint("ball_z").qpos = rng.uniform(0.2, 0.5)

        until_free(v, draw)

    def observation(self, v: View) -> Arrays:
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        return {"caught": v.xp.asarray(_caught(v), dtype=v.xp.float64)}

    def success(self, v: View) -> Array:
        return _caught(v)


def _caught(v: View) -> Array:
    offset = abs(v.site("target").xpos - v.body("ball").xpos)[..., ::2]  # x and z
    return largest(offset) < CUP_HALF_SIZE - BALL_RADIUS
