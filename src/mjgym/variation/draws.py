"""The varied numbers of the present episodes, and the generators of their next values."""

from collections.abc import Mapping

import numpy as np

from mjgym.util.generators import WORDS, decode, encode
from mjgym.variation.varying import Varying


class Draws:
    """The varied numbers of the episodes of n simulations, each drawn with its own generator.

    Args:
        varying: what varies.
        every: "episode", "reset" or "never": when there are new values.
        n: number of simulations.
    """

    def __init__(self, varying: Varying, every: str, n: int) -> None:
        self._varying = varying
        self._every = every
        self._rngs = [np.random.default_rng(0) for _ in range(n)]
        self._count = np.zeros(n, dtype=np.int64)  # of draws so far
        self.values = {key: np.zeros((n, *shape)) for key, shape in varying.shapes().items()}

    def seed(self, i: int, rng: np.random.Generator) -> None:
        """Begin anew for one simulation."""
        self._rngs[i] = rng
        self._count[i] = 0

    def next(self, i: int, *, by_reset: bool) -> dict[str, np.ndarray]:
        """The values of a simulation's next episode.

        Args:
            i: which simulation.
            by_reset: whether `reset` starts the episode, rather than an autoreset.
        """
        count = int(self._count[i])
        if count == 0 or self._every == "episode" or (self._every == "reset" and by_reset):
            for key, values in self._varying.draw(self._rngs[i], count).items():
                self.values[key][i] = values
            self._count[i] = count + 1
        return {key: values[i] for key, values in self.values.items()}

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of all that the next values depend on, and of the present ones by key."""
        words = np.empty((len(rows), WORDS), dtype=np.uint64)
        for k, i in enumerate(rows.tolist()):
            words[k] = encode(self._rngs[i])
        present = {f"variation.{key}": values[rows] for key, values in self.values.items()}
        return {"rng.variation": words, "variation.count": self._count[rows], **present}

    def restore(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Go on from a state, or from those of its entries that are there."""
        for k, i in enumerate(rows.tolist()):
            if "rng.variation" in state:
                decode(self._rngs[i], state["rng.variation"][k])
        if "variation.count" in state:
            self._count[rows] = state["variation.count"]
        for key, values in self.values.items():
            if (name := f"variation.{key}") in state:
                values[rows] = state[name]
