"""Get a planar cheetah with one back and one front leg to run fast, up to 10 m/s."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.rewards import ramp
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Task, register
from mjgym.util.values import positive

RUN_SPEED = 10.0  # m/s
SETTLING_STEPS = 200  # physics steps of 0.01 s without control, before an episode starts

LEGS = slice(3, None)  # joints: the root's place and pitch, then each leg from thigh to foot


@register("dmc/cheetah-run-v0", tags=("benchmarking", "reward_viz"))
@dataclass(frozen=True)
class Cheetah(Task):
    """Run to the right (Wawrzynski, 2009).

    Reward: `running`, the forward velocity of the centre of mass as a fraction of the speed, kept
    within 0 and 1.

    Start: the leg joints uniform in their ranges, then two seconds of settling without control; the
    small velocities that are left are kept.

    Observation: `position`, height (m, counted from 0.7) and pitch of the torso (rad), then the
    joints (rad); `velocity`, the torso's, forward and up (m/s), then its pitch and the joints
    (rad/s).
    """

    speed: float = RUN_SPEED  # m/s to the right, at which the reward is 1

    time_limit = 10.0  # s
    control_timestep = 0.01  # s

    def __post_init__(self) -> None:
        positive("speed", self.speed)

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/cheetah.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.forward()
        low, high = v.jnt_range[LEGS].T
        v.qpos[LEGS] = rng.uniform(low, high)
        v.step(SETTLING_STEPS)  # as published, the first uses forces of the default pose
        v.time = 0

    def observation(self, v: View) -> Arrays:
        return {
            "position": v.qpos[..., 1:],  # position along the track does not matter
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        velocity = v.sensor("torso_subtreelinvel").data
        return {"running": ramp(velocity[..., 0], 0.0, self.speed)}
