"""Scratch simulations in which the starts of a batch's episodes are written.

Most starts are a few numbers, which one thread writes faster than several, as only one at a time
runs Python. Starts that run physics for a while in one call are written by all threads of the
batch, each in its own scratch simulation. A start depends on its generator alone, not on the
thread.
"""

import concurrent.futures
import contextvars
import copy
import threading
from collections.abc import Callable, Sequence

import mujoco

from mjgym.sim.simulation import Start
from mjgym.sim.single import Single

MIN_STEPS = 20  # from this many physics steps per call on, several threads are faster than one
Copy = Callable[[Single, int], None]
"""Copies a start from a scratch simulation into simulation i."""


class Scratches:
    """Writes starts, in several threads if starts run physics.

    Args:
        first: the scratch simulation of the calling thread.
        varies: names of the model fields that belong to an episode.
        threads: maximum number of threads; 1 if starts must be written one by one.
    """

    def __init__(
        self, first: Single, model: mujoco.MjModel, varies: tuple[str, ...], threads: int
    ) -> None:
        self._all = [first]
        self._model, self._varies, self._threads = model, varies, threads
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def write(self, ids: Sequence[int], start: Start, take: Copy) -> None:
        """Write the next starts of some simulations.

        Args:
            ids: indices of the simulations.
            take: receives each start, possibly in several threads at once.
        """
        if not ids:
            return
        first, *others = ids
        self._write(first, self._all[0], start, take)
        count = min(self._threads, len(others))
        if count > 1 and self._all[0].view.longest >= MIN_STEPS:
            self._write_beside(others, start, take, count)
        else:
            for i in others:
                self._write(i, self._all[0], start, take)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _write(self, i: int, scratch: Single, start: Start, take: Copy) -> None:
        start(i, scratch)
        take(scratch, i)

    def _write_beside(self, ids: Sequence[int], start: Start, take: Copy, count: int) -> None:
        while len(self._all) < count:
            self._all.append(Single(copy.copy(self._model), self._varies))
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self._threads - 1, "mjgym-start")
        left, lock = iter(enumerate(ids)), threading.Lock()
        failed: dict[int, BaseException] = {}

        def run(scratch: Single) -> None:
            while not failed:
                with lock:
                    place, i = next(left, (-1, -1))
                if place < 0:
                    return
                try:
                    self._write(i, scratch, start, take)
                except BaseException as error:  # of another thread: raised below
                    failed[place] = error

        running = []
        for scratch in self._all[1:count]:
            context = contextvars.copy_context()  # e.g. NumPy's error state
            running.append(self._pool.submit(context.run, run, scratch))
        try:
            run(self._all[0])
        finally:
            concurrent.futures.wait(running)
        if failed:
            raise failed[min(failed)]
