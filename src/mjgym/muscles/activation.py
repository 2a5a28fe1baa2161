"""How a muscle's activation follows its excitation."""

from dataclasses import dataclass

from mjgym.arrays import Array, namespace


@dataclass(frozen=True)
class Activation:
    """First-order activation dynamics of Thelen (2003), doi 10.1115/1.1531112.

    Args:
        rise: time constant of activation, s.
        fall: time constant of deactivation, s.
        least: smallest excitation and activation.
    """

    rise: float = 0.01
    fall: float = 0.04
    least: float = 0.01

    def wanted(self, excitation: Array) -> Array:
        """The activation that an excitation leads to: itself, within [least, 1]."""
        return namespace(excitation).clip(excitation, self.least, 1.0)

    def rate(self, activation: Array, wanted: Array) -> Array:
        """The activation's rate of change, 1/s."""
        speed = 0.5 + 1.5 * activation
        gap = wanted - activation
        return gap * namespace(gap).where(gap > 0, 1 / (self.rise * speed), speed / self.fall)

    def after(self, activation: Array, wanted: Array, dt: float) -> Array:
        """The activation after a short time (s), by the midpoint rule."""
        halfway = activation + (0.5 * dt) * self.rate(activation, wanted)
        return activation + dt * self.rate(halfway, wanted)
