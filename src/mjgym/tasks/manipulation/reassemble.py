"""Take a stack of bricks apart and put it together in another order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.resets import random_pose
from mjgym.sim.single import SingleView
from mjgym.tasks.manipulation.arm_scene import features_and_vision
from mjgym.tasks.manipulation.brick_scene import BrickScene
from mjgym.tasks.manipulation.bricks import random_turns, stack_poses


@features_and_vision(
    "reassemble_3_bricks_fixed_order",
    "Put a stack of three bricks into a fixed order",
    bricks=3,
)
@features_and_vision(
    "reassemble_5_bricks_random_order",
    "Put a stack of five bricks into a random order",
    bricks=5,
    random_order=True,
)
@dataclass(frozen=True)
class Reassemble(BrickScene):
    """Put the bricks of a stack into the order that translucent bricks show.

    Reward: the mean over neighbours in the wanted stack of `click_1` (of the lowest pair),
    `click_2`, ...: 1 while one brick has snapped onto the other to 1 mm, 0.1 at 2 mm, where what
    is measured is the sum of the distances of two opposite studs from their holes, the nearer way
    round.

    Start: the stack stands anywhere in a square of 20 cm, turned by any angle, its lowest brick
    fixed to the work top, each other one turned by 180 degrees or not. The tool is anywhere in a
    box 15 to 40 cm above; the hand points down, its fingers are open by any amount. Without
    `random_order` the stack is red, green, blue, ... from the bottom, and the goal is red, then the
    rest in reverse. With it both orders are drawn, except for the lowest brick, which stays; so the
    stack is right from the start in one episode of 24, of 5 bricks.

    Success: all neighbours of the wanted stack have snapped together, to 1 mm.

    Observation: with `random_order` the numbers of the wanted bricks from the bottom; the robot's
    own; velocities and pose of each brick.
    """

    bricks: int = 3  # number, 2 to 5

    def initialize(self, v: SingleView, rng: Any) -> None:
        pile = self.pile
        stacked, wanted = self._orders(rng)
        pile.want(v, wanted)
        pose = random_pose(rng, self.areas["prop"])
        pile.put_stack(v, stacked, stack_poses(*pose, random_turns(rng, pile.count)))
        self.show_goal(v, rng)
        self.draw_fingers(v, rng)
        self.place_hand(v, rng)

    def _orders(self, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """Brick numbers from the bottom, as stacked at the start and as the goal."""
        if not self.random_order:
            stacked = np.arange(self.bricks)
            return stacked, np.append(0, stacked[:0:-1])
        stacked = rng.permutation(self.bricks)
        return stacked, np.append(stacked[0], rng.permutation(stacked[1:]))
