"""Tasks whose reward is forward velocity: control costs, healthy ranges."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays
from mjgym.tasks.gymnasium.gymnasium_task import (
    GymnasiumTask,
    control_cost,
    length,
    start_near_rest,
)

TRACK = ("y_position", "y_velocity", "distance_from_origin")
"""Infos of tasks on a plane, beside those of a straight track."""


@dataclass(frozen=True, kw_only=True)
class ForwardTask(GymnasiumTask):
    """Move forwards: a reward for velocity along x, less the cost of control."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float
    reset_noise_scale: float
    exclude_current_positions_from_observation: bool = True

    normal_velocities: ClassVar[bool] = False
    """True if velocities at the start are normal; else uniform."""

    reported: ClassVar[tuple[str, ...]] = (
        "x_position",
        "x_velocity",
        "reward_forward",
        "reward_ctrl",
    )

    def initialize(self, v: SingleView, rng: Any) -> None:
        start_near_rest(v, rng, self.reset_noise_scale, normal=self.normal_velocities)

    def observation(self, v: View) -> Arrays:
        return {"qpos": self.posture(v), "qvel": v.qvel}

    def posture(self, v: View) -> Array:
        track = len(self.axes) if self.exclude_current_positions_from_observation else 0
        return v.qpos[..., track:]

    axes: ClassVar[tuple[str, ...]] = ("x",)
    """Axes of the track: the first positions."""

    def place(self, v: View) -> Array:
        """The position whose change defines the velocity, m along each axis."""
        return v.qpos[..., : len(self.axes)]

    def places(self, v: View) -> Arrays:
        places = {f"{axis}_position": v.qpos[..., i] for i, axis in enumerate(self.axes)}
        if len(self.axes) > 1:
            places["distance_from_origin"] = length(v, v.qpos[..., : len(self.axes)])
        return places

    def memory(self, v: View) -> Arrays:
        return {"place": self.place(v), "control_cost": v.xp.zeros(v.lead), **self.places(v)}

    def before_step(self, v: View, action: Array) -> Arrays:
        cost = control_cost(v, self.ctrl_cost_weight, action)
        return {"place": self.place(v), "control_cost": cost}

    def terms(self, v: View) -> Arrays:
        velocity = (self.place(v) - v.memory["place"]) / self.control_timestep
        return {
            **{f"{axis}_velocity": velocity[..., i] for i, axis in enumerate(self.axes)},
            "reward_forward": self.forward_reward_weight * velocity[..., 0],
            "reward_ctrl": -v.memory["control_cost"],
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["reward_forward"] + terms["reward_ctrl"]


@dataclass(frozen=True, kw_only=True)
class HealthyTask(ForwardTask):
    """Move forwards without falling: a reward for each control step in the healthy ranges too."""

    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float]  # m, of the torso

    reported: ClassVar[tuple[str, ...]] = (*ForwardTask.reported, "reward_survive")

    def healthy(self, v: View) -> Array:
        """True if the state is within the healthy ranges."""
        raise NotImplementedError(f"{type(self).__name__} must define healthy()")

    def terms(self, v: View) -> Arrays:
        survived = v.xp.astype(self.healthy(v), v.qpos.dtype)
        return {**super().terms(v), "reward_survive": survived * self.healthy_reward}

    def reward(self, terms: Arrays) -> Array:
        return (terms["reward_forward"] + terms["reward_survive"]) + terms["reward_ctrl"]

    def terminated(self, v: View) -> Array:
        return ~self.healthy(v) if self.terminate_when_unhealthy else False


def within(x: Array, bounds: tuple[float, float]) -> Array:
    """True if numbers are between two bounds, without these."""
    low, high = bounds
    return (low < x) & (x < high)
