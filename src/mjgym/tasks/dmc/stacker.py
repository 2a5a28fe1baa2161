"""Stack boxes with a planar arm: put one of them where the target is and withdraw the hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import columns, smallest
from mjgym.resets import until_free
from mjgym.rewards import tolerance
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant
from mjgym.tasks.dmc.common import planar_arm
from mjgym.util.values import whole_number

RELEASED = "with a planar arm: put one where the target is, and let go of it."  # of summaries

MOST_BOXES = 4
HALF_SIZE = 0.022  # m, of the boxes and of the target
HAND_CLEARANCE = 0.1  # m, from target to grasp site, beyond which the hand is out of the way
HAND_MARGIN = 0.01  # m
CLOSE = 0.01  # m, distance of box and target at which the box counts as placed (success only)


@register_variants(
    "dmc/stacker-stack_{}-v0",
    ("extra", "hard", "reward_viz"),
    **{
        "2": variant(f"Stack two boxes {RELEASED}", boxes=2),
        "4": variant(f"Stack four boxes {RELEASED}", boxes=4),
    },
)
@dataclass(frozen=True)
class Stacker(Task):
    """Put any box at the target, often on top of other boxes, and release it.

    Reward: closeness of the nearest box to the target, 1 at distance 0 and 0.1 at 0.044 m, times
    a factor that is 1 while the grasp site is at least 0.1 m from the target and 0.1 at 0.09 m.
    Success (this package's own measure): a box within 0.01 m, the hand at least 0.1 m away.

    Start: the arm in a random pose, the target at the height of a random layer of the stack, each
    box anywhere on the right-hand side; all drawn again until nothing touches.

    Observation: `arm_pos`, sine and cosine of the angles of root, shoulder, elbow, wrist, finger,
    fingertip, thumb and thumbtip; `arm_vel`, the joints' velocities (rad/s); `touch`, ln(1 + force
    (N)) on palm, finger, thumb, fingertip and thumbtip. If `fully_observable` also `hand_pos` and
    `box_pos`, x and z (m), cosine and sine of half the angle of the hand and of each box;
    `box_vel`, of each box along x (m/s), about y (rad/s) and along z (m/s); `target_pos`, x and z
    of the target (m).
    """

    boxes: int = MOST_BOXES  # 1 to 4
    fully_observable: bool = True  # observe the hand, the boxes and the target too

    time_limit = 10.0  # s
    control_timestep = 0.01  # s
    viewpoint = planar_arm.VIEWPOINT
    varies = ("body_pos",)  # of the target

    def __post_init__(self) -> None:
        whole_number("boxes", self.boxes, most=MOST_BOXES)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/stacker.xml")
        mjcf.remove(spec, "body", *(f"box{i}" for i in range(self.boxes, MOST_BOXES)))
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        until_free(v, lambda: self.draw(v, rng))

    def draw(self, v: SingleView, rng: Any) -> None:
        """Draw poses once, free of collisions or not."""
        planar_arm.draw_arm(v, rng)
        layer = rng.integers(self.boxes)
        target = v.body("target").pos
        target[2] = HALF_SIZE * (2 * layer + 1)
        target[0] = rng.uniform(-0.37, 0.37)
        for box in v.qpos[planar_arm.OBJECTS :].reshape(self.boxes, 3):
            box[:] = rng.uniform(0.1, 0.3), rng.uniform(0, 0.7), rng.uniform(0, 2 * np.pi)

    def observation(self, v: View) -> Arrays:
        arm = planar_arm.arm_observation(v)
        if not self.fully_observable:
            return arm
        bodies = slice(-1 - self.boxes, -1)  # the boxes are the last bodies before the target
        x_z_angle = v.xp.reshape(v.qvel[..., planar_arm.OBJECTS :], (*v.lead, self.boxes, 3))
        x_angle_z = columns(x_z_angle, (0, 2, 1))
        return {
            **arm,
            "hand_pos": planar_arm.planar_pose(v, "hand"),
            "box_pos": v.xp.concat([v.xpos[..., bodies, ::2], v.xquat[..., bodies, ::2]], axis=-1),
            "box_vel": v.xp.reshape(x_angle_z, (*v.lead, -1)),
            "target_pos": v.body("target").xpos[..., ::2],
        }

    def distances(self, v: View) -> tuple[Array, Array]:
        """From the target to the nearest box and to the hand, in m."""
        target = v.site("target").xpos
        sites = v.site_xpos[..., -1 - self.boxes : -1, :]  # the last before the target's
        to_boxes = smallest(norm(sites - target[..., None, :]))
        return to_boxes, norm(v.site("grasp").xpos - target)

    def terms(self, v: View) -> Arrays:
        box, hand = self.distances(v)
        return {
            "stacking": tolerance(box, margin=2 * HALF_SIZE),
            "hand_away": tolerance(hand, (HAND_CLEARANCE, np.inf), margin=HAND_MARGIN),
        }

    def success(self, v: View) -> Array:
        box, hand = self.distances(v)
        return (box <= CLOSE) & (hand >= HAND_CLEARANCE)
