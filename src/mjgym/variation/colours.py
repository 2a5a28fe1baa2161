"""Random colours, as red, green, blue and opacity between 0 and 1: (..., 4)."""

from dataclasses import dataclass

import numpy as np

from mjgym.variation.distributions import Distribution, Shape, Value, check_parameters, draws_of


class Colour(Distribution):
    """A random colour: a draw's last axis has red, green, blue and opacity."""

    _shape = (4,)
    _support = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def draws(self, rng: np.random.Generator, n: int, shape: Shape, first: int = 0) -> np.ndarray:
        if shape[-1:] != (4,):
            raise ValueError(f"colours end in an axis of 4 numbers, not {shape}")
        drawn = [draws_of(value, rng, n, shape[:-1], first) for value in vars(self).values()]
        return np.stack(self._channels(*(np.clip(x, 0.0, 1.0) for x in drawn)), axis=-1)

    def _channels(self, *drawn: np.ndarray) -> tuple[np.ndarray, ...]:
        """Red, green, blue and opacity of drawn parameters from 0 to 1, (n, ...) each."""
        return drawn


@dataclass(frozen=True, eq=False)
class RGB(Colour):
    """A colour by red, green and blue, each 0 .. 1."""

    red: Value
    green: Value
    blue: Value
    opacity: Value = 1.0


@dataclass(frozen=True, eq=False)
class HSV(Colour):
    """A colour by hue (0 .. 1 once around the circle, from red), saturation and value."""

    hue: Value
    saturation: Value
    value: Value
    opacity: Value = 1.0

    def _channels(self, *drawn: np.ndarray) -> tuple[np.ndarray, ...]:
        hue, saturation, value, opacity = drawn
        # Hexagonal cone (Smith 1978): each channel is a trapezium over the hue circle.
        places = (np.array([5.0, 3.0, 1.0]) + 6 * hue[..., None]) % 6
        trapezium = np.clip(np.minimum(places, 4 - places), 0.0, 1.0)
        rgb = value[..., None] * (1 - saturation[..., None] * trapezium)
        return (*np.moveaxis(rgb, -1, 0), opacity)


@dataclass(frozen=True, eq=False)
class Grey(Colour):
    """A grey by its level, from 0 (black) to 1 (white)."""

    level: Value
    opacity: Value = 1.0

    def _channels(self, *drawn: np.ndarray) -> tuple[np.ndarray, ...]:
        level, opacity = drawn
        return level, level, level, opacity
