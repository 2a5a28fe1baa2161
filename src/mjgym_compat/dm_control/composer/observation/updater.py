"""Observations of a control step: values by their time of arrival."""

import collections
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from dm_env import specs

from mjgym_compat.dm_control.composer.observation.obs_buffer import Buffer
from mjgym_compat.dm_control.composer.observation.observable.base import AGGREGATORS, Observable
from mjgym_compat.dm_control.composer.variation.base import Variation

DEFAULT_UPDATE_INTERVAL = 1  # physics steps
DEFAULT_BUFFER_SIZE = 1
DEFAULT_DELAY = 0  # physics steps


class _Readings:
    """Values of one observable.

    Args:
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
        shown = observable.array_spec
        value = np.array(self._value()) if shown is None else np.zeros(shown.shape, shown.dtype)
        size = observable.buffer_size or DEFAULT_BUFFER_SIZE
        self._size, self._aggregator = size, observable.aggregator
        self._delay = observable.delay or DEFAULT_DELAY
        self._interval = observable.update_interval or DEFAULT_UPDATE_INTERVAL
        self._every_step = self._delay == 0 and self._interval == 1
        self._buffer = Buffer(size, value.shape, value.dtype, first, strip)
        self.spec = self._make_spec(name, value, size, strip and size == 1)
        self._schedule: list[tuple[int, int]] = []  # times and delays

    def _draw(self, number: Any) -> int:
        if isinstance(number, Variation):
            number = number(random_state=self._random_state)
        return int(number() if callable(number) else number)

    def begin(self) -> None:
        """Take the first reading, after those that told shapes."""
        self._buffer.insert(0, self._draw(self._delay), self._value())

    def plan(self, time: int, steps: int) -> Iterable[int]:
        """Times of the readings in a control step, without those never observed.

        Intervals and delays are drawn for two control steps, in dm_control's order.
        """
        end = time + steps
        if self._every_step:
            return range(end + 1 - min(self._size, steps), end + 1)
        last = self._schedule[-1][0] if self._schedule else time
        while last < end + steps:
            last += max(1, self._draw(self._interval))
            self._schedule.append((last, self._draw(self._delay)))
        self._buffer.drop_unobserved_upcoming_items(self._schedule, steps)
        return [due for due, _ in self._schedule if due <= end]

    def read(self, time: int) -> None:
        """Take the reading scheduled for the current time."""
        delay = 0 if self._every_step else self._schedule.pop(0)[1]
        self._buffer.insert(time, delay, self._value())

    def observation(self, time: int) -> Any:
        """The observation at the end of a control step."""
        values = self._buffer.read(time)
        return values if self._aggregator is None else self._aggregator(values)

    def _make_spec(self, name: str, value: np.ndarray, size: int, strip: bool) -> Any:
        observable = self._observable
        values = value if strip else np.stack([value] * size)
        kind = observable.array_spec
        if observable.aggregator is not None:
            values = np.asarray(observable.aggregator(values))
            if observable.aggregator is AGGREGATORS["sum"]:  # bounds of parts are not the sum's
                kind = None
        if kind is None:
            return specs.Array(values.shape, values.dtype, name)
        return kind.replace(shape=values.shape, dtype=values.dtype, name=name)


class Updater:
    """Observations of all enabled observables."""

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
        self._due: dict[int, list[_Readings]] = {}  # by physics step of the episode
        self._time = 0

    @property
    def _parts(self) -> list[Mapping[str, Observable]]:
        single = isinstance(self._observables, Mapping)
        return [self._observables] if single else list(self._observables)

    def reset(self, physics: Any, random_state: Any) -> None:
        self._time, self._due = 0, {}
        self._readings = [
            {
                name: _Readings(name, observable, physics, random_state, self._first, self._strip)
                for name, observable in part.items()
                if observable.enabled
            }
            for part in self._parts
        ]
        for part in self._readings:
            for readings in part.values():
                readings.begin()

    def prepare_for_next_control_step(self) -> None:
        self._due = collections.defaultdict(list)
        for part in self._readings:
            for readings in part.values():
                for time in readings.plan(self._time, self._steps):
                    self._due[time].append(readings)

    def update(self) -> None:
        self._time += 1
        for readings in self._due.get(self._time, ()):
            readings.read(self._time)

    def observation_spec(self) -> Any:
        return self._structured(lambda readings: readings.spec)

    def get_observation(self) -> Any:
        return self._structured(lambda readings: readings.observation(self._time))

    def _structured(self, function: Any) -> Any:
        parts = []
        for part, readings in zip(self._parts, self._readings, strict=True):
            kind: Any = type(part)
            parts.append(kind((name, function(r)) for name, r in readings.items()))
        if isinstance(self._observables, Mapping):
            return parts[0]
        return type(self._observables)(parts)
