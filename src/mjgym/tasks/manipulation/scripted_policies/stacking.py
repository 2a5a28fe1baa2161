"""Scripted policies of Stack: press bricks onto each other, one by one."""

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.rotations import compose, norm, to_local, to_rotation_vector, to_world, transposed
from mjgym.tasks.manipulation.bricks import CLICK, HEIGHT, brick_name, pair_distance
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import (
    ABOVE,
    FIST,
    HELD,
    Brick,
    Reading,
    grasp,
    lost,
    points,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import VelocityArm, velocity_arm

if TYPE_CHECKING:
    from mjgym.tasks.manipulation.stack_bricks import Stack

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
"""Of a brick at two opposite corners, from its middle, m."""
TURNED = np.array([-1.0, -1.0, 1.0] * 3)  # times a rotation (9,): half a turn about its z first


def floors(arm: VelocityArm, task: "Stack") -> list[Brick]:
    """Bricks of the goal stack, from the bottom; each observes all bricks."""
    names = [brick_name(i) for i in range(task.bricks)]
    every = tuple(Brick.named(arm, name) for name in names)
    if not task.random_order:
        return [replace(brick, others=every) for brick in every[: task.pile.height]]
    return [_drawn(arm, every, floor) for floor in range(task.pile.height)]


def _drawn(arm: VelocityArm, bricks: tuple[Brick, ...], floor: int) -> Brick:
    """Brick of a floor, as drawn per episode."""

    def of(observation: Observation, readings: list[Reading]) -> np.ndarray:
        every = np.stack([reading(observation) for reading in readings], axis=-2)
        number = observation["desired_order"][..., floor].astype(np.int64)[..., None, None]
        return np.take_along_axis(every, number, axis=-2)[..., 0, :]

    return Brick(
        arm,
        lambda observation: of(observation, [brick.position for brick in bricks]),
        lambda observation: of(observation, [brick.quaternion for brick in bricks]),
        others=bricks,
    )


@dataclass(frozen=True)
class Pair:
    """A brick to press onto another one.

    Args:
        lower: the other one.
        upper: the brick.
    """

    lower: Brick
    upper: Brick

    def place(self, observation: Observation, above: float) -> np.ndarray:
        """Goal of the upper brick on the lower one, or above it, (..., 3) m."""
        up = np.array([0.0, 0.0, HEIGHT + above])
        rotation = self.lower.rotation(observation)
        return np.asarray(self.lower.position(observation) + to_world(rotation, up))

    def turn(self, observation: Observation) -> np.ndarray:
        """Rotation of the upper brick to the nearer of its two fits, (..., 3) rad."""
        now, straight = self.upper.rotation(observation), self.lower.rotation(observation)
        same = (now[..., 0::3] * straight[..., 0::3]).sum(axis=-1, keepdims=True) >= 0
        wanted = np.where(same, straight, straight * TURNED)
        return np.asarray(to_rotation_vector(compose(wanted, transposed(now))))

    def distance(self, observation: Observation) -> np.ndarray:
        """`pair_distance` of both, (...) m."""
        lower, upper = self.lower, self.upper
        studs = points(lower, observation, STUDS)
        return np.asarray(pair_distance(studs, points(upper, observation, HOLES)))

    def snapped(self, observation: Observation) -> np.ndarray:
        """Whether the upper brick has snapped onto the lower one, bool."""
        return np.asarray(self.distance(observation) < SNAPPED)


def press(pair: Pair) -> tuple[Stage, ...]:
    """Stages that press a held brick onto another and release it."""
    upper = pair.upper
    arm, dropped = upper.arm, lost(upper)

    def at(above: float) -> Reading:
        def target(observation: Observation) -> np.ndarray:
            return upper.moved(observation, pair.place(observation, above), pair.turn(observation))

        return target

    def up(observation: Observation) -> np.ndarray:
        place = upper.position(observation)
        lift = pair.place(observation, CARRY) - place
        place = place + np.array([0.0, 0.0, 1.0]) * lift
        return upper.moved(observation, place, pair.turn(observation))

    def lifted(observation: Observation) -> np.ndarray:
        way = pair.place(observation, CARRY) - upper.position(observation)
        return way[..., 2] < LOWER

    def laid(observation: Observation) -> np.ndarray:
        way = upper.position(observation) - pair.place(observation, ON_STUDS)
        aside = to_local(pair.lower.rotation(observation), way)
        lying = (norm(aside[..., 0:2]) < ASIDE) & (aside[..., 2] < LEVEL)
        return np.asarray(lying | (upper.in_hand(observation)[..., 2] < 0))

    def slipped(observation: Observation) -> np.ndarray:
        return upper.in_hand(observation)[..., 2] < -SLIPPED

    def over(height: float) -> Reading:
        return lambda observation: upper.over(observation, height)

    def pressed(observation: Observation) -> np.ndarray:
        return np.asarray(pair.snapped(observation) | slipped(observation))

    away, clear = gone(pair), raised(upper)

    return (
        Stage(up, CLOSE, pair.turn, near=np.inf, until=lifted, lost=dropped),
        Stage(at(APPROACH), CLOSE, pair.turn, near=0.003, straight=0.03, lost=dropped),
        Stage(at(ON_STUDS), CLOSE, pair.turn, near=np.inf, until=laid, lost=dropped),
        Stage(at(-DEEPER), CLOSE, pair.turn, near=np.inf, until=pressed, lost=dropped),
        Stage(rising(arm), LET_GO, near=np.inf, until=opened(upper), lost=away),
        Stage(over(FIST_ABOVE), LET_GO, near=np.inf, until=clear, lost=away),
    )


def strike(pair: Pair) -> tuple[Stage, ...]:
    """Stages that press a brick from above with the fingertips; skipped if it has snapped."""
    upper = pair.upper
    arm, away, clear = upper.arm, gone(pair), raised(upper)

    def over(height: float) -> Reading:
        return lambda observation: upper.over(observation, height)

    def closed(observation: Observation) -> np.ndarray:
        return (arm.angles(observation) > CLOSED).all(axis=-1) | pair.snapped(observation)

    def down(observation: Observation) -> np.ndarray:
        way = upper.position(observation) - pair.place(observation, 0.0)
        low = to_local(pair.lower.rotation(observation), way)[..., 2] < 0
        return np.asarray(low | pair.snapped(observation))

    def again(observation: Observation) -> np.ndarray:
        return np.asarray(clear(observation) & ~pair.snapped(observation))

    return (
        Stage(over(FIST_ABOVE), FIST, upper.straight, near=np.inf, until=closed, lost=away),
        Stage(over(-STRIKE), FIST, upper.straight, near=np.inf, until=down, lost=away),
        Stage(over(FIST_ABOVE), FIST, near=np.inf, until=clear, lost=again),
    )


def gone(pair: Pair) -> Reading:
    """Whether the upper brick is no longer on the lower one."""

    def far(observation: Observation) -> np.ndarray:
        way = pair.place(observation, 0.0) - pair.upper.position(observation)
        return np.asarray(norm(way) > GONE)

    return far


def stack(task: "Stack") -> StagedPolicy:
    """Grasp each brick by its long sides and press it onto the one below."""
    arm = velocity_arm(task, HELD)
    bricks = floors(arm, task)
    stages: list[Stage] = []
    parts = []
    for lower, upper in itertools.pairwise(bricks):
        pair = Pair(lower, upper)
        parts.append(len(stages))
        stages += [*grasp(upper, ABOVE + len(parts) // 2 * HEIGHT), *press(pair)]
        parts.append(len(stages))
        stages += strike(pair)
    return StagedPolicy(arm, [stages], parts=parts[1:])


def rising(arm: VelocityArm) -> Reading:
    """Position slightly above the hand."""
    return lambda observation: arm.position(observation) + np.array([0.0, 0.0, EASE])


def opened(brick: Brick) -> Reading:
    """Whether the fingers have released a brick, or are above it."""
    above = raised(brick)

    def free(observation: Observation) -> np.ndarray:
        return (brick.arm.angles(observation) < OPENED).all(axis=-1) | above(observation)

    return free


def raised(brick: Brick) -> Reading:
    """Whether the fingers are above a brick."""

    def above(observation: Observation) -> np.ndarray:
        height = brick.arm.position(observation) - brick.position(observation)
        return height[..., 2] > RAISED

    return above
