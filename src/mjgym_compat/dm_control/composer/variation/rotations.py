"""Variations of orientations, as quaternions."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate

IDENTITY_QUATERNION = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(eq=False)
class UniformQuaternion(Variation):
    """A uniformly distributed rotation (Shoemake, 1992)."""

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> np.ndarray:
        upper = [1.0, 2 * np.pi, 2 * np.pi]
        u, first, second = (random_state or np.random).uniform([0.0, 0.0, 0.0], upper)
        a, b = np.sqrt(1 - u), np.sqrt(u)
        return np.array(
            [a * np.sin(first), a * np.cos(first), b * np.sin(second), b * np.cos(second)]
        )


@dataclass(eq=False)
class QuaternionFromAxisAngle(Variation):
    """A rotation about an axis by an angle, rad; both may be variations."""

    axis: Any
    angle: Any

    def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        axis = np.asarray(evaluate(self.axis, *args, **kwargs), np.float64)
        half = 0.5 * evaluate(self.angle, *args, **kwargs)
        return np.append(np.cos(half), np.sin(half) * axis / np.linalg.norm(axis))


@dataclass(eq=False)
class QuaternionPreMultiply(Variation):
    """The initial or current orientation, rotated by a quaternion in the world's frame."""

    quat: Any
    cumulative: bool = False

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> np.ndarray:
        turn = np.asarray(evaluate(self.quat, initial_value, current_value, random_state), float)
        base = current_value if self.cumulative else initial_value
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, turn, np.asarray(base, np.float64))
        return turned


@dataclass(eq=False)
class QuaternionRotate(Variation):
    """A vector turned by a quaternion."""

    quat: Any
    vec: Any = None
    cumulative: bool = False

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> np.ndarray:
        given = initial_value, current_value, random_state
        base = current_value if self.cumulative else initial_value
        vector = base if self.vec is None else evaluate(self.vec, *given)
        turned = np.zeros(3)
        mujoco.mju_rotVecQuat(
            turned, np.asarray(vector, np.float64), np.asarray(evaluate(self.quat, *given), float)
        )
        return turned
