"""Gymnasium's Swimmer: get a chain of three links to swim."""

from dataclasses import dataclass, field

from mjgym.task import Viewpoint, register
from mjgym.tasks.gymnasium.forward_task import TRACK, ForwardTask
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS


@register("gymnasium/Swimmer-v5", "Swim to the right with three links.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Swimmer(ForwardTask):
    """Swim to the right (Coulom, 2002), as in Gymnasium's Swimmer-v5.

    Reward: `reward_forward`, the root's velocity along x (m/s), and `reward_ctrl`, the negative
    sum of the squares of the actions, each times its weight.

    Start: positions and velocities uniform about the model's, within the noise scale.

    Observation: `qpos`, heading and joints (rad); `qvel`, the root's velocity along x and y (m/s),
    then of the heading and the joints (rad/s).
    """

    xml_file: str = "swimmer.xml"
    frame_skip: int = 4  # physics steps of 0.01 s
    ctrl_cost_weight: float = 1e-4
    reset_noise_scale: float = 0.1

    time_limit: float = 40.0  # s: 1000 control steps
    control_timestep: float = field(default=0.04, init=False)  # s

    axes = ("x", "y")
    reported = (*ForwardTask.reported, *TRACK)
    usual_camera = Viewpoint(elevation=-50.0, distance=3.0, bodies=("torso", "mid", "back"))
