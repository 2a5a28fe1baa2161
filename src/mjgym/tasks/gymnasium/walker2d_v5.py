"""Gymnasium's Walker2d: get a planar biped to walk."""

from dataclasses import dataclass, field

from mjgym.task import Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS
from mjgym.tasks.gymnasium.hopper_v5 import PlanarWalker


@register("gymnasium/Walker2d-v5", "Walk to the right on two legs.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Walker2d(PlanarWalker):
    """Walk to the right (Erez et al., 2011), as in Gymnasium's Walker2d-v5.

    Reward: `reward_forward`, the root's velocity forwards (m/s), `reward_survive`, 1 while healthy,
    and `reward_ctrl`, the negative sum of the squares of the actions, each times its weight.
    Healthy: height and pitch are within their ranges; else the episode ends.

    Start: positions and velocities uniform about the model's, within the noise scale.
    """

    healthy_z_range: tuple[float, float] = (0.8, 2.0)  # m
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)  # rad

    xml_file: str = "walker2d_v5.xml"
    frame_skip: int = 4  # physics steps of 0.002 s

    time_limit: float = 8.0  # s: 1000 control steps
    control_timestep: float = field(default=0.008, init=False)  # s

    usual_camera = Viewpoint(elevation=-10.0, distance=1.2, bodies=("torso", "foot", "foot_left"))
