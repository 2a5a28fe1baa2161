"""Get a planar one-legged robot to stand up and to hop forwards."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.resets import random_joints
from mjgym.rewards import ramp, small_control, tolerance
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Task, register_variants, variant
from mjgym.util.values import not_negative

STAND_HEIGHT = (0.6, 2.0)  # m, torso's centre of mass above the foot's
HOP_SPEED = 2.0  # m/s

TOUCH = slice(3, 5)  # sensor readings of the toe and the heel


@register_variants(
    "dmc/hopper-{}-v0",
    ("benchmarking", "reward_viz"),
    stand=variant("Stand up on one leg."),
    hop=variant("Hop to the right on one leg at 2 m/s or more.", speed=HOP_SPEED),
)
@dataclass(frozen=True)
class Hopper(Task):
    """Stand up, or hop to the right at a `speed` (after Lillicrap et al., 2015).

    Reward: `standing`, 1 while the torso is 0.6 m to 2 m above the foot and 0 elsewhere (centres of
    mass), times, when standing, `small_control` in [0.8, 1], or, with a speed, `hopping`, the
    forward velocity of the centre of mass as a fraction of the speed, kept within 0 and 1.

    Start: all joints uniform in their ranges, the pitch of the torso uniform over the circle, at
    rest. The root stays in place, so limbs may start in the floor.

    Observation: `position`, height (m, counted from 1) and pitch of the torso (rad), then the
    joints (rad); `velocity`, the torso's, forward and up (m/s), then its pitch and the joints
    (rad/s); `touch`, ln(1 + force in N) at the toe and at the heel.
    """

    speed: float = 0.0  # m/s to the right; 0 rewards standing alone

    time_limit = 20.0  # s
    control_timestep = 0.02  # s

    def __post_init__(self) -> None:
        not_negative("speed", self.speed)

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/hopper.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        random_joints(v, rng)

    def observation(self, v: View) -> Arrays:
        return {
            "position": v.qpos[..., 1:],  # position along the track does not matter
            "velocity": v.qvel,
            "touch": v.xp.log1p(v.sensordata[..., TOUCH]),
        }

    def terms(self, v: View) -> Arrays:
        height = v.body("torso").xipos[..., 2] - v.body("foot").xipos[..., 2]
        standing = tolerance(height, STAND_HEIGHT)
        if self.speed:
            velocity = v.sensor("torso_subtreelinvel").data
            return {"standing": standing, "hopping": ramp(velocity[..., 0], 0.0, self.speed)}
        return {"standing": standing, "small_control": small_control(v.ctrl)}
