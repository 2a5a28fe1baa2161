"""Lift a brick or a large box."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from mjgym.mjcf import Spec, add
from mjgym.resets import Box, put, random_pose, settle
from mjgym.rewards import tolerance
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import at_height
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays
from mjgym.tasks.manipulation.arena import THINNEST, add_part
from mjgym.tasks.manipulation.arm_scene import Areas, Scene, features_and_vision
from mjgym.tasks.manipulation.bricks import brick, brick_name
from mjgym.tasks.manipulation.props import (
    LARGE_BOX,
    LARGE_BOX_HALF_SIZE,
    add_large_box,
    lowest_corner,
    prop_observation,
)
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import HELD, Brick, grasp
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import Hand, velocity_arm

LIFT = 0.3  # m, rise of the lowest corner
TARGET = "target_height"  # a site at that height
TOOL_BOX: Box = ((-0.1, -0.1, 0.2), (0.1, 0.1, 0.4))  # m


@dataclass(frozen=True)
class Lift(Scene):
    """Lift an object."""

    @property
    def thing(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} must define thing")

    varies = ("site_pos",)

    def mark(self, scene: Spec) -> None:
        add(
            scene.worldbody, "site", name=TARGET, type="box", pos=(0, 0, LIFT),
            size=(1, 1, THINNEST), rgba=(0.9, 0.8, 0.2, 0.3), group=3,
        )  # fmt: skip

    def initialize(self, v: SingleView, rng: Any) -> None:
        body = f"{self.thing}/"
        self.draw_fingers(v, rng)
        put(v, body, *random_pose(rng, self.areas["prop"]))
        settle(v, [body])
        v.site(TARGET).pos[2] = lowest_corner(v, self.thing) + LIFT
        self.place_hand(v, rng)

    def observe_things(self, v: View) -> Arrays:
        return prop_observation(v, self.thing)

    def heights(self, v: View) -> tuple[Array, Array]:
        """Heights of the lowest corner and of its target, (...) m each."""
        return lowest_corner(v, self.thing), v.site(TARGET).xpos[..., 2]

    def terms(self, v: View) -> Arrays:
        height, target = self.heights(v)
        lifted = tolerance(
            height, (target, inf), margin=LIFT, sigmoid="linear", value_at_margin=0.0
        )  # fmt: skip
        return {"lifted": lifted}

    def success(self, v: View) -> Array:
        height, target = self.heights(v)
        return height >= target


@features_and_vision("lift_brick", "Lift a brick by 30 cm")
@dataclass(frozen=True)
class LiftBrick(Lift):
    """Lift a brick by 30 cm.

    Reward: how much of the 30 cm the brick's lowest corner has been lifted.

    Start: the brick lies anywhere in a square of 20 cm, and the tool is anywhere in a box 20 to
    40 cm above; the hand points down, its fingers are open by any amount.

    Success: the lowest corner is 30 cm above where it lay.

    Observation: the robot's own, and the brick's velocities and pose.
    """

    areas: ClassVar[Areas] = {"tcp": TOOL_BOX, "prop": ((-0.1, -0.1, 0.0), (0.1, 0.1, 0.0))}

    @property
    def thing(self) -> str:
        return brick_name(0)

    def furnish(self, scene: Spec) -> None:
        add_part(scene, brick(corners=True), self.thing, free=True)

    def scripted_policy(self) -> StagedPolicy:
        return lift_brick(self, self.thing)


@features_and_vision("lift_large_box", "Raise by 30 cm a box that is too large to grasp")
@dataclass(frozen=True)
class LiftLargeBox(Lift):
    """Raise by 30 cm a box that is too large for the hand to close on.

    Reward: how much of the 30 cm the box's lowest corner has been lifted.

    Start: the box, a cube of 18 cm and 1.3 kg, stands anywhere in a square of 20 cm, and the tool
    is anywhere in a box 20 to 40 cm above; the hand points down, its fingers are open by any
    amount.

    Success: the lowest corner is 30 cm above where it was.

    Observation: the robot's own, and the box's velocities and pose.
    """

    areas: ClassVar[Areas] = {
        "tcp": TOOL_BOX,
        "prop": ((-0.1, -0.1, LARGE_BOX_HALF_SIZE[2]), (0.1, 0.1, LARGE_BOX_HALF_SIZE[2])),
    }

    @property
    def thing(self) -> str:
        return LARGE_BOX

    def furnish(self, scene: Spec) -> None:
        add_large_box(scene)


HIGH = 0.36  # m, over the work top, final height of the brick


def lift_brick(task: Scene, name: str) -> StagedPolicy:
    """Grasp a brick by its long sides and lift it."""

    def stages(observation: Observation, hand: Hand) -> list[Stage]:
        brick = Brick.named(name, observation, hand)
        place, turn = brick.grip()
        carry = Stage(at_height(hand.position, HIGH), CLOSE, turn, lost=brick.lost)
        return [*grasp(hand, place, turn), carry]

    return StagedPolicy(velocity_arm(task, HELD), stages)
