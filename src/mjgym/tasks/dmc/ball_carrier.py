"""Carrying of a ball by the planar arm: the scripted policy of manipulator-bring_ball.

The hand follows the ball from above, comes down around it, closes, and takes it to the target.
Joints turn at the rates that move the grip that way (damped least squares), and those that do not
matter for it straighten the arm. A ball that lies on the arm is let fall.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.controllers.linear_algebra import solve, times
from mjgym.rotations import smallest_angle

# The arm, see assets/dmc/common/planar_arm.xml. Links: upper, middle and lower arm, hand.
ROOT = np.array([0.0, 0.4])  # m, x and z
LENGTHS = np.array([0.18, 0.15, 0.12])  # m, of the links before the hand
GRIP = 0.085  # m from the wrist along the hand
CENTRES = np.array([0.09, 0.075, 0.06, 0.045])  # m, of mass, along each link
WEIGHTS = 9.81 * np.array([0.130, 0.078, 0.043, 0.031])  # N, the fingers with the hand
BALL_WEIGHT = 9.81 * 0.0446  # N
DAMPING = np.array([2.0, 1.5, 1.0, 0.5])  # N m s/rad
GEAR = np.array([12.0, 8.0, 4.0, 2.0])  # N m
LIMITS = np.array([np.inf, 2.3, 2.3, 2.0])  # rad, a little inside the joints' ranges
BENT = np.array([0.0, 1.0, 1.0, 1.0])  # joints to straighten: all but the root

BETWEEN = 0.025, 0.055, 0.108  # m, of a ball between the digits: most aside; along the hand
TOUCHED, STILL = 0.2, 1.3  # ln(1 + force (N)) on the digits and rad/s, of a closed hand
HOVER, ABOVE, SLOPE = 0.09, 0.008, 4.3  # m above a ball that is farther to the side than ABOVE
REACH = 0.4  # m from the middle: beyond it there are ramps
FLOOR = 0.025  # m, lowest grip
GAIN, TURN_GAIN, STRAIGHTEN = 17.0, 10.0, 2.0  # 1/s
FASTEST, CARRYING, TURNING = 2.5, 2.0, 8.0  # m/s, m/s, rad/s
FASTEST_BALL = 1.65  # m/s, to which the hand keeps up
LYING, BESIDE = 0.05, 0.06  # m, of a ball on the arm: at least so high, within so much of a link
SHAKE = 5.0  # 1/s, at which the arm rises and straightens to let it fall
DAMPED = 0.03  # m, of least squares
TURN_WEIGHT = 0.1  # m/rad, of the hand's direction beside its place; none while it carries
FEEDBACK = 0.2  # of the rates, as a share of the damping


def carry(observation: Mapping[str, Any]) -> np.ndarray:
    """Action, (..., 5) float32, for an observation."""
    seen = {name: np.asarray(x, np.float64) for name, x in observation.items()}
    ball, target = (seen[f"{name}_pos"][..., :2] for name in ("object", "target"))
    velocity = seen["object_vel"][..., :2] * (1, 0)
    angles = np.arctan2(seen["arm_pos"][..., :4, 0], seen["arm_pos"][..., :4, 1])
    turns = np.cumsum(angles, -1)  # of the links, from upright
    links = np.stack([-np.sin(turns), np.cos(turns)], -1)
    ends = ROOT + np.cumsum(LENGTHS[:, None] * links[..., :3, :], -2)
    joints = np.concatenate([np.broadcast_to(ROOT, ends[..., :1, :].shape), ends], -2)
    wrist, hand = joints[..., 3, :], links[..., 3, :]
    grip = wrist + GRIP * hand

    side, least, most = BETWEEN
    along = ((ball - wrist) * hand).sum(-1)
    between = np.abs(((ball - wrist) * _across(hand)).sum(-1)) < side
    between &= (least < along) & (along < most)
    closed = (seen["touch"][..., 1:].sum(-1) > TOUCHED) & (np.abs(seen["arm_vel"][..., 6]) < STILL)
    held = (between & closed)[..., None]

    beside = np.abs(grip[..., 0] - ball[..., 0])
    x = np.clip(ball[..., 0], -REACH, REACH)
    z = np.maximum(ball[..., 1], FLOOR) + np.clip(SLOPE * (beside - ABOVE), 0, HOVER)
    follow = GAIN * (np.stack([x, z], -1) - grip) + np.clip(velocity, -FASTEST_BALL, FASTEST_BALL)
    wanted = np.where(held, GAIN * (target - ball), follow)
    speed = np.linalg.norm(wanted, axis=-1, keepdims=True)
    wanted *= np.minimum(1, np.where(held, CARRYING, FASTEST) / np.maximum(speed, 1e-9))
    # The hand turns down the way round that leaves the joints after the root least bent.
    bend = angles[..., 1:].sum(-1, keepdims=True)
    turn = smallest_angle(np.pi - angles[..., :1], 2 * np.pi) - bend
    down = np.clip(TURN_GAIN * turn, -TURNING, TURNING)
    weight = np.where(held, 0.0, TURN_WEIGHT)

    moves = _across(grip[..., None, :] - joints)  # m/rad, of the grip
    task = np.concatenate([moves, np.broadcast_to(weight[..., None], moves[..., :1].shape)], -1).mT
    wanted = np.concatenate([wanted, weight * down], -1)
    straighten = -STRAIGHTEN * BENT * angles
    beyond = (np.abs(angles) > LIMITS) & (_rates(task, wanted, straighten) * angles > 0)
    rates = _rates(np.where(beyond[..., None, :], 0.0, task), wanted, straighten)

    lies = ~held & (ball[..., 1:] > LYING) & (_distance(ball, joints) < BESIDE)
    rates = np.where(lies, -SHAKE * angles, rates)

    lever = joints + CENTRES[:, None] * links
    lever = lever[..., None, :, 0] - joints[..., :, None, 0]
    load = (np.triu(np.ones((4, 4))) * lever * WEIGHTS).sum(-1)
    load += held * BALL_WEIGHT * (ball[..., None, 0] - joints[..., 0])
    torque = DAMPING * (rates + FEEDBACK * (rates - seen["arm_vel"][..., :4])) + load
    close = np.where(between, 1.0, -1.0)[..., None]
    action: np.ndarray = np.concatenate([np.clip(torque / GEAR, -1, 1), close], -1)
    return action.astype(np.float32)


def _across(r: np.ndarray) -> np.ndarray:
    """Vectors, (..., 2), a quarter of a turn on."""
    return np.stack([-r[..., 1], r[..., 0]], -1)


def _distance(point: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Distance, (..., 1), of a point, (..., 2), to the nearest link between ends, (..., n, 2)."""
    start, along = ends[..., :-1, :], np.diff(ends, axis=-2)
    offset = point[..., None, :] - start
    share = np.clip((offset * along).sum(-1) / (along * along).sum(-1), 0, 1)
    away = np.linalg.norm(offset - share[..., None] * along, axis=-1)
    nearest: np.ndarray = away.min(-1, keepdims=True)
    return nearest


def _rates(task: np.ndarray, wanted: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Rates of the joints, (..., 4), by damped least squares.

    Args:
        task: what each joint moves, (..., 3, 4).
        wanted: what is to move, (..., 3).
        free: rates to take as far as they leave the task alone, (..., 4).
    """
    square = task @ task.mT + DAMPED**2 * np.eye(3)
    rates: np.ndarray = free + times(task.mT, solve(square, wanted - times(task, free)))
    return rates
