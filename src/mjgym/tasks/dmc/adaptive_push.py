"""Adaptive control of a point mass: a scripted policy that finds out where its motors push.

Velocities follow v' = DRAG v + E u, where the columns of E, the velocities that a control of 1 adds
in a control step, are unknown. Recursive least squares estimate E from what was executed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

DRAG = 0.9355  # share of a velocity that is left after a control step
STIFFNESS, DAMPING = 2.0, 0.8  # wanted change of velocity per m and per m/s, in a control step
FORGETTING = 0.98  # weight of a step against that of the next one
DOUBT = 100.0  # of the estimate at the start, in squares of controls
SURE = 20.0  # largest doubt with which the estimate is used
DEGENERATE = 2e-6  # smallest determinant of E that is used
FREE = 0.285  # m from the middle along x and y: farther out there may be a wall
PROBES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
"""Controls in turn while the estimate is unsure."""
HOLD = 25  # control steps of a probe, after two short ones


class AdaptivePush:
    """Pushes the mass to the middle; it probes the motors first."""

    def __init__(self) -> None:
        self.restart()

    def restart(self, where: np.ndarray | None = None) -> None:
        """Forget the motors: in all environments, or where a mask, bool, is True."""
        if where is None:
            self._steps: np.ndarray | None = None
        elif self._steps is not None:
            self._steps = np.where(where, 0, self._steps)

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """Action, (..., 2) float32, for an observation."""
        position, velocity = (
            np.asarray(observation[name], np.float64) for name in ("position", "velocity")
        )
        lead = position.shape[:-1]
        if self._steps is None:
            self._steps = np.zeros(lead, dtype=np.int64)
            self._effect, self._doubt = np.zeros((2, *lead, 2, 2))
            self._action, self._position, self._velocity = np.zeros((3, *lead, 2))
        begins = (self._steps == 0)[..., None, None]
        self._effect = np.where(begins, 0.0, self._effect)
        self._doubt = np.where(begins, DOUBT * np.eye(2), self._doubt)
        farthest = np.maximum(np.abs(position), np.abs(self._position)).max(-1)
        self._learn(velocity - DRAG * self._velocity, (farthest < FREE) & ~begins[..., 0, 0])
        sure = np.abs(self._doubt).max((-2, -1)) < SURE
        sure &= np.abs(np.linalg.det(self._effect)) > DEGENERATE
        effect = np.where(sure[..., None, None], self._effect, np.eye(2))
        wanted = -STIFFNESS * position - DAMPING * velocity
        push = np.linalg.solve(effect, wanted[..., None])[..., 0]
        push = push / np.maximum(np.abs(push).max(-1, keepdims=True), 1.0)
        turn = np.where(self._steps < 2, self._steps, 2 + (self._steps - 2) // HOLD)
        action = np.where(sure[..., None], push, PROBES[turn % len(PROBES)])
        self._steps = self._steps + 1
        self._position, self._velocity = position, velocity
        self.executed(action)
        pushed: np.ndarray = action.astype(np.float32)
        return pushed

    def executed(self, action: np.ndarray) -> None:
        """Note what was done instead of the last action, (..., 2)."""
        self._action = np.asarray(action, np.float64)

    def _learn(self, change: np.ndarray, where: np.ndarray) -> None:
        """Update the estimate by a change of velocity, (..., 2), due to the last action."""
        action, doubt = self._action, self._doubt
        spread = (doubt @ action[..., None])[..., 0]
        gain = spread / (FORGETTING + (action * spread).sum(-1, keepdims=True))
        error = change - (self._effect @ action[..., None])[..., 0]
        learned = self._effect + error[..., :, None] * gain[..., None, :]
        surer = (doubt - gain[..., :, None] * spread[..., None, :]) / FORGETTING
        mask = where[..., None, None]
        self._effect = np.where(mask, learned, self._effect)
        self._doubt = np.where(mask, np.minimum(surer, 10 * DOUBT), doubt)
