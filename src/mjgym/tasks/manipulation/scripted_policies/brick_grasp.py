"""A brick in the Jaco's hand: thumb and two fingers hold it by its long sides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage
from mjgym.rotations import (
    compose,
    from_rotation_vector,
    norm,
    quaternion_to_rotation_vector,
    to_local,
    to_rotation_vector,
    to_world,
    transposed,
)
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import VelocityArm

Reading = Callable[[Observation], np.ndarray]

BETWEEN = np.array([0.0, -0.0145, 0.0])  # m, of the middle between the tips, in the hand's frame
GRASP_HEIGHT = 0.003  # m, of the hand's frame over the middle of a brick that it grasps
ABOVE = 0.06  # m, over that, before the hand descends
HELD = (1.35, 1.14, 1.14)  # rad, of thumb and fingers: the thumb presses against the fingers
HALF_OPEN = 0.25  # of the fingers: they pass a brick with 11 mm on either side
CLOSING = 7  # control steps before the fingers may be at rest because they hold something
AT_REST = 0.1  # rad/s, of a finger
STRAIGHT = 0.06  # rad, of a hand that is turned as asked
LOST = 0.035  # m, from the hand to the middle of a brick that has slipped away
HALF_TURN_ABOUT_Z = np.array([-1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0])
DOWN = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""The rotation of a hand that points down, whose fingers close along the world's y."""


@dataclass(frozen=True)
class Brick:
    """A brick that an arm moves.

    Args:
        arm: the arm.
        position: the entry of the middle of the brick, or a function of the observation, (..., 3).
        quaternion: the same, of its orientation, (..., 4).
    """

    arm: VelocityArm
    position: Reading
    quaternion: Reading

    @classmethod
    def named(cls, arm: VelocityArm, name: str) -> "Brick":
        """The brick of a name."""
        return cls(
            arm,
            lambda observation: observation[f"{name}/position"],
            lambda observation: observation[f"{name}/orientation"],
        )

    def rotation(self, observation: Observation) -> np.ndarray:
        """Its rotation, (..., 9)."""
        vector = quaternion_to_rotation_vector(self.quaternion(observation))
        return np.asarray(from_rotation_vector(vector))

    def heading(self, observation: Observation) -> np.ndarray:
        """The angle of its short side's direction about the vertical, (...) rad."""
        rotation = self.rotation(observation)
        return np.asarray(np.arctan2(rotation[..., 3], rotation[..., 0]))

    def hand(self, observation: Observation) -> np.ndarray:
        """The rotation of a hand that points down and closes along its short side, (..., 9)."""
        x = self.arm.rotation(observation)[..., 0::3]
        now = np.arctan2(x[..., 1], x[..., 0])
        return pointing_down(now + smallest_angle(self.heading(observation) - now))

    def turn(self, observation: Observation) -> np.ndarray:
        """The turn of the hand to the grasp, (..., 3) rad."""
        return self.arm.turn_to(observation, self.hand(observation))

    def grip(self, observation: Observation) -> np.ndarray:
        """The hand's position at the grasp, (..., 3) m."""
        aside = to_world(self.hand(observation), BETWEEN)
        up = np.array([0.0, 0.0, GRASP_HEIGHT])
        return np.asarray(self.position(observation) - aside + up)

    def in_hand(self, observation: Observation) -> np.ndarray:
        """Its position from where it is held, in the hand's frame, (..., 3) m."""
        away = self.position(observation) - self.arm.position(observation)
        return np.asarray(to_local(self.arm.rotation(observation), away) - BETWEEN)


def pointing_down(heading: np.ndarray) -> np.ndarray:
    """The rotation of a hand that points down and closes along a heading, (...) rad to (..., 9)."""
    cos, sin, zero = np.cos(heading), np.sin(heading), np.zeros_like(heading)
    return np.stack([cos, sin, zero, sin, -cos, zero, zero, zero, zero - 1], axis=-1)


def smallest_angle(angle: np.ndarray, symmetry: float = np.pi) -> np.ndarray:
    """The equivalent angle of least size under a rotational symmetry, rad."""
    return np.asarray((angle + symmetry / 2) % symmetry - symmetry / 2)


def lost(brick: Brick) -> Reading:
    """Whether the brick is no longer between the fingers."""
    return lambda observation: norm(brick.in_hand(observation)) > LOST


def holding(arm: VelocityArm) -> Reading:
    """Whether all fingers have come to rest."""
    entry = f"{arm.robot.hand_name}/joints_vel"
    return lambda observation: (np.abs(observation[entry]) < AT_REST).all(axis=-1)


def grasp(brick: Brick, fingers: float = HALF_OPEN) -> tuple[Stage, ...]:
    """Stages that grasp a brick: above it, down to it, close the fingers."""

    def above(observation: Observation) -> np.ndarray:
        return np.asarray(brick.grip(observation) + np.array([0.0, 0.0, ABOVE]))

    return (
        Stage(above, fingers, brick.turn, near=0.02, straight=0.15),
        Stage(brick.grip, fingers, brick.turn, near=0.005, straight=STRAIGHT),
        Stage(
            brick.grip,
            CLOSE,
            brick.turn,
            near=np.inf,
            steps=CLOSING,
            until=holding(brick.arm),
        ),
    )
