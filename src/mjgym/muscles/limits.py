"""Torques that hold coordinates within their limits."""

from dataclasses import dataclass

import numpy as np

from mjgym.arrays import Array, alongside, namespace


@dataclass(frozen=True, eq=False)
class CoordinateLimits:
    """Springs and dampers that come up smoothly beyond a range, as OpenSim's.

    Args:
        low, high: the range, rad.
        transition: within which the spring comes up, rad.
        stiffness: N m/rad.
        damping: N m s/rad.
    """

    low: np.ndarray
    high: np.ndarray
    transition: float
    stiffness: float
    damping: float

    def torque(self, q: Array, u: Array) -> Array:
        """The torques (N m) at angles (rad) and speeds (rad/s) of the coordinates."""
        xp = namespace(q, u)
        low, high = alongside(self.low, q), alongside(self.high, q)
        above, below = q - high, low - q
        # Step functions of the fifth order.
        up, down = (_step(xp.clip(x / self.transition, 0.0, 1.0)) for x in (above, below))
        return self.stiffness * (down * below - up * above) - self.damping * (up + down) * u


def _step(t: Array) -> Array:
    return t * t * t * (10 + t * (6 * t - 15))
