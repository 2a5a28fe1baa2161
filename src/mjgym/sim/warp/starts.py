"""Starts of episodes, drawn on the CPU ahead of time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mjgym.sim.simulation import Start
from mjgym.sim.single import Single

Copy = Callable[[Single], dict[str, np.ndarray]]
"""Copies a start from the simulation in which it was written."""


@dataclass
class _PendingStart:
    """A start that is being drawn, and its generator's state before."""

    numbers: Future[dict[str, np.ndarray]]
    before: np.ndarray


class Starts:
    """The next start of each simulation.

    While an episode runs, threads draw the start of the next one, with the same generator and in
    the same order as without threads.

    Args:
        scratch: creates a simulation to write starts in, one per thread.
        encode: returns the state of a simulation's generator.
        threads: number of threads; 0 to draw each start when it is needed.
    """

    def __init__(
        self, scratch: Callable[[], Single], encode: Callable[[int], np.ndarray], threads: int
    ) -> None:
        self._scratch = scratch
        self._encode = encode
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(threads, "starts") if threads else None
        self._ahead: dict[int, _PendingStart] = {}

    def take(self, ids: list[int], start: Start, copy: Copy) -> list[dict[str, np.ndarray]]:
        """The next starts of some simulations, ids ascending; then draws the following ones ahead.

        Raises:
            Exception: raised by `start`.
        """
        if self._threads is None:
            return [self._draw(i, start, copy) for i in ids]
        for i in ids:
            if i not in self._ahead:
                self._prepare(self._threads, i, start, copy)
        taken = [self._ahead.pop(i).numbers for i in ids]
        results = [numbers.result() for numbers in taken]
        for i in ids:
            self._prepare(self._threads, i, start, copy)
        return results

    def forget(self, i: int) -> np.ndarray | None:
        """Discard a start that was drawn ahead.

        The generator is idle when this returns; the caller restores or replaces it.

        Returns:
            The generator's state before the draw; None if there was none.
        """
        drawn = self._ahead.pop(i, None)
        if drawn is None:
            return None
        if not drawn.numbers.cancel():
            drawn.numbers.exception()
        return drawn.before

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def _prepare(self, threads: ThreadPoolExecutor, i: int, start: Start, copy: Copy) -> None:
        before = self._encode(i)
        self._ahead[i] = _PendingStart(threads.submit(self._draw, i, start, copy), before)

    def _draw(self, i: int, start: Start, copy: Copy) -> dict[str, np.ndarray]:
        scratch: Single | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._scratch()
        start(i, scratch)
        return copy(scratch)
