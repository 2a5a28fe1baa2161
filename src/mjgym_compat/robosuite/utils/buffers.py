"""Buffers of the last values of a number or an array."""

from typing import Any

import numpy as np


class Buffer:
    """Base class of buffers."""

    def push(self, value: Any) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError


class RingBuffer(Buffer):
    """The last values, each (dim,).

    Args:
        length: how many values it holds.

    Attributes:
        buf: the values, (length, dim), in no order.
        ptr: row of the last one.
    """

    buf: np.ndarray
    ptr: int
    _size: int

    def __init__(self, dim: int, length: int) -> None:
        self.dim, self.length = dim, length
        self.clear()

    def push(self, value: Any) -> None:
        self.ptr = (self.ptr + 1) % self.length
        self.buf[self.ptr] = value
        self._size = min(self._size + 1, self.length)

    def clear(self) -> None:
        self.buf, self.ptr, self._size = np.zeros((self.length, self.dim)), self.length - 1, 0

    @property
    def current(self) -> np.ndarray:
        return np.asarray(self.buf[self.ptr])

    @property
    def average(self) -> np.ndarray:
        return np.asarray(self.buf[: self._size].mean(axis=0))


class DelayBuffer(RingBuffer):
    """A ring buffer that is read with a delay."""

    def get_delayed_value(self, delay: int) -> np.ndarray:
        """The value pushed `delay` values before the last.

        Raises:
            ValueError: the buffer is shorter.
        """
        if delay >= self.length:
            raise ValueError(f"delay: expected less than {self.length}, got {delay}")
        return np.asarray(self.buf[(self.ptr - delay) % self.length])


class DeltaBuffer(Buffer):
    """A value now and before, as `current` and `last`.

    Args:
        init_value: of `last`; zeros by default.
    """

    last: np.ndarray
    current: np.ndarray

    def __init__(self, dim: int, init_value: Any = None) -> None:
        self.dim = dim
        self.clear()
        if init_value is not None:
            self.last = np.array(init_value, float)

    def push(self, value: Any) -> None:
        self.last, self.current = self.current, np.array(value, float)

    def clear(self) -> None:
        self.last, self.current = np.zeros(self.dim), np.zeros(self.dim)

    @property
    def delta(self) -> np.ndarray:
        return np.asarray(self.current - self.last)

    @property
    def average(self) -> np.ndarray:
        return np.asarray((self.current + self.last) / 2)
