"""Random numbers for many simulations, each with a separate generator, drawn in blocks."""

import math

import numpy as np

from mjgym.util.generators import STATE_WORDS, decode, encode
from mjgym.variation.distributions import Distribution, Shape

# A call of the generator costs as much as drawing a hundred numbers.
BLOCK = 128  # draws in a block, at most
NUMBERS = 4096  # in a block, at most; image noise is drawn one image at a time


class Stream:
    """The draws of a distribution, one after the other for each simulation."""

    def __init__(self, distribution: Distribution, n: int, shape: Shape) -> None:
        self._distribution = distribution
        self._shape = shape
        block = self._block = max(1, min(BLOCK, NUMBERS // max(1, math.prod(shape))))
        self._rngs = [np.random.default_rng(0) for _ in range(n)]
        self._before: list[np.ndarray] = [
            np.zeros(STATE_WORDS, np.uint64)
        ] * n  # of the current blocks
        # Simulations mostly draw at the same time: these draws are adjacent.
        self._blocks = np.zeros((block, n, *shape))
        self._used = np.full(n, block)
        self._count = np.zeros(n, dtype=np.int64)  # of blocks

    def seed(self, i: int, rng: np.random.Generator) -> None:
        """Reseed one simulation's stream."""
        self._rngs[i] = rng
        self._used[i] = self._block
        self._count[i] = 0

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Next draw of the simulations in `rows`, (len(rows), *shape)."""
        used = self._used[rows]
        empty = used == self._block
        if empty.any():
            for i in rows[empty].tolist():
                self._refill(i)
            used = self._used[rows]
        self._used[rows] = used + 1
        return np.asarray(self._blocks[used, rows])

    def _refill(self, i: int) -> None:
        rng = self._rngs[i]
        self._before[i] = encode(rng)
        first = int(self._count[i]) * self._block
        self._blocks[:, i] = self._distribution.draws(rng, self._block, self._shape, first)
        self._count[i] += 1
        self._used[i] = 0

    def state(self, rows: np.ndarray) -> np.ndarray:
        """The state of the streams, to continue from, uint64 (len(rows), 8).

        It holds the generators' states before their present blocks, and the numbers of draws and
        blocks: the blocks themselves are redrawn.
        """
        words = np.empty((len(rows), STATE_WORDS + 2), dtype=np.uint64)
        for k, i in enumerate(rows.tolist()):
            words[k, :STATE_WORDS] = self._before[i] if self._count[i] else encode(self._rngs[i])
            words[k, STATE_WORDS:] = self._used[i], self._count[i]
        return words

    def restore(self, rows: np.ndarray, state: np.ndarray) -> None:
        """Continue from a state."""
        for i, words in zip(rows.tolist(), state, strict=True):
            decode(self._rngs[i], words[:STATE_WORDS])
            used, count = (int(w) for w in words[STATE_WORDS:])
            self._count[i] = max(count - 1, 0)
            if count:
                self._refill(i)
            self._used[i] = used
