"""Starts of episodes, drawn on the processor before they are needed."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mjgym.sim.simulation import Start
from mjgym.sim.single import Single

Copy = Callable[[Single], dict[str, np.ndarray]]
"""Copies what a start consists of out of the simulation in which it was written."""


@dataclass
class _Drawn:
    """A start that is being drawn, and the state of its generator before."""

    numbers: Future[dict[str, np.ndarray]]
    before: np.ndarray


class Starts:
    """The next start of each simulation.

    While one episode runs, threads draw the start of the next: with the generator and in the order
    that the simulation would have drawn it with anyway.

    Args:
        scratch: makes a simulation to write starts in; each thread has its own.
        encode: gives the state of the generator of a simulation.
        threads: 0 to draw each start only when it is needed.
    """

    def __init__(
        self, scratch: Callable[[], Single], encode: Callable[[int], np.ndarray], threads: int
    ) -> None:
        self._scratch = scratch
        self._encode = encode
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(threads, "starts") if threads else None
        self._ahead: dict[int, _Drawn] = {}

    def take(self, ids: list[int], start: Start, copy: Copy) -> list[dict[str, np.ndarray]]:
        """Next initial states of the given simulations; then draws the following ones ahead.

        Args:
            ids: of the simulations, ascending.
            start: writes the next start of one.
            copy: what is kept of it.

        Raises:
            Exception: what `start` raises.
        """
        if self._threads is None:
            return [self._draw(i, start, copy) for i in ids]
        for i in ids:
            if i not in self._ahead:
                self._prepare(self._threads, i, start, copy)
        taken = [self._ahead.pop(i).numbers for i in ids]
        found = [numbers.result() for numbers in taken]
        for i in ids:
            self._prepare(self._threads, i, start, copy)
        return found

    def forget(self, i: int) -> np.ndarray | None:
        """Throw away a start that has been drawn ahead.

        Returns:
            The state of the generator before it was drawn; None if none has been.

        The generator is not used any more when this returns, and has to be set back, or replaced.
        """
        drawn = self._ahead.pop(i, None)
        if drawn is None:
            return None
        if not drawn.numbers.cancel():
            drawn.numbers.exception()
        return drawn.before

    def close(self) -> None:
        """Wait for the threads and let go of them."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def _prepare(self, threads: ThreadPoolExecutor, i: int, start: Start, copy: Copy) -> None:
        before = self._encode(i)
        self._ahead[i] = _Drawn(threads.submit(self._draw, i, start, copy), before)

    def _draw(self, i: int, start: Start, copy: Copy) -> dict[str, np.ndarray]:
        scratch: Single | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._scratch()
        start(i, scratch)
        return copy(scratch)
