"""Reach for a place, or for a brick."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.mjcf import Spec, add
from mjgym.resets import place_bodies, settle
from mjgym.rewards import tolerance
from mjgym.robots.staged_policy import OPEN, Stage, StagedPolicy
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.arm_scene import Areas, Scene, features_and_vision
from mjgym.tasks.manipulation.bricks import brick, brick_name
from mjgym.tasks.manipulation.props import prop_observation
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm

RADIUS = 0.05  # m, from the target, within which it is reached
TARGET = "target_site"
BRICK = brick_name(0)


@dataclass(frozen=True)
class Reach(Scene):
    """Bring the hand to a target."""

    def target(self, v: View) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define target()")

    def distance(self, v: View) -> Array:
        return norm(self.tool_position(v) - self.target(v))

    def terms(self, v: View) -> Arrays:
        return {"near": tolerance(self.distance(v), (0, RADIUS), margin=RADIUS)}

    def success(self, v: View) -> Array:
        return self.distance(v) <= RADIUS


@features_and_vision("reach_site", "Bring the hand to a place in the air")
@dataclass(frozen=True)
class ReachSite(Reach):
    """Bring the hand to a place in the air.

    Reward: 1 within 5 cm of the target, 0.1 at 10 cm.

    Start: the tool and the target each anywhere in a box of 40 x 40 x 38 cm over the work top; the
    hand points down, its fingers are open by any amount.

    Success: the tool is within 5 cm of the target.

    Observation: the robot's own, and `target_position`, where the tool should be.
    """

    varies = ("site_pos",)
    areas: ClassVar[Areas] = {
        "tcp": ((-0.2, -0.2, 0.02), (0.2, 0.2, 0.4)),
        "target": ((-0.2, -0.2, 0.02), (0.2, 0.2, 0.4)),
    }

    def mark(self, scene: Spec) -> None:
        add(
            scene.worldbody, "site", name=TARGET, pos=self.areas["target"][1],
            size=(RADIUS, 0, 0), rgba=(0.2, 0.8, 0.2, 0.5),
        )  # fmt: skip

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)
        v.site(TARGET).pos = rng.uniform(*self.areas["target"])

    def target(self, v: View) -> Array:
        return v.site(TARGET).xpos

    def observe_goal(self, v: View) -> Arrays:
        return {"target_position": self.target(v)}

    def scripted_policy(self) -> StagedPolicy:
        return reach(self, "target_position")


@features_and_vision("reach_duplo", "Bring the hand to a brick")
@dataclass(frozen=True)
class ReachDuplo(Reach):
    """Bring the hand to a brick.

    Reward: 1 within 5 cm of the middle of the brick's underside, 0.1 at 10 cm.

    Start: the tool anywhere in a box 20 to 40 cm over the brick, which lies anywhere in a square of
    20 cm; the hand points down, its fingers are open by any amount.

    Success: the tool is within 5 cm of the brick.

    Observation: the robot's own, and the brick's velocities and pose.
    """

    areas: ClassVar[Areas] = {
        "tcp": ((-0.1, -0.1, 0.2), (0.1, 0.1, 0.4)),
        "target": ((-0.1, -0.1, 0.001), (0.1, 0.1, 0.001)),
    }

    def furnish(self, scene: Spec) -> None:
        part = brick()
        add(part.worldbody, "site", name=TARGET, size=(RADIUS, 0, 0), group=3)
        add_part(scene, part, BRICK, free=True)

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)
        place_bodies(v, rng, [f"{BRICK}/"], self.areas["target"])
        settle(v, [f"{BRICK}/"])

    def target(self, v: View) -> Array:
        return v.body(f"{BRICK}/").xpos

    def observe_things(self, v: View) -> Arrays:
        return prop_observation(v, BRICK)

    def scripted_policy(self) -> StagedPolicy:
        return reach(self, f"{BRICK}/position")


def reach(task: Scene, target: str) -> StagedPolicy:
    """Move the hand straight to the target, an entry of the observation, at its orientation."""
    return StagedPolicy(
        velocity_arm(task), lambda observation, hand: [Stage(observation[target], OPEN)]
    )
