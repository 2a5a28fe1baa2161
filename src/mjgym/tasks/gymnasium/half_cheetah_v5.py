"""Gymnasium's HalfCheetah: get a planar cheetah to run."""

from dataclasses import dataclass, field

from mjgym.task import Viewpoint, register
from mjgym.tasks.gymnasium.forward_task import ForwardTask
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS


@register(
    "gymnasium/HalfCheetah-v5", "Run to the right as a planar cheetah.", TAGS, options=OPTIONS
)
@dataclass(frozen=True, kw_only=True)
class HalfCheetah(ForwardTask):
    """Run to the right (Wawrzynski, 2009), as in Gymnasium's HalfCheetah-v5.

    Reward: `reward_forward`, the root's velocity forwards (m/s), and `reward_ctrl`, the negative
    sum of the squares of the actions, each times its weight.

    Start: positions of all joints uniform about the model's, velocities normal, both with the
    noise scale.

    Observation: `qpos`, height and pitch of the root (m, rad), then the joints (rad); `qvel`, the
    velocities of the root, forwards, up and in pitch (m/s, rad/s), and of the joints (rad/s).
    """

    xml_file: str = "half_cheetah.xml"
    frame_skip: int = 5  # physics steps of 0.01 s
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1

    time_limit: float = 50.0  # s: 1000 control steps
    control_timestep: float = field(default=0.05, init=False)  # s

    normal_velocities = True
    usual_camera = Viewpoint(distance=2.0, bodies=("torso",))
