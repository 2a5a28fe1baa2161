"""Flick a spinner with a planar finger, to keep it turning fast or to turn its tip to a target."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.resets import random_joints, until_free
from mjgym.rewards import tolerance
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register, register_variants, variant

SPIN_VELOCITY = 15.0  # rad/s, in the hinge's negative direction
SPIN_DAMPING = 0.03  # N m s/rad, of the spinner in the spin task; it is 0.5 otherwise
SPINNER_RADIUS = 0.13  # m, from the spinner's hinge to its tip
START_ATTEMPTS = 1000

SPINNER = 2  # joints: proximal, distal, then the spinner's hinge
TOUCH = slice(14, 16)  # sensor readings at the top and the bottom of the fingertip
X_AND_Z = slice(None, None, 2)


@dataclass(frozen=True)
class Finger(Task):
    """The finger: base class of its tasks (Tassa and Todorov, 2010).

    Start: at rest, each joint uniform in its range and the spinner at any angle, touching nothing.

    Observation: `position`, the angles of the finger's two joints (rad), then x and z from the
    spinner's centre to its tip (m); `velocity` of the finger's two joints and the spinner (rad/s);
    `touch`, ln(1 + force in N) on top and bottom of the fingertip.
    """

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    def initialize(self, v: SingleView, rng: Any) -> None:
        until_free(v, lambda: random_joints(v, rng), START_ATTEMPTS)

    def observation(self, v: View) -> Arrays:
        return {
            "position": v.xp.concat([v.qpos[..., :SPINNER], _from_spinner(v, "tip")], axis=-1),
            "velocity": v.qvel,
            "touch": v.xp.log1p(v.sensordata[..., TOUCH]),
        }


@register("dmc/finger-spin-v0", tags=("benchmarking", "reward_viz"))
@dataclass(frozen=True)
class Spin(Finger):
    """Keep the spinner turning.

    Reward: 1 while it turns at 15 rad/s or more in the negative direction, else 0.

    Start and observation: as of every finger task. The spinner is less damped than in the other
    tasks.
    """

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/finger.xml")
        spec.joint("hinge").damping[0] = SPIN_DAMPING
        for site in ("target", "tip"):  # no target: make them transparent
            spec.site(site).rgba[3] = 0
        return spec

    def terms(self, v: View) -> Arrays:
        return {"spinning": tolerance(v.qvel[..., SPINNER], (-inf, -SPIN_VELOCITY))}

    def success(self, v: View) -> Array:
        return v.qvel[..., SPINNER] <= -SPIN_VELOCITY


@register_variants(
    "dmc/finger-turn_{}-v0",
    ("benchmarking", "reward_viz"),
    easy=variant("Turn the spinner until its tip is in a large target.", target_radius=0.07),
    hard=variant("Turn the spinner until its tip is in a small target.", target_radius=0.03),
)
@dataclass(frozen=True)
class Turn(Finger):
    """Turn the spinner until its tip is in the target.

    Reward: 1 while the tip is within the target's radius of its centre, else 0.

    Start: as of every finger task; the target at any angle on the circle that the tip moves on.

    Observation: as of every finger task, then `target_position`, x and z from the spinner's centre
    to the target's (m), and `dist_to_target`, the distance from the tip to the target's surface
    (m), negative inside.
    """

    target_radius: float = 0.07  # m

    varies = ("site_pos",)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/finger.xml")
        spec.site("target").size[0] = self.target_radius
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.forward()
        angle = rng.uniform(-np.pi, np.pi)
        x, _, z = v.joint("hinge").xanchor
        v.site("target").pos[X_AND_Z] = (
            x + SPINNER_RADIUS * np.sin(angle),
            z + SPINNER_RADIUS * np.cos(angle),
        )
        super().initialize(v, rng)

    def observation(self, v: View) -> Arrays:
        return {
            **super().observation(v),
            "target_position": _from_spinner(v, "target"),
            "dist_to_target": self._distance(v),
        }

    def terms(self, v: View) -> Arrays:
        return {"at_target": tolerance(self._distance(v), (-inf, 0))}

    def success(self, v: View) -> Array:
        return self._distance(v) <= 0

    def _distance(self, v: View) -> Array:
        return norm(_from_spinner(v, "target") - _from_spinner(v, "tip")) - self.target_radius


def _from_spinner(v: View, site: str) -> Array:
    return (v.site(site).xpos - v.body("spinner").xpos)[..., X_AND_Z]
