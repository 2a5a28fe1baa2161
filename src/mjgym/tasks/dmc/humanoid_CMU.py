"""Get a person with 56 motors, on a motion-capture skeleton, to stand, walk and run."""

from dataclasses import dataclass

from mjgym import mjcf
from mjgym.rotations import ZY
from mjgym.task import register_variants, variant
from mjgym.tasks.dmc.common.upright import RUN_SPEED, WALK_SPEED, Upright


@register_variants(
    "dmc/humanoid_CMU-{}-v0",
    ("extra", "reward_viz"),
    stand=variant("Stand upright and still, with the 56 joints of the motion-capture body."),
    walk=variant(
        "Walk upright at 1 m/s or more, with the 56 joints of the motion-capture body.",
        speed=WALK_SPEED,
    ),
    run=variant(
        "Run upright at 10 m/s or more, with the 56 joints of the motion-capture body.",
        speed=RUN_SPEED,
    ),
)
@dataclass(frozen=True)
class HumanoidCMU(Upright):
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

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    torso = "thorax"
    up = ZY
    extremities = ("lhand", "lfoot", "rhand", "rfoot")

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/humanoid_CMU.xml")
