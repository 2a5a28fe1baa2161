"""Passive forces: contact of spheres with the plane z = 0, and limits of coordinates."""

from dataclasses import dataclass

import numpy as np

from mjgym.arrays import Array, alongside, namespace


@dataclass(frozen=True)
class SpheresOnPlane:
    """Contact force of Hunt and Crossley (1975), regularised Coulomb friction, as in OpenSim."""

    stiffness: float  # of both materials, N/m^2
    dissipation: float  # of both materials, s/m
    friction: float  # coefficient, static and dynamic
    slip: float  # speed below which friction grows with it, m/s

    def depth(self, height: Array, radius: Array) -> Array:
        """Penetration depth of spheres with centres at a height, m, or 0."""
        return namespace(height).clip(radius - height, 0.0, None)

    def load(self, depth: Array, radius: Array) -> Array:
        """Normal force of spheres at rest, N."""
        k = 0.5 * self.stiffness ** (2 / 3)
        return (4 / 3 * k) * depth * namespace(depth).sqrt((radius * k) * depth)

    def normal(self, load: Array, inward: Array) -> Array:
        """Normal force, N, from that at rest and the speed into the plane at mid-overlap, m/s."""
        return load * namespace(load).clip(1 + (1.5 * self.dissipation) * inward, 0.0, None)

    def drag(self, normal: Array, slip: Array) -> Array:
        """Friction per slip speed, N s/m: multiply by the velocity and reverse it for the force.

        Args:
            slip: speed along the plane at the middle of the overlap, m/s.
        """
        return (self.friction * normal) / namespace(slip).clip(slip, self.slip, None)


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
