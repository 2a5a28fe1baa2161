"""Scripted policy of Place: put a brick on a pedestal."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP, at_height
from mjgym.rotations import norm, to_local, to_world
from mjgym.tasks.manipulation.arm_scene import Scene
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import (
    FIST,
    HALF_OPEN,
    HELD,
    Brick,
    grasp,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import Hand, velocity_arm

LAID = {"brick": 0.034, "cradle": 0.032}  # m, over the target, of the release
CARRY = 0.08  # m, over the target, while the brick is carried there
CLEAR = 0.06  # m, over the target, clear of it
RETREAT = 0.26  # m, over the target, height of the retreat
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


def place(task: Scene, name: str, top: str) -> StagedPolicy:
    """Grasp the brick by its long sides, carry it over the pedestal's `top` (of `LAID`) and release
    it.

    A brick too near to the post for the fingers is drawn away first.
    """

    def stages(observation: Observation, hand: Hand) -> list[Stage]:
        brick, target = Brick.named(name, observation, hand), observation["pedestal/position"]
        tool, straight = hand.position, brick.straight()
        beside = norm(brick.position[..., 0:2] - tool[..., 0:2]) < BESIDE
        passing = np.where(beside, brick.position[..., 2] + OFF, target[..., 2] + CLEAR)
        rise = at_height(tool, np.maximum(tool[..., 2], passing))
        grip, turn = brick.grip()
        high = at_height(grip, rise[..., 2])
        held = tool - brick.position
        carried, laid = (target + above * UP + held for above in (CARRY, LAID[top]))
        lift = at_height(tool, carried[..., 2])
        away = at_height(tool, target[..., 2] + RETREAT)
        fallen = norm(brick.position - target) > ASTRAY
        return [
            Stage(rise, FIST, near=0.02),
            *draw_away(brick, target, rise[..., 2]),
            Stage(rise, FIST, near=0.02),
            Stage(high, HALF_OPEN, turn, near=0.03, straight=0.3),
            *grasp(hand, grip, turn),
            Stage(lift, CLOSE, straight, near=0.02, lost=brick.lost),
            Stage(carried, CLOSE, straight, near=0.02, lost=brick.lost),
            Stage(laid, CLOSE, straight, lost=brick.lost),
            Stage(tool, HALF_OPEN, steps=LETTING_GO),
            Stage(away, HALF_OPEN, lost=fallen),
        ]

    return StagedPolicy(velocity_arm(task, HELD), stages)


def draw_away(brick: Brick, post: np.ndarray, rise: np.ndarray) -> tuple[Stage, ...]:
    """Stages that draw a brick away from the post, (..., 3) m, with a fist that rises to `rise` (m)
    to pass over it; skipped if it is far enough.
    """
    hand = brick.hand
    way = (brick.position - post)[..., 0:2]
    distance = norm(way)
    free = np.asarray(distance > FREE)

    def outward(height: float, distance_outward: float) -> np.ndarray:
        """Hand position with the fist at a height over the brick and a distance outward."""
        aside = way * (distance_outward / np.maximum(distance, 1e-6))[..., None]
        flat = np.zeros_like(aside[..., 0:1])
        return np.asarray(brick.over(height) + np.concatenate([aside, flat], axis=-1))

    # Keep the two fingers from the post.
    local = to_local(hand.rotation, post - brick.position)
    angle = np.arctan2(local[..., 1], local[..., 0])
    angle = np.where(free, 0.0, angle - np.clip(angle, -BEYOND, BEYOND))
    turn = to_world(hand.rotation, angle[..., None] * UP)

    def there(place: np.ndarray) -> np.ndarray:
        near = norm(place - hand.position) < THERE
        return np.asarray(free | (near & (norm(turn) < TURNED)))

    above = outward(FIST_ABOVE, COMING_DOWN)
    high = at_height(above, rise)
    press, draw = outward(0.0, PRESSING), outward(0.0, PRESSING + AHEAD)
    touching = free | ((hand.position - brick.position)[..., 2] < TOUCHING)
    slipped = norm(brick.over(0.0) - hand.position) > SLIPPED
    drawn = (distance > DRAWN) | (free & slipped)
    undrawn = slipped & ~free
    return (
        Stage(high, FIST, turn, near=np.inf, until=there(high)),
        Stage(above, FIST, turn, near=np.inf, until=there(above)),
        Stage(press, FIST, turn, near=np.inf, until=touching),
        Stage(draw, FIST, turn, near=np.inf, until=drawn, lost=undrawn),
    )
