"""Observation entries and how they are read, under robosuite's names."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.util.suggestions import or_else

Sensor = Callable[[dict[str, Any]], Any]
ATTRIBUTES = ("sensor", "corrupter", "filter", "delayer", "sampling_rate", "enabled", "active")
SLACK = 1e-9  # s, of sums of timesteps


def sensor(modality: str) -> Callable[[Sensor], Sensor]:
    """Mark a function of all other entries as a sensor of a modality, e.g. "object"."""

    def mark(function: Sensor) -> Sensor:
        function.__modality__ = modality  # type: ignore[attr-defined]
        return function

    return mark


# Corrupters change readings, delayers return seconds. Noise is of NumPy's global generator.


def _corrupter(draw: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    return lambda reading: np.clip(np.asarray(reading) + draw(np.shape(reading)), low, high)


def create_deterministic_corrupter(
    corruption: Any, low: float = -np.inf, high: float = np.inf
) -> Callable[[Any], Any]:
    """A corrupter that adds a value, clipped to a range."""
    return _corrupter(lambda shape: corruption, low, high)


def create_gaussian_noise_corrupter(
    mean: float, std: float, low: float = -np.inf, high: float = np.inf
) -> Callable[[Any], Any]:
    """A corrupter that adds Gaussian noise from NumPy's global generator, clipped to a range."""
    return _corrupter(lambda shape: np.random.normal(mean, std, shape), low, high)


def create_uniform_noise_corrupter(
    min_noise: float, max_noise: float, low: float = -np.inf, high: float = np.inf
) -> Callable[[Any], Any]:
    """A corrupter that adds uniform noise from NumPy's global generator, clipped to a range."""
    return _corrupter(lambda shape: np.random.uniform(min_noise, max_noise, shape), low, high)


def create_deterministic_delayer(delay: float) -> Callable[[], float]:
    """A delayer of a fixed delay, s."""
    if delay < 0:
        raise ValueError(f"delay: expected 0 s or more, got {delay}")
    return lambda: delay


def create_uniform_sampled_delayer(min_delay: float, max_delay: float) -> Callable[[], float]:
    """A delayer of uniform delays, s."""
    if min(min_delay, max_delay) < 0:
        raise ValueError(f"delays: expected 0 s or more, got {min_delay} to {max_delay}")
    return lambda: float(np.random.uniform(min_delay, max_delay))


def create_gaussian_sampled_delayer(mean: float, std: float) -> Callable[[], float]:
    """A delayer of Gaussian delays, s, at least 0."""
    if min(mean, std) < 0:
        raise ValueError(f"delays: expected 0 s or more, got mean {mean}, std {std}")
    return lambda: max(0.0, float(np.random.normal(mean, std)))


def NO_CORRUPTION(inp: Any) -> Any:
    """Readings as they are."""
    return inp


NO_FILTER = NO_CORRUPTION


def NO_DELAY() -> float:
    """No delay, s."""
    return 0.0


class Observable:
    """An observation entry and how it is read.

    In each sampling period it reads its sensor once, in the first update that leaves at least the
    delay to the period's end, and keeps that value.

    Args:
        sensor: computes the reading from the entries before it, see `sensor`; an empty dict gives
            one of the right shape.
        corrupter: of readings, or None.
        filter: applied after the corrupter, or None.
        delayer: returns a delay, s, or None.
        sampling_rate: Hz.
        active: whether observations show it.

    Raises:
        ValueError: the sensor has no modality.
    """

    def __init__(
        self,
        name: str,
        sensor: Sensor,
        corrupter: Callable[[Any], Any] | None = None,
        filter: Callable[[Any], Any] | None = None,
        delayer: Callable[[], float] | None = None,
        sampling_rate: float = 20,
        enabled: bool = True,
        active: bool = True,
    ) -> None:
        self.name = name
        self._enabled, self._active = enabled, active
        self.set_corrupter(corrupter)
        self.set_filter(filter)
        self.set_delayer(delayer)
        self.set_sampling_rate(sampling_rate)
        self.set_sensor(sensor)
        self.reset()

    def reset(self) -> None:
        self._since, self._sampled = 0.0, False
        self._delay = self._delayer()
        self._value: Any = np.zeros(self._shape)[()]

    def update(self, timestep: float, obs_cache: dict[str, Any], force: bool = False) -> None:
        """Let time pass, and read the sensor if it is due.

        Args:
            timestep: s since the last call.
            obs_cache: readings of all entries, which gets this one's.
            force: whether to read it in any case.
        """
        if not self._enabled:
            return
        self._since += timestep
        due = not self._sampled and self._since <= self._period - self._delay + SLACK
        if force or due:
            self._read(obs_cache)
            self._sampled = True
        if self._since >= self._period - SLACK:
            if not self._sampled:
                warnings.warn(
                    f"{self.name}: its delay is longer than its sampling period", stacklevel=2
                )
                self._read(obs_cache)
            self._since = max(self._since - self._period, 0.0)
            self._sampled = False

    def _read(self, obs_cache: dict[str, Any]) -> None:
        value = np.array(self._filter(self._corrupter(self._sensor(obs_cache))))
        self._value = value[0] if value.shape == (1,) else value[()]
        obs_cache[self.name] = np.array(self._value)
        self._delay = self._delayer()

    @property
    def obs(self) -> Any:
        """The reading; None for an entry that is not active."""
        return self._value if self._active else None

    @property
    def modality(self) -> str:
        return str(self._sensor.__modality__)

    def is_enabled(self) -> bool:
        return self._enabled

    def is_active(self) -> bool:
        return self._active

    def set_enabled(self, enabled: bool) -> None:
        self._enabled = enabled
        self.reset()

    def set_active(self, active: bool) -> None:
        self._active = active

    def set_sensor(self, sensor: Sensor) -> None:
        if not hasattr(sensor, "__modality__"):
            raise ValueError(f"{self.name}: its sensor needs @sensor(modality=...)")
        self._sensor = sensor
        try:
            self._shape = np.shape(sensor({}))
        except (KeyError, IndexError, TypeError):
            self._shape = ()  # known after the first reading

    def set_corrupter(self, corrupter: Callable[[Any], Any] | None) -> None:
        self._corrupter = corrupter or NO_CORRUPTION

    def set_filter(self, filter: Callable[[Any], Any] | None) -> None:
        self._filter = filter or NO_FILTER

    def set_delayer(self, delayer: Callable[[], float] | None) -> None:
        self._delayer = delayer or NO_DELAY
        self._delay = self._delayer()

    def set_sampling_rate(self, rate: float) -> None:
        self._period = 1.0 / rate

    def modify(self, attribute: str, modifier: Any) -> None:
        """Change one of `ATTRIBUTES`.

        Raises:
            ValueError: there is no such attribute.
        """
        if attribute not in ATTRIBUTES:
            raise ValueError(f"attribute: no {attribute!r}{or_else(attribute, ATTRIBUTES)}")
        getattr(self, f"set_{attribute}")(modifier)
