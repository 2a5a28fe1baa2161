"""Observations of a control step: values by their time of arrival."""

import collections
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from dm_env import specs

from mjgym_compat.dm_control.composer.observation.observable import AGGREGATORS, Observable

DEFAULT_UPDATE_INTERVAL = 1  # physics steps
DEFAULT_BUFFER_SIZE = 1
DEFAULT_DELAY = 0  # physics steps


class _Readings:
    """Values of one observable.

    Args:
        name: of the observable.
        observable: the observable.
        physics: the simulation.
        random_state: for noise, intervals and delays.
        first: whether the buffer is filled with the first value, and not with zeros.
        strip: whether a buffer of one value is that value.
    """

    def __init__(
        self,
        name: str,
        observable: Observable,
        physics: Any,
        random_state: Any,
        first: bool,
        strip: bool,
    ) -> None:
        self._observable, self._random_state = observable, random_state
        self._value = observable.observation_callable(physics, random_state)
        self._size = observable.buffer_size or DEFAULT_BUFFER_SIZE
        self._strip = strip and self._size == 1
        value = np.array(self._value())
        padding = value if first else np.zeros_like(value)
        self._buffer = collections.deque([padding] * self._size, self._size)
        self.spec = self._make_spec(name, value)
        # Arrival, number and value of what is on the way; None until it is read.
        self._coming: list[list[Any]] = []
        self._due = 0
        self._schedule(0)
        self._coming[-1][2] = value

    def _draw(self, number: Any, default: int) -> int:
        if callable(number):
            number = number(random_state=self._random_state)
        return default if number is None else int(number)

    def _schedule(self, time: int) -> None:
        """Plan a reading, and the one after it."""
        arrival = time + self._draw(self._observable.delay, DEFAULT_DELAY)
        self._coming.append([arrival, time, None])
        interval = self._draw(self._observable.update_interval, DEFAULT_UPDATE_INTERVAL)
        self._due = time + max(1, interval)

    def plan(self, end: int) -> None:
        """Plan the readings up to the end of a control step."""
        while self._due <= end:
            self._schedule(self._due)
        self._coming.sort(key=lambda reading: reading[0])
        arrived = [reading for reading in self._coming if reading[0] <= end]
        # Earlier ones would be pushed out of the buffer before anyone sees them.
        for reading in arrived[: -self._size]:
            self._coming.remove(reading)

    def read(self, time: int) -> None:
        """Take the reading that is planned for now, if any."""
        for reading in self._coming:
            if reading[1] == time and reading[2] is None:
                reading[2] = np.array(self._value())

    def observation(self, time: int) -> Any:
        """The observation at the end of a control step."""
        while self._coming and self._coming[0][0] <= time:
            self._buffer.append(self._coming.pop(0)[2])
        values = np.stack(self._buffer)
        if self._observable.aggregator is not None:
            return self._observable.aggregator(values)
        return values[0] if self._strip else values

    def _make_spec(self, name: str, value: np.ndarray) -> Any:
        observable = self._observable
        values = np.stack([value] * self._size)
        kind = observable.array_spec
        if observable.aggregator is not None:
            values = np.asarray(observable.aggregator(values))
            if observable.aggregator is AGGREGATORS["sum"]:  # bounds of parts are not the sum's
                kind = None
        elif self._strip:
            values = value
        if kind is None:
            return specs.Array(values.shape, values.dtype, name)
        return kind.replace(shape=values.shape, dtype=values.dtype, name=name)


class Updater:
    """Observations of all enabled observables.

    Args:
        observables: a dictionary by name, or a list or tuple of such.
        physics_steps_per_control_step: physics steps in a control step.
        strip_singleton_buffer_dim: whether a buffer of one value is that value.
        pad_with_initial_value: whether a buffer starts with the first value, and not with zeros.
    """

    def __init__(
        self,
        observables: Any,
        physics_steps_per_control_step: int = 1,
        strip_singleton_buffer_dim: bool = False,
        pad_with_initial_value: bool = False,
    ) -> None:
        self._observables = observables
        self._steps = physics_steps_per_control_step
        self._strip, self._first = strip_singleton_buffer_dim, pad_with_initial_value
        self._readings: list[dict[str, _Readings]] = []
        self._time = 0

    @property
    def _parts(self) -> list[Mapping[str, Observable]]:
        single = isinstance(self._observables, Mapping)
        return [self._observables] if single else list(self._observables)

    def reset(self, physics: Any, random_state: Any) -> None:
        """Begin an episode."""
        self._time = 0
        self._readings = [
            {
                name: _Readings(name, observable, physics, random_state, self._first, self._strip)
                for name, observable in part.items()
                if observable.enabled
            }
            for part in self._parts
        ]
        for readings in self._all():
            readings.plan(0)

    def _all(self) -> Iterator[_Readings]:
        for part in self._readings:
            yield from part.values()

    def prepare_for_next_control_step(self) -> None:
        """Plan the coming control step: what nobody would see is not read."""
        for readings in self._all():
            readings.plan(self._time + self._steps)

    def update(self) -> None:
        """Read what is due after a physics step."""
        self._time += 1
        for readings in self._all():
            readings.read(self._time)

    def observation_spec(self) -> Any:
        """Specifications, in the structure of the observables."""
        return self._structured(lambda readings: readings.spec)

    def get_observation(self) -> Any:
        """Observations, in the structure of the observables."""
        return self._structured(lambda readings: readings.observation(self._time))

    def _structured(self, function: Any) -> Any:
        parts = []
        for part, readings in zip(self._parts, self._readings, strict=True):
            kind: Any = type(part)
            parts.append(kind((name, function(r)) for name, r in readings.items()))
        if isinstance(self._observables, Mapping):
            return parts[0]
        return type(self._observables)(parts)
