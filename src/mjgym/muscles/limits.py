"""Torques that keep coordinates within their limits."""

from dataclasses import dataclass

import numpy as np

from mjgym.arrays import Array, alongside, namespace


@dataclass(frozen=True, eq=False)
class CoordinateLimits:
    """Springs and dampers that engage smoothly beyond a range, as in OpenSim."""

    # low and high: the range, rad
    low: np.ndarray
    high: np.ndarray
    transition: float  # width of the engagement, rad
    stiffness: float  # N m/rad
    damping: float  # N m s/rad

    def torque(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Torques (N m) at angles (rad) and speeds (rad/s), and dampings (N m s/rad)."""
        xp = namespace(q, u)
        above, below = q - alongside(self.high, q), alongside(self.low, q) - q
        # Fifth-order step functions.
        up, down = (_step(xp.clip(x / self.transition, 0.0, 1.0)) for x in (above, below))
        damper = self.damping * (up + down)
        return self.stiffness * (down * below - up * above) - damper * u, damper


def _step(t: Array) -> Array:
    return t * t * t * (10 + t * (6 * t - 15))
