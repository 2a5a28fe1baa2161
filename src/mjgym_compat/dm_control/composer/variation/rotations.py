"""Variations of orientations, as quaternions."""

from typing import Any

import mujoco
import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate

IDENTITY_QUATERNION = np.array([1.0, 0.0, 0.0, 0.0])


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

    def __repr__(self) -> str:
        return "UniformQuaternion()"


class QuaternionFromAxisAngle(Variation):
    """A rotation about an axis by an angle, rad; both may be variations."""

    def __init__(self, axis: Any, angle: Any) -> None:
        self._axis, self._angle = axis, angle

    def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        axis = np.asarray(evaluate(self._axis, *args, **kwargs), np.float64)
        half = 0.5 * evaluate(self._angle, *args, **kwargs)
        return np.append(np.cos(half), np.sin(half) * axis / np.linalg.norm(axis))

    def __repr__(self) -> str:
        return f"QuaternionFromAxisAngle(axis={self._axis!r}, angle={self._angle!r})"


class QuaternionPreMultiply(Variation):
    """The first orientation, or the present one, turned by a quaternion in the world's frame."""

    def __init__(self, quat: Any, cumulative: bool = False) -> None:
        self._quat, self._cumulative = quat, cumulative

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> np.ndarray:
        turn = np.asarray(evaluate(self._quat, initial_value, current_value, random_state), float)
        base = current_value if self._cumulative else initial_value
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, turn, np.asarray(base, np.float64))
        return turned

    def __repr__(self) -> str:
        return f"QuaternionPreMultiply(quat={self._quat!r}, cumulative={self._cumulative})"


class QuaternionRotate(Variation):
    """A vector turned by a quaternion."""

    def __init__(self, quat: Any, vec: Any = None, cumulative: bool = False) -> None:
        self._quat, self._vec, self._cumulative = quat, vec, cumulative

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> np.ndarray:
        given = initial_value, current_value, random_state
        base = current_value if self._cumulative else initial_value
        vector = base if self._vec is None else evaluate(self._vec, *given)
        turned = np.zeros(3)
        mujoco.mju_rotVecQuat(
            turned, np.asarray(vector, np.float64), np.asarray(evaluate(self._quat, *given), float)
        )
        return turned

    def __repr__(self) -> str:
        return (
            f"QuaternionRotate(quat={self._quat!r}, vec={self._vec!r},"
            f" cumulative={self._cumulative})"
        )
