"""Interpolation of goals under robosuite's names."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mjgym.controllers.scaled import ramp_steps
from mjgym_compat.robosuite.utils import transform_utils as turns


class Interpolator(ABC):
    """Points on the way to a goal."""

    @abstractmethod
    def get_interpolated_goal(self) -> np.ndarray:
        """The next point."""


class LinearInterpolator(Interpolator):
    """Points on the straight way to a goal, for vectors and for orientations.

    As in robosuite, the k-th of n points of a vector is 1 / (n - k) of the way, k from 0.

    Args:
        ndim: numbers of a goal.
        controller_freq: points per second.
        policy_freq: goals per second.
        ramp_ratio: part of the time between two goals that the way takes.
        use_delta_goal: unused, as in robosuite.
        ori_interpolate: None for vectors; "euler" for Euler angles or "quat" for quaternions.

    Attributes:
        total_steps: points on the way.
        step: the number of the next one.
        start: where the way begins.
        goal: where it ends.
    """

    def __init__(
        self,
        ndim: int,
        controller_freq: float,
        policy_freq: float,
        ramp_ratio: float = 0.2,
        use_delta_goal: bool = False,
        ori_interpolate: str | None = None,
    ) -> None:
        self.dim, self.ori_interpolate = ndim, ori_interpolate
        self.order, self.step, self.use_delta_goal = 1, 0, use_delta_goal
        self.total_steps = ramp_steps(ramp_ratio * controller_freq / policy_freq, 1)
        self.set_states()

    def set_states(self, dim: int | None = None, ori: str | None = None) -> None:
        """Reset start and goal to zeros or the identity, optionally of another kind."""
        self.dim = self.dim if dim is None else dim
        self.ori_interpolate = self.ori_interpolate if ori is None else ori
        kinds = {None: np.zeros(self.dim), "euler": np.zeros(3)}
        self.start = kinds.get(self.ori_interpolate, np.array([0.0, 0.0, 0.0, 1.0]))
        self.goal = self.start.copy()

    def set_goal(self, goal: Any) -> None:
        """Go from the last goal to another.

        Raises:
            ValueError: it has another number of numbers.
        """
        goal = np.array(goal, float)
        if len(goal) != self.dim:
            raise ValueError(f"goal: expected {self.dim} numbers, got {len(goal)}")
        self.start, self.goal, self.step = self.goal, goal, 0

    def get_interpolated_goal(self) -> np.ndarray:
        left = self.total_steps - self.step
        if self.ori_interpolate is None:
            point = self.start + (self.goal - self.start) / left
        else:
            start, end = self.start, self.goal
            if self.ori_interpolate == "euler":
                start, end = (turns.mat2quat(turns.euler2mat(each)) for each in (start, end))
            point = turns.quat_slerp(start, end, (self.step + 1) / self.total_steps)
            if self.ori_interpolate == "euler":
                point = turns.mat2euler(turns.quat2mat(point))
        self.step = min(self.step + 1, max(self.total_steps - 1, 0))
        return np.asarray(point)
