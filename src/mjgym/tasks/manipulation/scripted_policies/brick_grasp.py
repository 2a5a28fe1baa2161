"""Grasps of a brick by the Jaco's thumb and two fingers, on its long sides."""

from collections.abc import Sequence

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage
from mjgym.robots.tool_poses import UP, heading_of_x, pointing_down
from mjgym.rotations import (
    from_rotation_vector,
    norm,
    quaternion_to_rotation_vector,
    smallest_angle,
    to_local,
    to_world,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import Hand

BETWEEN = np.array([0.0, -0.0145, 0.0])  # m, centre between the fingertips, in the hand's frame
GRASP_HEIGHT = 0.003  # m, height of the hand's frame over the centre of a grasped brick
ABOVE = 0.035  # m, above the grasp, before the hand descends
HELD = (1.35, 1.14, 1.14)  # rad, of thumb and fingers: the thumb presses against the fingers
HALF_OPEN = 0.45  # opening of the fingers that passes a brick with 7 mm on either side
FIST = 0.83  # closing of the fingers to press from above
CLOSING = 5  # control steps before resting fingers count as holding
STRAIGHT = 0.06  # rad, tolerance of the hand's orientation
LOST = 0.035  # m, from the hand to the centre of a lost brick
SHIFTS = (0.0, 0.012, -0.012)  # m, shifts of the grasp along the brick
SHIFT_COST = 0.02  # m/rad, cost of a shift in units of the hand's rotation
HINDRANCE = 0.002  # m/rad, cost of obstacles in the same units
FINGERS_COME_DOWN = np.array(
    [
        [[0.022, -0.017], [0.041, 0.005]],
        [[-0.041, -0.049], [-0.022, -0.027]],
        [[-0.041, -0.003], [-0.022, 0.019]],
    ]
)
"""Rectangles in the hand's frame, low and high x and y, m, where thumb and fingers come down."""
OUTLINE = np.array(
    [[x, y, 0.0] for x in (-0.0159, 0.0, 0.0159) for y in (-0.0318, -0.0159, 0, 0.0159, 0.0318)]
)
"""Points of a brick that others see, from its middle, m."""


class Brick:
    """A brick at the time of an observation, and the hand that moves it.

    Args:
        pose: centre of the brick, m, and its orientation, w, x, y, z, (..., 7).
        others: bricks that may obstruct the fingers.
    """

    def __init__(self, hand: Hand, pose: np.ndarray, others: Sequence["Brick"] = ()) -> None:
        self.hand, self.pose, self.others = hand, pose, others
        self.position = pose[..., 0:3]  # of its centre, m
        self.rotation = from_rotation_vector(quaternion_to_rotation_vector(pose[..., 3:7]))
        self.heading = heading_of_x(self.rotation)  # of its short side, (...) rad
        # Displacement from its grasped position, in the hand's frame, (..., 3) m.
        self.in_hand = to_local(hand.rotation, self.position - hand.position) - BETWEEN
        self.lost = norm(self.in_hand) > LOST  # no longer between the fingers, (...)

    @classmethod
    def named(cls, name: str, observation: Observation, hand: Hand) -> "Brick":
        pose = [observation[f"{name}/{entry}"] for entry in ("position", "orientation")]
        return cls(hand, np.concatenate(pose, axis=-1))

    def grip(self) -> tuple[np.ndarray, np.ndarray]:
        """Cheapest grasp: the hand turns little, and no other brick obstructs it.

        Position of the hand, (..., 3) m, and its rotation vector, (..., 3) rad, to point down and
        close along the brick's short side.
        """
        now = self.hand.heading
        around = [other.points(OUTLINE) for other in self.others]
        outlines = np.concatenate(around, axis=-2) if around else None
        ways = []
        for side in (0.0, np.pi):
            turn = smallest_angle(self.heading + side - now, 2 * np.pi)
            rotation = pointing_down(now + turn)
            for shift in SHIFTS:
                aside = to_world(rotation, BETWEEN + np.array([0.0, shift, 0.0]))
                place = self.position - aside + GRASP_HEIGHT * UP
                cost = np.abs(turn) + abs(shift) / SHIFT_COST
                if outlines is not None:
                    cost = cost + hindrance(outlines, rotation, place)
                ways.append((cost, rotation, place))
        costs, rotations, places = (np.stack(values) for values in zip(*ways, strict=True))
        best = costs.argmin(axis=0)[None, ..., None]
        rotation, place = (
            np.take_along_axis(values, best, axis=0)[0] for values in (rotations, places)
        )
        return place, self.hand.turn_to(rotation)

    def straight(self) -> np.ndarray:
        """Rotation of the hand to point down and close along its short side, (..., 3) rad."""
        now = self.hand.heading
        turned = now + smallest_angle(self.heading - now, np.pi)
        return self.hand.turn_to(pointing_down(turned))

    def over(self, height: float) -> np.ndarray:
        return np.asarray(self.position - to_world(self.hand.rotation, BETWEEN) + height * UP)

    def moved(self, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Position of the hand (..., 3) that brings the held brick to a place by a rotation."""
        held = self.hand.position - self.position
        return np.asarray(place + to_world(from_rotation_vector(turn), held))

    def points(self, local: np.ndarray) -> np.ndarray:
        """World positions, (..., n, 3) m, of points in its frame (n, 3)."""
        return np.asarray(
            self.position[..., None, :] + to_world(self.rotation[..., None, :], local)
        )


def hindrance(outlines: np.ndarray, rotation: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Cost of other bricks, by points of them, where the fingers come down, (...)."""
    deepest = np.zeros(place.shape[:-1])
    local = to_local(rotation[..., None, :], outlines - place[..., None, :])[..., 0:2]
    for low, high in FINGERS_COME_DOWN:
        depth = np.minimum(local - low, high - local).min(axis=-1).max(axis=-1)
        deepest = np.maximum(deepest, depth)
    return np.asarray(deepest / HINDRANCE)


def grasp(
    hand: Hand, place: np.ndarray, turn: np.ndarray, above: float = ABOVE
) -> tuple[Stage, ...]:
    """Stages that grasp a brick: above it (m), down to it, close the fingers.

    The hand comes to `place`, (..., 3) m, by the rotation vector `turn`, (..., 3) rad.
    """
    return (
        Stage(place + above * UP, HALF_OPEN, turn, near=0.012, straight=0.15),
        Stage(place, HALF_OPEN, turn, near=0.005, straight=STRAIGHT),
        Stage(place, CLOSE, turn, near=np.inf, steps=CLOSING, until=hand.at_rest),
    )
