"""Bring a ball or a peg to a target with a planar arm and its gripper, or insert it there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym import mjcf
from mjgym.arrays import namespace
from mjgym.resets import until_free
from mjgym.rewards import tolerance
from mjgym.rotations import XX, ZX, norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant
from mjgym.tasks.dmc.ball_carrier import carry
from mjgym.tasks.dmc.common import planar_arm

CLOSE = 0.01  # m, distance at which two points coincide
IN_HAND = 0.1  # probability of starting with the object in the hand
IN_TARGET = 0.1  # probability of starting with the object in its target

RECEPTACLES = {"ball": "cup", "peg": "slot"}

HARD = ("extra", "hard", "reward_viz")


def distance(v: View, first: str, second: str) -> Array:
    return norm(v.site(first).xpos - v.site(second).xpos)


def together(v: View, first: str, second: str) -> Array:
    """1 within 0.01 m between two sites, falling off over the next 0.02 m."""
    return tolerance(distance(v, first, second), (0, CLOSE), margin=2 * CLOSE)


@dataclass(frozen=True)
class Manipulator(Task):
    """An object, a target for it and an arm to bring it there; `Ball` and `Peg` define the rewards.

    Start: the arm in a random pose; the target anywhere within reach, at any angle, or, to insert,
    in a receptacle that is at most 60 degrees off upright; the object in the hand (one draw in
    ten), in its target (one in ten) or anywhere, moving sideways at up to 5 m/s. All is drawn
    again until nothing touches, but an object keeps the speed that an attempt before gave it.

    Observation: `arm_pos`, sine and cosine of the angles of root, shoulder, elbow, wrist, finger,
    fingertip, thumb and thumbtip; `arm_vel`, the joints' velocities (rad/s); `touch`, ln(1 + force
    (N)) on palm, finger, thumb, fingertip and thumbtip. If `fully_observable` also `hand_pos`,
    `object_pos` and, last, `target_pos`, x and z (m) and cosine and sine of half the angle of each;
    `object_vel`, the object's velocity along x and z (m/s) and about y (rad/s).
    """

    insert: bool = False  # surround the target by a receptacle
    fully_observable: bool = True  # observe the hand, the object and the target too

    time_limit = 10.0  # s
    control_timestep = 0.01  # s
    viewpoint = planar_arm.VIEWPOINT
    varies = ("body_pos", "body_quat")  # of target and receptacle

    object: ClassVar[str]  # "ball" or "peg"

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/manipulator.xml")
        for name, receptacle in RECEPTACLES.items():
            if name != self.object:
                mjcf.remove(spec, "body", name, f"target_{name}", receptacle)
            elif not self.insert:
                mjcf.remove(spec, "body", receptacle)
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        until_free(v, lambda: self.draw(v, rng))

    def draw(self, v: SingleView, rng: Any) -> None:
        """Draw poses once, free of collisions or not."""
        planar_arm.draw_arm(v, rng)

        x, z = rng.uniform(-0.4, 0.4), rng.uniform(0.1, 0.4)  # m
        tilt = np.pi / 3 if self.insert else np.pi  # rad
        angle = rng.uniform(-tilt, tilt)
        placed = [f"target_{self.object}"]
        if self.insert:
            placed.append(RECEPTACLES[self.object])
        for name in placed:
            v.body(name).pos[::2] = x, z
            v.body(name).quat[::2] = np.cos(angle / 2), np.sin(angle / 2)

        where = rng.uniform()
        if where < IN_HAND:
            v.detect_contacts()
            hand = v.site("grasp")
            x, z = hand.xpos[::2]
            angle = np.pi - np.arctan2(hand.xmat[ZX], hand.xmat[XX])
        elif where >= IN_HAND + IN_TARGET:
            x, z = rng.uniform(-0.5, 0.5), rng.uniform(0, 0.7)
            angle = rng.uniform(0, 2 * np.pi)
            v.qvel[planar_arm.OBJECTS] = rng.uniform(-5, 5)
        v.qpos[planar_arm.OBJECTS :] = x, z, angle

    def observation(self, v: View) -> Arrays:
        arm = planar_arm.arm_observation(v)
        if not self.fully_observable:
            return arm
        return {
            **arm,
            "hand_pos": planar_arm.planar_pose(v, "hand"),
            "object_pos": planar_arm.planar_pose(v, self.object),
            "object_vel": v.qvel[..., planar_arm.OBJECTS :],
            "target_pos": planar_arm.planar_pose(v, f"target_{self.object}"),
        }


@register_variants(
    "dmc/manipulator-{}_ball-v0",
    bring=variant(
        "Grasp a ball with a planar arm and bring it to its target.",
        ("benchmarking", "hard", "reward_viz"),
    ),
    insert=variant("Grasp a ball with a planar arm and insert it into a cup.", HARD, insert=True),
)
@dataclass(frozen=True)
class Ball(Manipulator):
    """Bring the ball to its target, or insert it into the cup around its target.

    Reward: 1 while the ball's centre is within 0.01 m of the target's, falling to 0.1 at 0.03 m.
    Success: within 0.01 m. See `Manipulator` for starts and observations.
    """

    object = "ball"

    def terms(self, v: View) -> Arrays:
        return {"bringing": together(v, "ball", "target_ball")}

    def success(self, v: View) -> Array:
        return distance(v, "ball", "target_ball") <= CLOSE

    def scripted_policy(self) -> Callable[[Any], np.ndarray] | None:
        if self.insert:
            return None
        if not self.fully_observable:
            raise ValueError("fully_observable: the script has to see the ball; leave it true")
        return carry


@register_variants(
    "dmc/manipulator-{}_peg-v0",
    HARD,
    bring=variant("Grasp a peg with a planar arm and bring it to its target, point to point."),
    insert=variant("Grasp a peg with a planar arm and insert it into a slot.", insert=True),
)
@dataclass(frozen=True)
class Peg(Manipulator):
    """Bring the peg to its target, point to point, or insert it into the slot around its target.

    Reward: with closeness 1 within 0.01 m and 0.1 at 0.03 m, the larger of `bringing`, the mean
    closeness of the peg's middle and tip to the target's, and a third of `grasping`, the mean
    closeness of two points on the peg's handle to those between finger and thumb. Success: middle
    and tip within 0.01 m of the target's. See `Manipulator` for starts and observations.
    """

    object = "peg"

    def terms(self, v: View) -> Arrays:
        middle, tip = together(v, "peg", "target_peg"), together(v, "peg_tip", "target_peg_tip")
        grasp, pinch = together(v, "peg_grasp", "grasp"), together(v, "peg_pinch", "pinch")
        return {"bringing": (middle + tip) / 2, "grasping": (grasp + pinch) / 2}

    def reward(self, terms: Arrays) -> Array:
        bringing, grasping = terms["bringing"], terms["grasping"] / 3
        return namespace(bringing).maximum(bringing, grasping)

    def success(self, v: View) -> Array:
        middle, tip = distance(v, "peg", "target_peg"), distance(v, "peg_tip", "target_peg_tip")
        return (middle <= CLOSE) & (tip <= CLOSE)
