"""Grasps of a brick by the Jaco's thumb and two fingers, on its long sides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage
from mjgym.rotations import (
    from_rotation_vector,
    norm,
    quaternion_to_rotation_vector,
    smallest_angle,
    to_local,
    to_world,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import VelocityArm

Reading = Callable[[Observation], np.ndarray]

BETWEEN = np.array([0.0, -0.0145, 0.0])  # m, centre between the fingertips, in the hand's frame
GRASP_HEIGHT = 0.003  # m, height of the hand's frame over the centre of a grasped brick
ABOVE = 0.035  # m, above the grasp, before the hand descends
HELD = (1.35, 1.14, 1.14)  # rad, of thumb and fingers: the thumb presses against the fingers
HALF_OPEN = 0.45  # opening of the fingers that passes a brick with 7 mm on either side
FIST = 0.83  # closing of the fingers to press from above
CLOSING = 5  # control steps before resting fingers count as holding
AT_REST = 0.2  # rad/s, of a finger
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


@dataclass(frozen=True)
class Brick:
    """A brick that an arm moves.

    Args:
        arm: the arm.
        position: entry of the brick's centre, or a function of the observation, (..., 3).
        quaternion: the same for its orientation, (..., 4).
        others: bricks that may obstruct the fingers.
    """

    arm: VelocityArm
    position: Reading
    quaternion: Reading
    others: tuple["Brick", ...] = ()

    @classmethod
    def named(cls, arm: VelocityArm, name: str) -> "Brick":
        """Look up a brick by name."""
        return cls(
            arm,
            lambda observation: observation[f"{name}/position"],
            lambda observation: observation[f"{name}/orientation"],
        )

    def rotation(self, observation: Observation) -> np.ndarray:
        """Rotation, (..., 9)."""
        vector = quaternion_to_rotation_vector(self.quaternion(observation))
        return np.asarray(from_rotation_vector(vector))

    def heading(self, observation: Observation) -> np.ndarray:
        """Angle of the direction of its short side about the vertical, (...) rad."""
        rotation = self.rotation(observation)
        return np.asarray(np.arctan2(rotation[..., 3], rotation[..., 0]))

    def grasp(self, observation: Observation) -> tuple[np.ndarray, np.ndarray]:
        """Cheapest grasp: the hand turns little, and no other brick obstructs it.

        Returns:
            The rotation of the hand, pointing down and closing along the brick's short side, (...,
            9),
            and its position, (..., 3) m.
        """
        x = self.arm.rotation(observation)[..., 0::3]
        now = np.arctan2(x[..., 1], x[..., 0])
        around = [points(other, observation, OUTLINE) for other in self.others]
        outlines = np.concatenate(around, axis=-2) if around else None
        ways = []
        for side in (0.0, np.pi):
            turn = smallest_angle(self.heading(observation) + side - now, 2 * np.pi)
            rotation = pointing_down(now + turn)
            for shift in SHIFTS:
                aside = to_world(rotation, BETWEEN + np.array([0.0, shift, 0.0]))
                place = self.position(observation) - aside + np.array([0.0, 0.0, GRASP_HEIGHT])
                cost = np.abs(turn) + abs(shift) / SHIFT_COST
                if outlines is not None:
                    cost = cost + hindrance(outlines, rotation, place)
                ways.append((cost, rotation, place))
        costs, rotations, places = (np.stack(each) for each in zip(*ways, strict=True))
        best = costs.argmin(axis=0)[None, ..., None]
        return (
            np.take_along_axis(rotations, best, axis=0)[0],
            np.take_along_axis(places, best, axis=0)[0],
        )

    def straight(self, observation: Observation) -> np.ndarray:
        """Rotation of the hand to point down and close along its short side, (..., 3) rad."""
        x = self.arm.rotation(observation)[..., 0::3]
        now = np.arctan2(x[..., 1], x[..., 0])
        turned = now + smallest_angle(self.heading(observation) - now, np.pi)
        return self.arm.turn_to(observation, pointing_down(turned))

    def over(self, observation: Observation, height: float) -> np.ndarray:
        """Position of the hand with its fingers over the centre of the brick, (..., 3) m."""
        aside = to_world(self.arm.rotation(observation), BETWEEN)
        up = np.array([0.0, 0.0, height])
        return np.asarray(self.position(observation) - aside + up)

    def turn(self, observation: Observation) -> np.ndarray:
        """Rotation of the hand to the grasp, (..., 3) rad."""
        return self.arm.turn_to(observation, self.grasp(observation)[0])

    def grip(self, observation: Observation) -> np.ndarray:
        """Position of the hand at the grasp, (..., 3) m."""
        return self.grasp(observation)[1]

    def moved(self, observation: Observation, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Position of the hand (..., 3) that brings the held brick to a place by a rotation."""
        held = self.arm.position(observation) - self.position(observation)
        return np.asarray(place + to_world(from_rotation_vector(turn), held))

    def in_hand(self, observation: Observation) -> np.ndarray:
        """Displacement from its grasped position, in the hand's frame, (..., 3) m."""
        away = self.position(observation) - self.arm.position(observation)
        return np.asarray(to_local(self.arm.rotation(observation), away) - BETWEEN)


def points(brick: Brick, observation: Observation, local: np.ndarray) -> np.ndarray:
    """World positions, (..., n, 3) m, of points of a brick (n, 3)."""
    rotation = brick.rotation(observation)[..., None, :]
    return np.asarray(brick.position(observation)[..., None, :] + to_world(rotation, local))


def hindrance(outlines: np.ndarray, rotation: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Cost of other bricks, by points of them, where the fingers come down, (...)."""
    deepest = np.zeros(place.shape[:-1])
    local = to_local(rotation[..., None, :], outlines - place[..., None, :])[..., 0:2]
    for low, high in FINGERS_COME_DOWN:
        depth = np.minimum(local - low, high - local).min(axis=-1).max(axis=-1)
        deepest = np.maximum(deepest, depth)
    return np.asarray(deepest / HINDRANCE)


def pointing_down(heading: np.ndarray) -> np.ndarray:
    """Rotation of a hand that points down and closes along a heading, (...) rad to (..., 9)."""
    cos, sin, zero = np.cos(heading), np.sin(heading), np.zeros_like(heading)
    return np.stack([cos, sin, zero, sin, -cos, zero, zero, zero, zero - 1], axis=-1)


def lost(brick: Brick) -> Reading:
    """Whether the brick is no longer between the fingers."""

    def away(observation: Observation) -> np.ndarray:
        return np.asarray(norm(brick.in_hand(observation)) > LOST)

    return away


def holding(arm: VelocityArm) -> Reading:
    """Whether all fingers have come to rest."""
    entry = f"{arm.robot.hand_name}/joints_vel"

    def at_rest(observation: Observation) -> np.ndarray:
        return np.asarray((np.abs(observation[entry]) < AT_REST).all(axis=-1))

    return at_rest


def grasp(brick: Brick, above: float = ABOVE) -> tuple[Stage, ...]:
    """Stages that grasp a brick: above it, down to it, close the fingers.

    Args:
        brick: the brick.
        above: height above the grasp before the hand descends, m.
    """

    def over(observation: Observation) -> np.ndarray:
        return np.asarray(brick.grip(observation) + np.array([0.0, 0.0, above]))

    return (
        Stage(over, HALF_OPEN, brick.turn, near=0.012, straight=0.15),
        Stage(brick.grip, HALF_OPEN, brick.turn, near=0.005, straight=STRAIGHT),
        Stage(
            brick.grip,
            CLOSE,
            brick.turn,
            near=np.inf,
            steps=CLOSING,
            until=holding(brick.arm),
        ),
    )
