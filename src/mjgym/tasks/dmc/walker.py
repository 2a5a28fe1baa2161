"""Get a planar biped to stand, walk and run, starting from any pose."""

from dataclasses import dataclass
from math import inf
from typing import Any

from mjgym import mjcf
from mjgym.resets import random_joints
from mjgym.rewards import ramp, tolerance
from mjgym.rotations import XX, XZ, ZZ
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant
from mjgym.util.values import not_negative

STAND_HEIGHT = 1.2  # m, height of the torso's centre above which the walker counts as standing
WALK_SPEED = 1.0  # m/s
RUN_SPEED = 8.0  # m/s

BODIES = slice(1, None)  # all but the world: the torso, then each leg from thigh to foot
X_AXIS = slice(XX, XZ + 1, 2)  # of a rotation: the world's x axis in the body's x and z


@register_variants(
    "dmc/walker-{}-v0",
    ("benchmarking", "reward_viz"),
    stand=variant("Stand upright on two legs."),
    walk=variant("Walk to the right on two legs at 1 m/s or more.", speed=WALK_SPEED),
    run=variant("Run to the right on two legs at 8 m/s or more.", speed=RUN_SPEED),
)
@dataclass(frozen=True)
class Walker(Task):
    """Stand upright, or walk or run to the right at a `speed` (after Lillicrap et al., 2015).

    Reward: stand = (3 standing + upright) / 4, where `standing` is 1 with the torso higher than
    1.2 m and falls to 0.1 at 0.6 m, and `upright` is (1 + cosine of the torso's tilt) / 2. With a
    speed: stand (1 + 5 moving) / 6, where `moving` is the forward velocity of the centre of mass as
    a fraction of the speed, kept within 0 and 1.

    Start: all joints uniform in their ranges, the pitch of the torso uniform over the circle, at
    rest. The root stays in place, so limbs may start in the floor.

    Observation: `orientations`, cosine and sine of each body's pitch; `height` of the torso (m);
    `velocity` of the root (m/s, m/s, rad/s: up, forward, pitch) and of the leg joints (rad/s).
    """

    speed: float = 0.0  # m/s to the right; 0 rewards standing alone

    time_limit = 25.0  # s
    control_timestep = 0.025  # s

    def __post_init__(self) -> None:
        not_negative("speed", self.speed)

    def model(self) -> mjcf.Spec:
        return mjcf.load("dmc/walker.xml")

    def initialize(self, v: SingleView, rng: Any) -> None:
        random_joints(v, rng)

    def observation(self, v: View) -> Arrays:
        return {
            "orientations": v.xp.reshape(v.xmat[..., BODIES, X_AXIS], (*v.lead, -1)),
            "height": v.body("torso").xpos[..., 2],
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        torso = v.body("torso")
        terms = {
            "standing": tolerance(torso.xpos[..., 2], (STAND_HEIGHT, inf), STAND_HEIGHT / 2),
            "upright": (1 + torso.xmat[..., ZZ]) / 2,
        }
        if self.speed:
            velocity = v.sensor("torso_subtreelinvel").data
            terms["moving"] = ramp(velocity[..., 0], 0.0, self.speed)
        return terms

    def reward(self, terms: Arrays) -> Array:
        stand = (3 * terms["standing"] + terms["upright"]) / 4
        return stand * (1 + 5 * terms["moving"]) / 6 if self.speed else stand
