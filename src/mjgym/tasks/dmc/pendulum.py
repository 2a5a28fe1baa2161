"""Swing a pendulum up with a motor too weak to lift it, and keep it upright."""

from dataclasses import dataclass
from math import cos, radians
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import columns
from mjgym.rewards import tolerance
from mjgym.rotations import XZ, ZZ
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register

UPRIGHT_COSINE = cos(radians(8))  # cosine of the angle to the vertical within the goal


@register("dmc/pendulum-swingup-v0", tags=("benchmarking", "reward_viz"))
@dataclass(frozen=True)
class Pendulum(Task):
    """Swing up and balance; the motor holds a fifth of the pendulum's weight at most.

    Reward: 1 while the pole is within 8 degrees of upright, else 0.

    Start: at rest, at an angle uniform in all directions.

    Observation: `orientation`, cosine and sine of the pole's angle to the vertical; `velocity`, the
    hinge's (rad/s).
    """

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/pendulum.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[0] = rng.uniform(-np.pi, np.pi)

    def observation(self, v: View) -> Arrays:
        pole = v.body("pole").xmat
        orientation = columns(pole, (ZZ, XZ))
        return {"orientation": orientation, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        return {"upright": tolerance(v.body("pole").xmat[..., ZZ], (UPRIGHT_COSINE, 1.0))}

    def success(self, v: View) -> Array:
        return v.body("pole").xmat[..., ZZ] >= UPRIGHT_COSINE
