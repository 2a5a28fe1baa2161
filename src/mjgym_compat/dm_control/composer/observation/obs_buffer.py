"""Buffers of values by their time of arrival."""

import collections
import operator
from typing import Any

import numpy as np


class Buffer:
    """The last values that have arrived."""

    def __init__(
        self,
        buffer_size: int,
        shape: tuple[int, ...],
        dtype: Any,
        pad_with_initial_value: bool = False,
        strip_singleton_buffer_dim: bool = False,
    ) -> None:
        self._size = buffer_size
        self._strips = strip_singleton_buffer_dim and buffer_size == 1
        self._pads = pad_with_initial_value
        zero = np.zeros(shape, dtype)
        self._arrived = collections.deque([zero] * buffer_size, buffer_size)
        self._coming: list[tuple[int, int, np.ndarray]] = []  # arrival, time, value
        self._read = 0

    def insert(self, timestamp: int, delay: int, value: Any) -> None:
        array = np.array(value, dtype=self._arrived[0].dtype)
        if self._pads:
            self._arrived.extend([array] * self._size)
            self._pads = False
        self._coming.append((timestamp + delay, timestamp, array))

    def read(self, current_time: int) -> np.ndarray:
        arrived = [item for item in self._coming if item[0] <= current_time]
        self._coming = [item for item in self._coming if item[0] > current_time]
        arrived.sort(key=operator.itemgetter(0, 1))
        self._arrived.extend([value for *_, value in arrived])
        self._read = current_time
        return self._arrived[0] if self._strips else np.array(self._arrived)

    def drop_unobserved_upcoming_items(
        self, observation_schedule: list[tuple[int, int]], read_interval: int
    ) -> None:
        upcoming = [item[:2] for item in self._coming]
        upcoming += [(time + delay, time) for time, delay in observation_schedule]
        seen = collections.defaultdict(list)  # by the read that comes after their arrival
        for arrival, time in sorted(upcoming):
            seen[-((self._read - arrival) // read_interval)].append(time)
        lost = {time for times in seen.values() for time in times[: -self._size]}
        self._coming = [item for item in self._coming if item[1] not in lost]
        observation_schedule[:] = [item for item in observation_schedule if item[0] not in lost]
