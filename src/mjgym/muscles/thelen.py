"""Muscles with elastic tendons: Thelen (2003), doi 10.1115/1.1531112, as in OpenSim."""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, namespace

TOE_SHAPE = 3.0  # exponent of the tendon's curve below TOE_FORCE
TOE_FORCE = 0.33  # fraction of the largest isometric force above which the tendon's curve is linear
NEAR_LARGEST = 0.95  # fraction of the largest lengthening force above which its curve is linear
LEAST_COS = 0.1  # cosine of the largest pennation angle
HALVINGS = 60  # bisection steps of an equilibrium


class Tendon(NamedTuple):
    """State of a tendon.

    Attributes:
        force: fraction of the largest isometric force.
        slope: derivative of the force by the strain.
        cos: cosine of the pennation angle.
    """

    force: Array
    slope: Array
    cos: Array


@dataclass(frozen=True, eq=False)
class Thelen:
    """Muscle parameters, in arrays that broadcast against those of their states."""

    force: np.ndarray  # largest isometric force, N
    fibre: np.ndarray  # optimal fibre length, m
    tendon: np.ndarray  # slack length of the tendon, m
    # Angle at the optimal fibre length, rad; the muscle's thickness is constant
    pennation: np.ndarray
    tendon_strain: np.ndarray  # at the largest isometric force
    # Fibre strain at which the passive force is the largest isometric one
    passive_strain: np.ndarray
    passive_shape: np.ndarray  # exponent of the passive curve
    max_velocity: float = 15.0  # largest speed of shortening, optimal fibre lengths per second
    force_length_width: float = 0.45  # of the active curve
    force_velocity_shape: float = 0.25  # Af
    lengthening_force: float = 1.4  # largest force of a lengthening fibre over the isometric one

    @functools.cached_property
    def shortest(self) -> np.ndarray:
        """Shortest fibre, m: at the largest pennation angle, at least 1% of the optimal length."""
        steepest = self._thickness / math.sqrt(1 - LEAST_COS**2)
        return np.asarray(np.maximum(steepest, 0.01 * self.fibre))

    @functools.cached_property
    def fastest(self) -> np.ndarray:
        """Largest speed of shortening, m/s."""
        return np.asarray(self.max_velocity * self.fibre)

    @functools.cached_property
    def _thickness(self) -> np.ndarray:
        return np.asarray(self.fibre * np.sin(self.pennation))

    @functools.cached_property
    def _toe(self) -> np.ndarray:
        t = math.exp(TOE_SHAPE)
        return 99 * self.tendon_strain * t / (166 * t - 67)

    @functools.cached_property
    def _constants(self) -> tuple[np.ndarray, ...]:
        """Squared thickness, 1 / slack length, toe, exponents and slopes of the tendon's curve."""
        slope = 0.67 / (self.tendon_strain - self._toe)
        return (self._thickness**2, 1 / self.tendon, self._toe, TOE_SHAPE / self._toe, slope)

    @functools.cached_property
    def _passive(self) -> tuple[np.ndarray, ...]:
        rate, scale = self.passive_shape / self.passive_strain, np.expm1(self.passive_shape)
        return 1 / self.fibre, rate, 1 / scale

    def stretched(self, length: Array, fibre: Array) -> Tendon:
        """State of the tendon, from the lengths of the whole path and of the fibre, m."""
        xp = namespace(fibre)
        thickness2, inverse, toe, exponent, slope = (alongside(x, fibre) for x in self._constants)
        along = xp.sqrt(fibre * fibre - thickness2)
        strain = xp.clip((length - along) * inverse - 1.0, 0.0, None)
        scale = TOE_FORCE / math.expm1(TOE_SHAPE)
        rising = scale * xp.exp(xp.clip(strain * exponent, None, TOE_SHAPE))
        straight = strain > toe
        force = xp.where(straight, slope * (strain - toe) + TOE_FORCE, rising - scale)
        steep = xp.where(straight, slope, exponent * rising)
        return Tendon(force, xp.where(strain > 0, steep, 0.0), along / fibre)

    def passive_force(self, fibre: Array) -> Array:
        """Passive force of a fibre, over the largest isometric force."""
        inverse, rate, scale = (alongside(x, fibre) for x in self._passive)
        return scale * namespace(fibre).expm1(
            rate * namespace(fibre).clip(fibre * inverse - 1.0, 0.0, None)
        )

    def active_force(self, fibre: Array) -> Array:
        strain = fibre * alongside(self._passive[0], fibre) - 1.0
        return namespace(fibre).exp((-1 / self.force_length_width) * (strain * strain))

    def velocity(self, activation: Array, length: Array, fibre: Array) -> Array:
        """Fibre velocity, m/s, positive when lengthening, from the lengths of path and fibre, m."""
        return self._velocity(activation, length, fibre)[0]

    def after(self, activation: Array, length: Array, fibre: Array, dt: float) -> Array:
        """Fibre length after a short time, m, by the linearly implicit midpoint rule.

        The rule is of second order, and stable for any stiffness.

        Args:
            activation: muscle activation at the midpoint.
            length: length of the whole path at the midpoint, m.
            fibre: initial fibre length, m.
            dt: s.
        """
        velocity, slope = self._velocity(activation, length, fibre)
        longer = fibre + dt * velocity / (1.0 - (0.5 * dt) * slope)
        xp = namespace(fibre)
        return xp.maximum(longer, alongside(self.shortest, fibre))

    def equilibrium(self, activation: Array, length: Array) -> Array:
        """Fibre length at equilibrium, m, from the length of the whole path at rest, m."""
        xp = namespace(length)
        low = xp.zeros_like(length) + alongside(self.shortest, length)
        slack = length - alongside(self.tendon, length)
        thickness2 = alongside(self._constants[0], length)
        # Beyond this the tendon is slack and the fibre pulls.
        high = xp.maximum(low, xp.sqrt(xp.clip(slack, 0.0, None) ** 2 + thickness2))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            tendon = self.stretched(length, middle)
            fibre = activation * self.active_force(middle) + self.passive_force(middle)
            longer = tendon.force > fibre * tendon.cos
            low, high = xp.where(longer, middle, low), xp.where(longer, high, middle)
        return 0.5 * (low + high)

    def _velocity(self, activation: Array, length: Array, fibre: Array) -> tuple[Array, Array]:
        """Fibre velocity, m/s, and its derivative by the fibre length, 1/s."""
        xp = namespace(fibre)
        tendon = self.stretched(length, fibre)
        inverse, rate, scale = (alongside(x, fibre) for x in self._passive)
        strain = fibre * inverse - 1.0
        stretch = xp.exp(rate * xp.clip(strain, 0.0, None))
        width = 1 / self.force_length_width
        x = activation * xp.exp(-width * (strain * strain))
        pull = tendon.force / tendon.cos
        y = pull - scale * (stretch - 1.0)  # left to the active fibre
        # Force-velocity curve, extended linearly at both ends.
        af, flen = self.force_velocity_shape, self.lengthening_force
        y0 = xp.clip(y, xp.zeros_like(x), (NEAR_LARGEST * flen) * x)
        shortens = y0 <= x
        steep = (2 + 2 / af) / (flen - 1)
        b = xp.where(shortens, x + y0 * (1 / af), steep * (flen * x - y0))
        by = xp.where(shortens, xp.full_like(x, 1 / af), -steep)
        bx = xp.where(shortens, xp.ones_like(x), steep * flen)
        k = ((0.25 + 0.75 * activation) * alongside(self.fastest, fibre)) / b
        over = (y0 - x) / b
        vy = k * (1.0 - over * by)
        velocity = k * (y0 - x) + vy * (y - y0)
        vx = k * (-1.0 - over * bx)
        # Derivatives of y and x by the fibre length.
        cos = tendon.cos
        leaning = pull * (1.0 - cos * cos) / fibre
        dy = (leaning + tendon.slope * alongside(self._constants[1], fibre)) / (-cos * cos)
        dy = dy - xp.where(strain > 0, (scale * rate * inverse) * stretch, 0.0)
        dx = (-2 * width * inverse) * strain * x
        slope = vy * dy + vx * dx
        shortest = fibre <= alongside(self.shortest, fibre)
        stuck = shortest & (velocity < 0)
        return xp.where(stuck, 0.0, velocity), xp.where(stuck, 0.0, slope)


@dataclass(frozen=True)
class Activation:
    """First-order activation dynamics of Thelen (2003), doi 10.1115/1.1531112, as in OpenSim.

    The rate depends on the activation clipped to [least, 1], while the state may leave that range:
    at an excitation below the least activation it keeps falling.
    """

    rise: float = 0.01  # time constant of activation, s
    fall: float = 0.04  # time constant of deactivation, s
    least: float = 0.01

    def value(self, state: Array) -> Array:
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
