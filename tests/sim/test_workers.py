"""Threads that run compiled code with the calling one."""

import ctypes
import gc
import threading

import numpy as np
import pytest

workers = pytest.importorskip("mjgym_fast.workers", reason="needs the extra fast")

RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


def stepping():
    return {x for x in threading.enumerate() if x.name.startswith("mjgym-step")}


class Work:
    """Parts of work that are taken one by one, and the threads that took part in it."""

    def __init__(self, count):
        self.done = np.zeros(0, dtype=int)
        self._lock, self._left = threading.Lock(), 0
        self.numbers = set()
        self.function = RUN(self._run)
        self.pool = workers.Workers(ctypes.cast(self.function, ctypes.c_void_p).value, 0, count)

    def _run(self, _, number):
        self.numbers.add(number)
        while True:
            with self._lock:
                if not self._left:
                    return
                self._left -= 1
                part = self._left
            self.done[part] += 1

    def turn(self, parts):
        self.done, self._left = np.zeros(parts, dtype=int), parts
        self.pool()
        return self.done


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_part_is_done_once_when_a_turn_returns(count):
    work = Work(count)
    for turn in range(500):
        assert (work.turn(turn % 23) == 1).all()
    assert work.numbers <= set(range(count))
    work.pool.close()


def test_threads_take_part():
    met = threading.Barrier(3)
    function = RUN(lambda _, number: met.wait(60) and None)
    pool = workers.Workers(ctypes.cast(function, ctypes.c_void_p).value, 0, 3)
    pool()  # returns, so all three have been in it at once
    assert not met.broken
    pool.close()


@pytest.mark.slow
def test_threads_end_with_their_pool():
    before = stepping()
    first, second = Work(4), Work(3)
    own = stepping() - before
    assert len(own) == 5
    first.turn(3)
    first.pool.close()
    first.pool.close()
    assert len(stepping() & own) == 2
    second.turn(5)
    del second
    gc.collect()
    assert not stepping() & own
