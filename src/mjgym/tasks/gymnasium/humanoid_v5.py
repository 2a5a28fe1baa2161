"""Gymnasium's Humanoid: get a human-like creature to run."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Signal, Viewpoint, register
from mjgym.tasks.gymnasium.body_labels import body_labels
from mjgym.tasks.gymnasium.forward_task import TRACK, HealthyTask, within
from mjgym.tasks.gymnasium.gymnasium_task import (
    OPTIONS,
    TAGS,
    GymnasiumTask,
    length,
    start_near_rest,
)

Z = 2  # position of the root
JOINTS = slice(6, None)  # degrees of freedom behind the root's


@dataclass(frozen=True, kw_only=True)
class HumanoidBody(GymnasiumTask):
    """The humanoid's starts, observation and tendons.

    Observation: `qpos`, height (m) and quaternion of the torso, then the joints (rad); `qvel`, the
    torso's velocity (m/s) and spin (rad/s), then of the joints (rad/s); `cinert`, inertia of each
    body about the centre of mass of all; `cvel`, spin (rad/s) and velocity (m/s) of each body at
    that centre; `qfrc_actuator`, torque of the actuators in the joints (N m); `cfrc_ext`, torque
    (N m) and force (N) of contacts on each body about that centre.
    """

    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    frame_skip: int = 5  # physics steps of 0.003 s

    time_limit: float = 15.0  # s: 1000 control steps
    control_timestep: float = field(default=0.015, init=False)  # s

    reported: ClassVar[tuple[str, ...]] = (
        "x_position",
        "y_position",
        "tendon_length",
        "tendon_velocity",
    )

    def initialize(self, v: SingleView, rng: Any) -> None:
        start_near_rest(v, rng, self.reset_noise_scale, normal=False)

    def observation(self, v: View) -> Arrays:
        bodies = (..., slice(1, None), slice(None))  # all but the world
        track = 2 if self.exclude_current_positions_from_observation else 0
        entries = {"qpos": v.qpos[..., track:], "qvel": v.qvel}
        if self.include_cinert_in_observation:
            entries["cinert"] = v.cinert[bodies]
        if self.include_cvel_in_observation:
            entries["cvel"] = v.cvel[bodies]
        if self.include_qfrc_actuator_in_observation:
            entries["qfrc_actuator"] = v.qfrc_actuator[..., JOINTS]
        if self.include_cfrc_ext_in_observation:
            entries["cfrc_ext"] = v.cfrc_ext[bodies]
        return entries

    def places(self, v: View) -> Arrays:
        return {
            "x_position": v.qpos[..., 0],
            "y_position": v.qpos[..., 1],
            "tendon_length": v.ten_length,
            "tendon_velocity": v.ten_velocity,
        }

    def contact_cost(self, v: View, weight: float, bounds: tuple[float, float]) -> Array:
        """The weighted sum of the squares of all contact forces and torques, within bounds."""
        return v.xp.clip(weight * v.xp.sum(v.xp.square(v.cfrc_ext), axis=(-2, -1)), *bounds)

    def labels(self, v: View) -> dict[str, Signal]:
        hinges = Signal(names=v.names("joint")[1:], unit="N m", source="qfrc_actuator")
        signals = {**body_labels(v), "qfrc_actuator": hinges}
        return {name: signals[name] for name in self.observation(v) if name in signals}


@register("gymnasium/Humanoid-v5", "Run to the right as a humanoid.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Humanoid(HumanoidBody, HealthyTask):
    """Run to the right (Tassa et al., 2012), as in Gymnasium's Humanoid-v5.

    Reward: `reward_forward`, the centre of mass's velocity along x (m/s), `reward_survive`, 1 while
    healthy, `reward_ctrl`, the negative sum of the squares of the controls, and `reward_contact`,
    that of the contact forces, within its range; each times its weight. Healthy: the torso's height
    is within its range; else the episode ends.

    Start: positions and velocities uniform about the model's, within the noise scale.
    """

    forward_reward_weight: float = 1.25
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-float("inf"), 10.0)
    healthy_reward: float = 5.0
    healthy_z_range: tuple[float, float] = (1.0, 2.0)  # m

    xml_file: str = "humanoid.xml"

    axes = ("x", "y")
    reported = (*HealthyTask.reported, *TRACK, "tendon_length", "tendon_velocity", "reward_contact")
    usual_camera: ClassVar[Viewpoint] = Viewpoint(
        azimuth=135.0, distance=2.0, bodies=("torso", "right_foot", "left_foot")
    )

    def place(self, v: View) -> Array:
        weighted = v.xp.sum(v.body_mass[..., None] * v.xipos, axis=-2)
        return (weighted / v.xp.sum(v.body_mass, axis=-1)[..., None])[..., :2]

    def places(self, v: View) -> Arrays:
        return {**super().places(v), "distance_from_origin": length(v, v.qpos[..., :2])}

    def terms(self, v: View) -> Arrays:
        contact = self.contact_cost(v, self.contact_cost_weight, self.contact_cost_range)
        return {
            **super().terms(v),
            "reward_ctrl": -self.ctrl_cost_weight * v.xp.sum(v.xp.square(v.ctrl), axis=-1),
            "reward_contact": -contact,
        }

    def reward(self, terms: Arrays) -> Array:
        costs = terms["reward_ctrl"] + terms["reward_contact"]
        return (terms["reward_forward"] + terms["reward_survive"]) + costs

    def healthy(self, v: View) -> Array:
        return within(v.qpos[..., Z], self.healthy_z_range)
