"""Scripted policy of Place: put a brick on a pedestal."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.rotations import norm, to_local, to_world
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import (
    FIST,
    HALF_OPEN,
    HELD,
    Brick,
    Reading,
    grasp,
    lost,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import velocity_arm

if TYPE_CHECKING:
    from mjgym.tasks.manipulation.place import Place

LAID = {
    "brick": 0.034,
    "cradle": 0.032,
}  # m, over the target, of the release
CARRY = 0.08  # m, over the target, while the brick is carried there
CLEAR = 0.06  # m, over the target, clear of it
UP = 0.26  # m, over the target, height of the retreat
LETTING_GO = 8  # control steps
ASTRAY = 0.07  # m, from the target to a brick that has fallen off
BESIDE, OFF = 0.06, 0.06  # m, offset of a hand that need not pass the target; m, over the brick
FREE, DRAWN = 0.138, 0.15  # m, from the post's axis to a brick with room for the fingers
COMING_DOWN, PRESSING = 0.024, 0.018  # m, from the brick's centre outward, of the fist
FIST_ABOVE, TOUCHING = 0.04, 0.024  # m, of the fist over the brick's centre
THERE, TURNED = 0.012, 0.15  # m, rad, tolerance of the fist's pose before it descends
BEYOND = 1.7  # rad, from the fist's thumb to the post: beyond, the fingers would touch it
AHEAD = 0.05  # m, outward offset of the fist's goal at the height of the brick's centre
SLIPPED = 0.035  # m, from the fist to the centre of a brick that it has lost


def place(task: "Place", brick_name: str) -> StagedPolicy:
    """Grasp the brick by its long sides, carry it over the pedestal and release it.

    A brick too near to the post for the fingers is drawn away first.
    """
    arm = velocity_arm(task, HELD)
    brick = Brick.named(arm, brick_name)
    dropped = lost(brick)

    def over(observation: Observation, height: float) -> np.ndarray:
        """Hand position with the brick over the target."""
        held = arm.position(observation) - brick.position(observation)
        up = np.array([0.0, 0.0, height])
        return np.asarray(observation["pedestal/position"] + up + held)

    def lift(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        height = over(observation, CARRY)[..., 2:3]
        return np.concatenate([tool[..., 0:2], height], axis=-1)

    def away(observation: Observation) -> np.ndarray:
        tool = arm.position(observation)
        height = observation["pedestal/position"][..., 2:3] + UP
        return np.concatenate([tool[..., 0:2], height], axis=-1)

    def rise(observation: Observation) -> np.ndarray:
        tool, thing = arm.position(observation), brick.position(observation)
        beside = norm(thing[..., 0:2] - tool[..., 0:2]) < BESIDE
        passing = observation["pedestal/position"][..., 2] + CLEAR
        height = np.maximum(tool[..., 2], np.where(beside, thing[..., 2] + OFF, passing))
        return np.concatenate([tool[..., 0:2], height[..., None]], axis=-1)

    def high(observation: Observation) -> np.ndarray:
        return np.concatenate([brick.grip(observation)[..., 0:2], rise(observation)[..., 2:3]], -1)

    def fallen(observation: Observation) -> np.ndarray:
        way = brick.position(observation) - observation["pedestal/position"]
        return np.asarray(norm(way) > ASTRAY)

    stages = (
        Stage(rise, FIST, near=0.02),
        *draw_away(brick, rise),
        Stage(rise, FIST, near=0.02),
        Stage(high, HALF_OPEN, brick.turn, near=0.03, straight=0.3),
        *grasp(brick),
        Stage(lift, CLOSE, brick.straight, near=0.02, lost=dropped),
        Stage(lambda seen: over(seen, CARRY), CLOSE, brick.straight, near=0.02, lost=dropped),
        Stage(lambda seen: over(seen, LAID[task.top]), CLOSE, brick.straight, lost=dropped),
        Stage(arm.position, HALF_OPEN, steps=LETTING_GO),
        Stage(away, HALF_OPEN, lost=fallen),
    )
    return StagedPolicy(arm, [stages])


def draw_away(brick: Brick, rise: Reading) -> tuple[Stage, ...]:
    """Stages that draw a brick away from the post with a fist; skipped if it is far enough.

    Args:
        brick: the brick.
        rise: hand position at a height clear of the brick.
    """
    arm = brick.arm

    def from_post(observation: Observation) -> np.ndarray:
        return (brick.position(observation) - observation["pedestal/position"])[..., 0:2]

    def free(observation: Observation) -> np.ndarray:
        return np.asarray(norm(from_post(observation)) > FREE)

    def outward(height: float, distance: float) -> Reading:
        """Hand position with the fist at a height over the brick and a distance outward."""

        def place(observation: Observation) -> np.ndarray:
            way = from_post(observation)
            way = way * (distance / np.maximum(norm(way), 1e-6))[..., None]
            aside = np.concatenate([way, np.zeros_like(way[..., 0:1])], axis=-1)
            return np.asarray(brick.over(observation, height) + aside)

        return place

    def turn(observation: Observation) -> np.ndarray:
        """Rotation of the hand that keeps its two fingers from the post, (..., 3) rad."""
        rotation = arm.rotation(observation)
        way = observation["pedestal/position"] - brick.position(observation)
        local = to_local(rotation, way)
        angle = np.arctan2(local[..., 1], local[..., 0])
        angle = np.where(free(observation), 0.0, angle - np.clip(angle, -BEYOND, BEYOND))
        zero = np.zeros_like(angle)
        return np.asarray(to_world(rotation, np.stack([zero, zero, angle], axis=-1)))

    above = outward(FIST_ABOVE, COMING_DOWN)

    def high(observation: Observation) -> np.ndarray:
        return np.concatenate([above(observation)[..., 0:2], rise(observation)[..., 2:3]], axis=-1)

    def at(place: Reading) -> Reading:
        def there(observation: Observation) -> np.ndarray:
            way = place(observation) - arm.position(observation)
            straight = norm(turn(observation)) < TURNED
            return np.asarray(free(observation) | ((norm(way) < THERE) & straight))

        return there

    def touching(observation: Observation) -> np.ndarray:
        height = (arm.position(observation) - brick.position(observation))[..., 2]
        return np.asarray(free(observation) | (height < TOUCHING))

    def slipped(observation: Observation) -> np.ndarray:
        away = brick.over(observation, 0.0) - arm.position(observation)
        return np.asarray(norm(away) > SLIPPED)

    def drawn(observation: Observation) -> np.ndarray:
        far = norm(from_post(observation)) > DRAWN
        return np.asarray(far | (free(observation) & slipped(observation)))

    def undrawn(observation: Observation) -> np.ndarray:
        return np.asarray(slipped(observation) & ~free(observation))

    return (
        Stage(high, FIST, turn, near=np.inf, until=at(high)),
        Stage(above, FIST, turn, near=np.inf, until=at(above)),
        Stage(outward(0.0, PRESSING), FIST, turn, near=np.inf, until=touching),
        Stage(outward(0.0, PRESSING + AHEAD), FIST, turn, near=np.inf, until=drawn, lost=undrawn),
    )
