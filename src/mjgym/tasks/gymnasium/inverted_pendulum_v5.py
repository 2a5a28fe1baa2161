"""Gymnasium's InvertedPendulum: balance a pole on a cart."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS, GymnasiumTask, start_near_rest

LARGEST_ANGLE = 0.2  # rad

POLE = 1  # position of the pole


@register("gymnasium/InvertedPendulum-v5", "Balance a pole on a cart.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class InvertedPendulum(GymnasiumTask):
    """Balance a pole on a cart (Barto et al., 1983), as in Gymnasium's InvertedPendulum-v5.

    Reward: `reward_survive`, 1 while the pole is within 0.2 rad of upright; else the episode ends.

    Start: positions and velocities uniform about 0, within the noise scale.

    Observation: `qpos`, place of the cart (m) and angle of the pole (rad); `qvel`, their
    velocities (m/s, rad/s).
    """

    reset_noise_scale: float = 0.01

    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2  # physics steps of 0.02 s

    time_limit: float = 40.0  # s: 1000 control steps
    control_timestep: float = field(default=0.04, init=False)  # s

    reported = ("reward_survive",)
    usual_camera: ClassVar[Viewpoint] = Viewpoint(elevation=-15.0, distance=1.5, lookat=(0, 0, 0.2))

    def initialize(self, v: SingleView, rng: Any) -> None:
        start_near_rest(v, rng, self.reset_noise_scale, normal=False)

    def observation(self, v: View) -> Arrays:
        return {"qpos": v.qpos, "qvel": v.qvel}

    def terms(self, v: View) -> Arrays:
        return {"reward_survive": v.xp.astype(~self.terminated(v), v.qpos.dtype)}

    def terminated(self, v: View) -> Array:
        return v.xp.abs(v.qpos[..., POLE]) > LARGEST_ANGLE
