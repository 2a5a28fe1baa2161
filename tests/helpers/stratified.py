"""Random starts that leave out no part of what they are drawn from."""

import numpy as np


class Stratified(np.random.Generator):
    """A generator for a number of episodes, whose uniform draws are a Latin hypercube.

    Of the k-th uniform number of each episode, one lies in each of `episodes` equal parts of its
    range: as many starts look into the corners as many times more independent ones would.

    Args:
        episodes: how many are begun, each after `begin`.
        seed: of all draws.
        numbers: the first of an episode that are drawn so; later ones are independent.
    """

    def __init__(self, episodes: int, seed: int = 0, numbers: int = 16) -> None:
        super().__init__(np.random.PCG64(seed))
        self.parts = self.permuted(np.tile(np.arange(episodes), (numbers, 1)), axis=1)
        self.episode, self.drawn = 0, 0

    def begin(self, episode: int) -> None:
        self.episode, self.drawn = episode, 0

    def uniform(self, low=0.0, high=1.0, size=None):
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else size
        drawn = np.array(self.random(shape))
        flat = drawn.reshape(-1)
        first = slice(0, max(0, min(flat.size, len(self.parts) - self.drawn)))
        parts = self.parts[self.drawn :][: flat.size, self.episode]
        flat[first] = (parts + flat[first]) / self.parts.shape[1]
        self.drawn += flat.size
        return (low + drawn * (np.asarray(high) - low))[()]
