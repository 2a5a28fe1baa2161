"""Get a person with 56 motors, on a motion-capture skeleton, to stand, walk and run."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.resets import random_joints, until_free
from mjgym.rotations import Z_ROW, ZY
from mjgym.sim import View
from mjgym.sim.single import SingleView
from mjgym.task import Array, Arrays, Task, register
from mjgym.tasks.dmc.common import upright

JOINTS = slice(7, None)  # of qpos: all but the root pose
EXTREMITIES = ("lhand", "lfoot", "rhand", "rfoot")


@register(
    "dmc/humanoid_CMU-stand-v0",
    summary="Stand upright and still, with the 56 joints of the motion-capture body.",
    tags=("extra", "reward_viz"),
)
@register(
    "dmc/humanoid_CMU-walk-v0",
    summary="Walk upright at 1 m/s or more, with the 56 joints of the motion-capture body.",
    tags=("extra", "reward_viz"),
    speed=upright.WALK_SPEED,
)
@register(
    "dmc/humanoid_CMU-run-v0",
    summary="Run upright at 10 m/s or more, with the 56 joints of the motion-capture body.",
    tags=("extra", "reward_viz"),
    speed=upright.RUN_SPEED,
)
@dataclass(frozen=True)
class HumanoidCMU(Task):
    """Stand upright and, with a `speed`, move at least that fast in any horizontal direction.

    Reward: small_control standing upright still, or, with a speed, (1 + 5 moving) / 6 for still.
    `standing` is 1 with the head above 1.4 m and falls to 0.1 at 1.05 m; `upright` is 1 with the
    thorax within 26 degrees (cosine 0.9) of upright and falls linearly with the cosine, to 0 upside
    down; `small_control` is within [0.8, 1]; `still` falls with the horizontal velocity of the
    centre of mass along x and along y, to 0.1 at 2 m/s; `moving` is that velocity's length as a
    fraction of the speed, at most 1.

    Start: every joint uniform in its range and the root turned at random at a height of 1 m, drawn
    until nothing touches anything, at rest.

    Observation: `joint_angles` (rad); `head_height` (m); `extremities`, the left hand, left foot,
    right hand and right foot as seen from the thorax (m); `torso_vertical`, the world's vertical in
    the thorax's axes (y is up); `com_velocity`, the centre of mass's velocity in world axes (m/s);
    `velocity` of the root (m/s in world axes, then rad/s in its own) and the joints (rad/s).
    """

    speed: float = 0.0  # m/s in any horizontal direction; 0 rewards standing still

    time_limit = 20.0  # s
    control_timestep = 0.02  # s
    viewpoint = "side"

    def __post_init__(self) -> None:
        if self.speed < 0:
            raise ValueError(f"speed: must not be negative, got {self.speed}")

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/humanoid_CMU.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        until_free(v, lambda: random_joints(v, rng))

    def observation(self, v: View) -> Arrays:
        return {
            "joint_angles": v.qpos[..., JOINTS],
            "head_height": v.body("head").xpos[..., 2],
            "extremities": upright.extremities(v, "thorax", EXTREMITIES),
            "torso_vertical": v.body("thorax").xmat[..., Z_ROW],
            "com_velocity": v.sensor("thorax_subtreelinvel").data,
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        return upright.terms(
            v,
            head_height=v.body("head").xpos[..., 2],
            cosine=v.body("thorax").xmat[..., ZY],
            velocity=v.sensor("thorax_subtreelinvel").data,
            speed=self.speed,
        )

    def reward(self, terms: Arrays) -> Array:
        return upright.reward(terms)
