"""Place a brick on a pedestal and release it."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Literal

from mjgym.mjcf import Spec, load
from mjgym.resets import place_bodies, settle
from mjgym.rewards import tolerance
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.arm_scene import Areas, Scene, features_and_vision
from mjgym.tasks.manipulation.bricks import brick, brick_name
from mjgym.tasks.manipulation.props import prop_observation
from mjgym.tasks.manipulation.scripted_policies import placing_brick
from mjgym.util.values import one_of

BRICK = brick_name(0)
PEDESTAL = "pedestal"  # its frame body, "pedestal/", is moved by body_pos
TARGET = "pedestal/target"  # site of the target position
CLOSE = 0.05  # m, distance at which two points coincide
AWAY = 4 * CLOSE  # m, from the target, at which the hand has let go
AWAY_MARGIN = 3 * CLOSE  # m
PLACED_WEIGHT = 10.0  # weight of the placed brick, relative to grasping it or letting go there
ATTEMPTS = 50  # to find a place for the brick

Top = Literal["brick", "cradle"]


def add_pedestal(scene: Spec, top: Top) -> str:
    """Add a post with its frame at the target point and a top, a fixed brick or a cradle of three
    balls; return its name.
    """
    one_of("top", top, ("brick", "cradle"))
    post = load("manipulation/pedestal.xml")
    if top == "brick":
        add_part(post, brick(), "duplo2x4")
    else:
        add_part(post, load("manipulation/cradle.xml"), "cradle")
    add_part(scene, post, PEDESTAL)
    return PEDESTAL


@features_and_vision("place_brick", "Place a brick on the studs of another", top="brick")
@features_and_vision("place_cradle", "Place a brick into a cradle of three balls", top="cradle")
@dataclass(frozen=True)
class Place(Scene):
    """Place a brick on a pedestal: on a brick's studs, or into a cradle of three balls.

    Reward: (grasp (1 - placed) + away placed + 10 placed) / 11. `grasp` is 1 with the tool within
    5 cm of the middle of the brick's underside, `placed` with that within 5 cm of the target, both
    0.1 at 10 cm; `away` is 1 with the tool 20 cm from the target and more, 0.1 at 5 cm.

    Start: the target on its pedestal anywhere in a box of 20 x 20 x 10 cm, the brick anywhere in a
    square of 20 cm below, the tool anywhere in a box 17 to 40 cm above the work top; the hand
    points down, its fingers are open by any amount.

    Success: the brick is within 5 cm of the target, and the tool 20 cm away.

    Observation: the robot's own, the brick's velocities and pose, and `pedestal/position`, where
    the brick should be.
    """

    top: Top = "brick"  # of the pedestal, "brick" or "cradle"

    varies = ("body_pos",)
    areas: ClassVar[Areas] = {
        "tcp": ((-0.1, -0.1, 0.17), (0.1, 0.1, 0.4)),
        "prop": ((-0.1, -0.1, 1e-6), (0.1, 0.1, 1e-6)),
        "pedestal": ((-0.1, -0.1, 0.07), (0.1, 0.1, 0.17)),
    }

    def furnish(self, scene: Spec) -> None:
        add_part(scene, brick(), BRICK, free=True)
        add_pedestal(scene, self.top)

    def initialize(self, v: SingleView, rng: Any) -> None:
        body = f"{BRICK}/"
        place_bodies(
            v, rng, [f"{PEDESTAL}/"], self.areas["pedestal"], turned=False, ignored=[body]
        )  # fmt: skip
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)
        place_bodies(v, rng, [body], self.areas["prop"], attempts=ATTEMPTS)
        settle(v, [body])

    def observe_things(self, v: View) -> Arrays:
        return {**prop_observation(v, BRICK), "pedestal/position": v.site(TARGET).xpos}

    def terms(self, v: View) -> Arrays:
        brick, target, tool = v.body(f"{BRICK}/").xpos, v.site(TARGET).xpos, self.tool_position(v)

        def together(a: Array, b: Array) -> Array:
            return tolerance(norm(a - b), (0, CLOSE), margin=CLOSE, sigmoid="long_tail")

        away = tolerance(
            norm(tool - target), (AWAY, inf), margin=AWAY_MARGIN, sigmoid="long_tail"
        )  # fmt: skip
        return {"grasp": together(brick, tool), "placed": together(brick, target), "away": away}

    def reward(self, terms: Arrays) -> Array:
        grasp, placed, away = terms["grasp"], terms["placed"], terms["away"]
        return (grasp * (1 - placed) + away * placed + PLACED_WEIGHT * placed) / (PLACED_WEIGHT + 1)

    def success(self, v: View) -> Array:
        terms = self.terms(v)
        return (terms["placed"] == 1) & (terms["away"] == 1)

    def scripted_policy(self) -> StagedPolicy:
        return placing_brick.place(self, BRICK, self.top)
