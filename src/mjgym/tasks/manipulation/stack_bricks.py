"""Stack bricks in the order that translucent bricks show."""

import functools
from dataclasses import dataclass
from typing import Any

from mjgym.resets import settle
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.sim.single import SingleView
from mjgym.tasks.manipulation.arm_scene import features_and_vision
from mjgym.tasks.manipulation.brick_scene import BrickScene
from mjgym.tasks.manipulation.bricks import CLOSE_WEIGHT, Base, Bricks
from mjgym.tasks.manipulation.scripted_policies import stacking


@features_and_vision("stack_2_bricks", "Press a brick onto one that is fixed, as shown", bricks=2)
@features_and_vision(
    "stack_2_bricks_moveable_base",
    "Press two loose bricks onto each other, as shown",
    bricks=2,
    moveable_base=True,
)
@features_and_vision("stack_3_bricks", "Stack three bricks, as shown", bricks=3)
@features_and_vision(
    "stack_3_bricks_random_order",
    "Stack three bricks in a random order, as shown",
    bricks=3,
    random_order=True,
)
@features_and_vision(
    "stack_2_of_3_bricks_random_order",
    "Stack two of three bricks, as shown",
    bricks=3,
    stack_height=2,
    random_order=True,
)
@dataclass(frozen=True)
class Stack(BrickScene):
    """Press bricks onto each other, as a stack of translucent bricks shows.

    Reward: the mean over neighbours in the wanted stack of (0.1 close + click) / 1.1. With d the
    sum of the distances of two opposite studs of the lower brick from their holes in the upper one,
    the nearer way round, `close_1` (of the lowest pair) is 1 up to d = 1 cm and 0.1 at 11 cm,
    `click_1` 1 up to 1 mm and 0.1 at 2 mm.

    Start: the bricks lie anywhere in a square of 20 cm, turned by any angle; the lowest one of the
    wanted stack is fixed to the work top unless `moveable_base`. The tool is anywhere in a box 15
    to 40 cm above; the hand points down, its fingers are open by any amount. With `random_order`
    the wanted bricks and their order are drawn; else they are red, green, blue, cyan, magenta from
    the bottom.

    Success: all neighbours of the wanted stack have snapped together, to 1 mm.

    Observation: with `random_order` the numbers of the wanted bricks from the bottom; the robot's
    own; velocities and pose of each brick.
    """

    stack_height: int = 0  # of the wanted stack in bricks, 2 or more; 0 for all of them
    moveable_base: bool = False  # whether its lowest brick is free to move

    close_weight = CLOSE_WEIGHT

    @functools.cached_property
    def pile(self) -> Bricks:
        base: Base = "free" if self.moveable_base else "any" if self.random_order else "first"
        return Bricks(self.bricks, self.stack_height or self.bricks, base)

    def initialize(self, v: SingleView, rng: Any) -> None:
        pile = self.pile
        order = range(pile.height)
        if self.random_order:
            order = rng.permutation(pile.count)[: pile.height]
        pile.want(v, order)
        pile.place(v, rng, self.areas["prop"])
        settle(v, pile.free_joints)
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)
        self.show_goal(v, rng)

    def scripted_policy(self) -> StagedPolicy:
        return stacking.stack(self)
