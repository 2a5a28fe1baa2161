"""Activation dynamics: a muscle's activation follows its excitation."""

from dataclasses import dataclass

from mjgym.arrays import Array, namespace


@dataclass(frozen=True)
class Activation:
    """First-order activation dynamics of Thelen (2003), doi 10.1115/1.1531112, as in OpenSim.

    The rate depends on the activation clipped to [least, 1], while the state may leave that range:
    at an excitation below the least activation it keeps falling.

    Args:
        rise: time constant of activation, s.
        fall: time constant of deactivation, s.
    """

    rise: float = 0.01
    fall: float = 0.04
    least: float = 0.01

    def value(self, state: Array) -> Array:
        """Activation: the state clipped to [least, 1]."""
        return namespace(state).clip(state, self.least, 1.0)

    def rate(self, state: Array, excitation: Array) -> Array:
        """Rate of change of the state, 1/s."""
        activation = self.value(state)
        speed = 0.5 + 1.5 * activation
        gap = excitation - activation
        return gap * namespace(gap).where(gap > 0, 1 / (self.rise * speed), speed / self.fall)

    def after(self, state: Array, excitation: Array, dt: float) -> Array:
        """State after a short time (s), by the midpoint rule."""
        halfway = state + (0.5 * dt) * self.rate(state, excitation)
        return state + dt * self.rate(halfway, excitation)
