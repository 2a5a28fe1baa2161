"""Sensor model of one entry of an observation: rate, delay, noise, history."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.observables.observe import Element, Image, Quantity
from mjgym.util.values import one_of, whole_number
from mjgym.variation.distributions import Distribution
from mjgym.variation.noises import Noise

AGGREGATORS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
}


@dataclass(frozen=True)
class Observable:
    """Sensor model of an entry of an observation.

    An entry is read at the start of an episode and then every `update_interval` physics steps. A
    reading is corrupted by the noise at once, and visible `delay` physics steps later. An
    observation shows the `buffer_size` newest visible readings, oldest first along a new first axis
    if there are several; missing ones at the start of an episode are filled with its first reading.
    Readings that cannot appear in an observation are not taken.

    Raises:
        TypeError: an argument has a wrong type; the message names it.
        ValueError: an argument is out of range or unknown; the message names it.
    """

    # The quantity to read, see `mjgym.observe`; None for the task's entry of that name
    source: Quantity | Image | None = None
    enabled: bool = True  # False leaves the entry out
    # Physics steps between two readings, at least 1, or a distribution of it
    update_interval: int | Distribution = 1
    buffer_size: int = 1
    # Physics steps from a reading to the first observation that may show it, or a bounded
    # distribution of it
    delay: int | Distribution = 0
    noise: Noise | None = None  # that corrupts a reading, see `mjgym.variation.noises`
    # Joins the readings of an observation into one: "mean", "median", "min", "max", "sum", or a
    # function that reduces an array along an `axis=`, as NumPy's do
    aggregator: str | Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.source, Element):
            raise TypeError("source: which array of the element? e.g. observe.body('torso').xpos")
        if not (self.source is None or isinstance(self.source, Quantity | Image)):
            raise TypeError(f"source: expected a quantity of mjgym.observe, got {self.source!r}")
        if not isinstance(self.enabled, bool):
            raise TypeError(f"enabled: expected True or False, got {self.enabled!r}")
        whole_number("buffer_size", self.buffer_size)
        _check_steps("update_interval", self.update_interval, 1)
        _check_steps("delay", self.delay, 0)
        if callable(self.noise) and not isinstance(self.noise, Distribution):
            raise TypeError("noise: mjgym.variation.noises.corruptor makes a noise of a function")
        if not (self.noise is None or isinstance(self.noise, Noise)):
            raise TypeError(
                f"noise: expected one of mjgym.variation.noises, e.g. additive(Normal(0, 0.01)),"
                f" got {self.noise!r}"
            )
        if isinstance(self.aggregator, str):
            one_of("aggregator", self.aggregator, AGGREGATORS)
        if not (self.aggregator is None or isinstance(self.aggregator, str)) and not callable(
            self.aggregator
        ):
            raise TypeError(f"aggregator: expected a name or a function, got {self.aggregator!r}")


def _check_steps(name: str, value: Any, least: int) -> None:
    if isinstance(value, Distribution):
        low, high = value.support
        if value.shape != ():
            raise ValueError(f"{name}: {value!r} draws arrays of shape {value.shape}, not numbers")
        if low < least:
            raise ValueError(
                f"{name}: {value!r} may be less than {least}; .clip({least}, ...) bounds it"
            )
        if name == "delay" and not np.isfinite(high):
            raise ValueError(f"{name}: {value!r} has no upper bound; .clip(0, ...) gives it one")
    elif callable(value):
        raise TypeError(
            f"{name}: a function needs bounds: Custom(function, low={least}, high=...) of"
            " mjgym.variation"
        )
    else:
        whole_number(name, value, least)
