"""Bring a chain of balls on springs to rest at the least cost: the linear-quadratic regulator."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.resets import unit_vector
from mjgym.rotations import squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant
from mjgym.util.values import positive, whole_number

STIFFNESS = 15.0, 25.0  # N/m, range of spring stiffnesses
DAMPING = 0.0, 0.0  # N s/m, range of spring dampings
SPACING = 0.25  # m, between neighbours along the chain
HEIGHT = 0.1  # m, of the chain above the floor

AT_REST = 1e-6  # norm of positions (m) and velocities (m/s) below which the episode ends
CLOSE_TO_REST = 0.01  # the same, for success

MOST_MASSES = 100


@register_variants(
    "dmc/lqr-lqr_{}-v0",
    ("extra", "reward_viz"),
    **{
        "2_1": variant("Bring two sliding balls to rest with one motor.", masses=2, actuators=1),
        "6_2": variant("Bring six sliding balls to rest with two motors.", masses=6, actuators=2),
    },
)
@dataclass(frozen=True)
class LQR(Task):
    """Bring a chain of sliding balls to rest with few motors.

    Each ball slides, on a spring, relative to the one before; the motors act on the first joints.

    Reward: 1 - (|q|^2 / 2 + control_cost |u|^2 / 2), with positions q (m) after the step and the
    applied forces u (N); it has no lower bound.

    Start: q uniform on the sphere of radius sqrt(2) m, so that its cost is 1; at rest.

    End: the norm of positions and velocities together is below 1e-6. Success: it is at most 0.01.

    Observation: `position` of each ball relative to the one before (m); `velocity` of each
    ball relative to the one before (m/s).
    """

    masses: int = 2  # balls in the chain
    actuators: int = 1  # motors, on as many of the first joints
    control_cost: float = 0.1  # 1/N^2
    stiffness_seed: int = 7  # draws the springs; 7 is that of the published models

    time_limit = float("inf")  # s
    control_timestep = 0.03  # s

    def __post_init__(self) -> None:
        whole_number("masses", self.masses, most=MOST_MASSES)
        whole_number("actuators", self.actuators, most=self.masses)
        positive("control_cost", self.control_cost)

    def model(self) -> mjcf.Spec:
        # A stiffness and a damping for each ball in turn, from the published suite's generator.
        rng = np.random.RandomState(self.stiffness_seed)
        spec = mjcf.load("dmc/lqr.xml")
        chain = spec.find_default("chain")  # defaults of its bodies' elements
        ball = spec.worldbody
        for i in range(self.masses):
            place = [SPACING, 0, HEIGHT if i == 0 else 0]
            ball = mjcf.add(ball, "body", name=f"body_{i}", pos=place, default=chain)
            stiffness, damping = rng.uniform(*STIFFNESS), rng.uniform(*DAMPING)
            mjcf.add(ball, "joint", name=f"joint_{i}", stiffness=stiffness, damping=damping)
            mjcf.add(ball, "geom", name=f"geom_{i}")
            mjcf.add(ball, "site", name=f"site_{i}")
        for i in range(self.masses - 1):  # visual only
            tendon = mjcf.add(spec, "tendon", name=f"tendon_{i}", default=chain)
            tendon.wrap_site(f"site_{i}")
            tendon.wrap_site(f"site_{i + 1}")
        for i in range(self.actuators):
            mjcf.add(spec, "actuator", name=f"motor_{i}", target=f"joint_{i}", trntype="joint")
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[:] = np.sqrt(2) * unit_vector(rng, self.masses)

    def observation(self, v: View) -> Arrays:
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v: View) -> Arrays:
        return {
            "state_cost": 0.5 * squared_norm(v.qpos),
            "control_cost": 0.5 * self.control_cost * squared_norm(v.ctrl),
        }

    def reward(self, terms: Arrays) -> Array:
        return 1 - (terms["state_cost"] + terms["control_cost"])

    def terminated(self, v: View) -> Array:
        return _squared_state_norm(v) < AT_REST**2

    def success(self, v: View) -> Array:
        return _squared_state_norm(v) <= CLOSE_TO_REST**2


def _squared_state_norm(v: View) -> Array:
    return squared_norm(v.qpos) + squared_norm(v.qvel)
