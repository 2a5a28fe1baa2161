"""Gymnasium's Hopper: get a planar one-legged robot to hop."""

from dataclasses import dataclass, field

from mjgym.sim import View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.forward_task import HealthyTask, within
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS

Z, PITCH = 1, 2  # positions of the root


@dataclass(frozen=True, kw_only=True)
class PlanarWalker(HealthyTask):
    """A planar robot that must stay upright.

    Observation: `qpos`, height and pitch of the root (m, rad), then the joints (rad); `qvel`, the
    velocities of the root, forwards, up and in pitch (m/s, rad/s), and of the joints (rad/s), all
    within -10 and 10.
    """

    healthy_angle_range: tuple[float, float]  # rad, of the torso

    ctrl_cost_weight: float = 1e-3
    reset_noise_scale: float = 5e-3
    fastest: float = field(default=10.0, init=False)  # m/s, rad/s, of observed velocities

    reported = (*HealthyTask.reported, "z_distance_from_origin")

    def places(self, v: View) -> Arrays:
        rise = v.qpos[..., Z] - float(v.model.qpos0[Z])
        return {**super().places(v), "z_distance_from_origin": rise}

    def observation(self, v: View) -> Arrays:
        return {"qpos": self.posture(v), "qvel": v.xp.clip(v.qvel, -self.fastest, self.fastest)}

    def healthy(self, v: View) -> Array:
        upright = within(v.qpos[..., PITCH], self.healthy_angle_range)
        return within(v.qpos[..., Z], self.healthy_z_range) & upright


@register("gymnasium/Hopper-v5", "Hop to the right on one leg.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Hopper(PlanarWalker):
    """Hop to the right (Erez et al., 2011), as in Gymnasium's Hopper-v5.

    Reward: `reward_forward`, the root's velocity forwards (m/s), `reward_survive`, 1 while healthy,
    and `reward_ctrl`, the negative sum of the squares of the actions, each times its weight.
    Healthy: height, pitch and all other positions and velocities are within their ranges; else the
    episode ends.

    Start: positions and velocities uniform about the model's, within the noise scale.
    """

    healthy_state_range: tuple[float, float] = (-100.0, 100.0)  # m, rad, m/s, rad/s
    healthy_z_range: tuple[float, float] = (0.7, float("inf"))  # m
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)  # rad

    xml_file: str = "hopper.xml"
    frame_skip: int = 4  # physics steps of 0.002 s

    time_limit: float = 8.0  # s: 1000 control steps
    control_timestep: float = field(default=0.008, init=False)  # s

    usual_camera = Viewpoint(elevation=-10.0, distance=1.3, bodies=("torso", "foot"))

    def healthy(self, v: View) -> Array:
        state = v.xp.concat([v.qpos[..., PITCH:], v.qvel], axis=-1)
        calm = v.xp.all(within(state, self.healthy_state_range), axis=-1)
        return super().healthy(v) & calm
