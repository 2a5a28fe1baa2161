"""Get a simplified person with 21 motors to stand up, walk and run."""

from dataclasses import dataclass

from mjgym import mjcf
from mjgym.rotations import ZZ
from mjgym.sim import View
from mjgym.task import Arrays, register_variants, variant
from mjgym.tasks.dmc.common.upright import RUN_SPEED, WALK_SPEED, Upright


@register_variants(
    "dmc/humanoid-{}-v0",
    ("benchmarking", "reward_viz"),
    stand=variant("Stand upright and still."),
    walk=variant("Walk upright at 1 m/s or more, in any direction.", speed=WALK_SPEED),
    run=variant("Run upright at 10 m/s or more, in any direction.", speed=RUN_SPEED),
    run_pure_state=variant(
        "Run upright at 10 m/s or more, observing only joint positions and velocities.",
        ("extra", "reward_viz"),
        speed=RUN_SPEED,
        pure_state=True,
    ),
)
@dataclass(frozen=True)
class Humanoid(Upright):
    """Stand upright and, with a `speed`, move at least that fast in any horizontal direction.

    Reward: small_control standing upright still, or, with a speed, (1 + 5 moving) / 6 for still.
    `standing` is 1 with the head above 1.4 m and falls to 0.1 at 1.05 m; `upright` is 1 with the
    torso within 26 degrees (cosine 0.9) of upright and falls linearly with the cosine, to 0 upside
    down; `small_control` is within [0.8, 1]; `still` falls with the horizontal velocity of the
    centre of mass along x and along y, to 0.1 at 2 m/s; `moving` is that velocity's length as a
    fraction of the speed, at most 1.

    Start: every joint uniform in its range and the root turned at random at a height of 1.5 m,
    drawn until nothing touches anything, at rest.

    Observation: `joint_angles` (rad); `head_height` (m); `extremities`, the left hand, left foot,
    right hand and right foot as seen from the torso (m); `torso_vertical`, the world's vertical in
    the torso's axes (z is up); `com_velocity`, the centre of mass's velocity in world axes (m/s);
    `velocity` of the root (m/s in world axes, then rad/s in its own) and the joints (rad/s).
    With `pure_state`: `position` of the root (m, then a quaternion) and the joints (rad), and
    `velocity`.
    """

    pure_state: bool = False  # observe all positions and velocities, and nothing else

    time_limit = 25.0  # s
    control_timestep = 0.025  # s

    torso = "torso"
    up = ZZ
    extremities = ("left_hand", "left_foot", "right_hand", "right_foot")

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/humanoid.xml")

    def observation(self, v: View) -> Arrays:
        if self.pure_state:
            return {"position": v.qpos, "velocity": v.qvel}
        return super().observation(v)
