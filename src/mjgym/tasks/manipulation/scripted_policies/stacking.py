"""Scripted policies of Stack: press bricks onto each other, one by one."""

from functools import partial

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Part, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP, rotation_between
from mjgym.rotations import norm, to_local, to_world
from mjgym.tasks.manipulation.brick_scene import BrickScene
from mjgym.tasks.manipulation.bricks import CLICK, HEIGHT, brick_name, pair_distance
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import ABOVE, FIST, HELD, Brick, grasp
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import Hand, velocity_arm

CARRY = 0.035  # m, over its place, while a brick is carried there
LOWER = 0.015  # m, below that, where it may move sideways
APPROACH = 0.008  # m, over its place, where it is aligned with the studs
ON_STUDS = 0.0045  # m, over its place, while resting on the studs
ASIDE, LEVEL = 0.001, 0.001  # m, tolerances of a brick on the studs
STRIKE = 0.02  # m, goal of a fist from above, below the brick's final position
EASE = 0.005  # m, rise of a hand while it opens
SLIPPED = 0.005  # m, of the hand along a brick that it presses
GONE = 0.02  # m, from its place, of a brick that is gone
LET_GO, OPENED = 0.45, 1.07  # slight opening of the fingers; rad, when it is reached
CLOSED = 1.2  # rad, of the fingers in a fist
FIST_ABOVE, RAISED = 0.03, 0.020  # m, of the hand over a brick's centre, with a free fist
DEEPER = 0.01  # m, goal of a pressing hand, below the final position
SNAPPED = 0.9 * CLICK  # m, `pair_distance` of bricks that have snapped together
STUDS = np.array([[-0.008, -0.024, 0.0119], [0.008, 0.024, 0.0119]])
HOLES = np.array([[-0.008, -0.024, -0.0073], [0.008, 0.024, -0.0073]])
"""Studs and holes at two opposite corners of a brick, from its middle, m."""
TURNED = np.array([-1.0, -1.0, 1.0] * 3)  # times a rotation (9,): half a turn about its z first


def stack(task: BrickScene) -> StagedPolicy:
    """Grasp each brick by its long sides and press it onto the one below."""
    parts: list[Part] = []
    for floor in range(1, task.pile.height):
        parts += [partial(_press, task, floor), partial(_strike, task, floor)]
    return StagedPolicy(velocity_arm(task, HELD), *parts)


def floors(task: BrickScene, observation: Observation, hand: Hand) -> list[Brick]:
    """Bricks of the goal stack, from the bottom; each observes all bricks."""
    names = [brick_name(i) for i in range(task.bricks)]
    bricks = [Brick.named(name, observation, hand) for name in names]
    poses = np.stack([brick.pose for brick in bricks], axis=-2)
    if task.random_order:
        order = observation["desired_order"].astype(np.int64)
        poses = np.take_along_axis(poses, order[..., None], axis=-2)
    return [Brick(hand, poses[..., i, :], others=bricks) for i in range(task.pile.height)]


class Pair:
    """A brick to press onto another one."""

    def __init__(self, lower: Brick, upper: Brick) -> None:
        self.lower, self.upper = lower, upper
        now, straight = upper.rotation, lower.rotation
        same = (now[..., 0::3] * straight[..., 0::3]).sum(axis=-1, keepdims=True) >= 0
        # Of the upper brick to the nearer of its two fits, (..., 3) rad.
        self.turn = rotation_between(now, np.where(same, straight, straight * TURNED))
        self.snapped = pair_distance(lower.points(STUDS), upper.points(HOLES)) < SNAPPED
        self.gone = norm(self.place(0.0) - upper.position) > GONE
        self.clear = (upper.hand.position - upper.position)[..., 2] > RAISED

    def place(self, above: float) -> np.ndarray:
        up = (HEIGHT + above) * UP
        return np.asarray(self.lower.position + to_world(self.lower.rotation, up))


def _press(task: BrickScene, floor: int, observation: Observation, hand: Hand) -> list[Stage]:
    """Grasp a brick, press it onto the one below and release it."""
    lower, upper = floors(task, observation, hand)[floor - 1 : floor + 1]
    pair = Pair(lower, upper)
    turn, lost, gone = pair.turn, upper.lost, pair.gone
    rest = pair.place(ON_STUDS)

    def at(place: np.ndarray) -> np.ndarray:
        return upper.moved(place, turn)

    climb = (pair.place(CARRY) - upper.position)[..., 2:3] * UP
    lifted = climb[..., 2] < LOWER
    aside = to_local(lower.rotation, upper.position - rest)
    lying = (norm(aside[..., 0:2]) < ASIDE) & (aside[..., 2] < LEVEL)
    laid = lying | (upper.in_hand[..., 2] < 0)
    pressed = pair.snapped | (upper.in_hand[..., 2] < -SLIPPED)
    opened = (hand.angles < OPENED).all(axis=-1) | pair.clear
    rising = hand.position + EASE * UP
    return [
        *grasp(hand, *upper.grip(), ABOVE + floor // 2 * HEIGHT),
        Stage(at(upper.position + climb), CLOSE, turn, near=np.inf, until=lifted, lost=lost),
        Stage(at(pair.place(APPROACH)), CLOSE, turn, near=0.003, straight=0.03, lost=lost),
        Stage(at(rest), CLOSE, turn, near=np.inf, until=laid, lost=lost),
        Stage(at(pair.place(-DEEPER)), CLOSE, turn, near=np.inf, until=pressed, lost=lost),
        Stage(rising, LET_GO, near=np.inf, until=opened, lost=gone),
        Stage(upper.over(FIST_ABOVE), LET_GO, near=np.inf, until=pair.clear, lost=gone),
    ]


def _strike(task: BrickScene, floor: int, observation: Observation, hand: Hand) -> list[Stage]:
    """Press a brick from above with the fingertips; skipped if it has snapped."""
    lower, upper = floors(task, observation, hand)[floor - 1 : floor + 1]
    pair = Pair(lower, upper)
    straight, gone = upper.straight(), pair.gone
    closed = (hand.angles > CLOSED).all(axis=-1) | pair.snapped
    low = to_local(lower.rotation, upper.position - pair.place(0.0))[..., 2] < 0
    high, deep = upper.over(FIST_ABOVE), upper.over(-STRIKE)
    again = np.asarray(pair.clear) & ~np.asarray(pair.snapped)
    return [
        Stage(high, FIST, straight, near=np.inf, until=closed, lost=gone),
        Stage(deep, FIST, straight, near=np.inf, until=low | pair.snapped, lost=gone),
        Stage(high, FIST, near=np.inf, until=pair.clear, lost=again),
    ]
