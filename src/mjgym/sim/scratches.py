"""Scratch simulations that the starts of a batch's episodes are written in.

Most starts are a few numbers, which one thread writes sooner than several could, as only one at a
time runs Python. Some let physics run for a while, in one call: these are written by all threads of
the batch, each in a scratch simulation of its own. What a start is follows from its own generator
alone, not from the thread.
"""

import concurrent.futures
import contextvars
import copy
import threading
from collections.abc import Callable, Sequence

import mujoco

from mjgym.sim.simulation import Start
from mjgym.sim.single import Single

MIN_STEPS = 20  # physics steps in one call, from which on several threads are faster than one
Copy = Callable[[Single, int], None]
"""Copies a start out of a scratch simulation into the simulation of that number."""


class Scratches:
    """Writes starts, by several threads where physics runs in them.

    Args:
        first: the scratch simulation of the calling thread.
        model: the compiled model.
        varies: names of the model fields that belong to an episode.
        threads: at most; 1 where starts may not be written side by side.
    """

    def __init__(
        self, first: Single, model: mujoco.MjModel, varies: tuple[str, ...], threads: int
    ) -> None:
        self._all = [first]
        self._model, self._varies, self._threads = model, varies, threads
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def write(self, ids: Sequence[int], start: Start, take: Copy) -> None:
        """Write the next initial states of the given simulations.

        Args:
            ids: of the simulations.
            start: writes one.
            take: called with each that has been written, maybe by several threads at once.

        Raises:
            Exception: what `start` raises, of the first simulation in the order of `ids` for which
                it does; further starts may have been written by then.
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
        """Let go of the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _write(self, i: int, scratch: Single, start: Start, take: Copy) -> None:
        start(i, scratch)
        take(scratch, i)

    def _write_beside(self, ids: Sequence[int], start: Start, take: Copy, count: int) -> None:
        """Write starts by so many threads, the calling one among them; each takes the next one."""
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
            context = contextvars.copy_context()  # NumPy's way with errors, and whatever else
            running.append(self._pool.submit(context.run, run, scratch))
        try:
            run(self._all[0])
        finally:
            concurrent.futures.wait(running)
        if failed:
            raise failed[min(failed)]
