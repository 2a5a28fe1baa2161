"""Prioritised experience replay (Schaul et al., 2016), proportional variant."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mjgym_train.learn.buffer import Batch, ReplayBuffer

FLOOR = 1e-6  # added to losses, so that each transition can be drawn


class SumTree:
    """Weights of a fixed number of places, drawn in proportion in logarithmic time."""

    def __init__(self, size: int) -> None:
        self._first = 1 << (size - 1).bit_length()  # node of the first place
        self._nodes = np.zeros(2 * self._first)  # sums of weights; the root is node 1

    def __getitem__(self, places: Any) -> np.ndarray:
        return np.asarray(self._nodes[self._first :][places])

    @property
    def total(self) -> float:
        return float(self._nodes[1])

    def set(self, places: np.ndarray, weights: Any) -> None:
        """Change the weights of some places."""
        nodes = places + self._first
        self._nodes[nodes] = weights
        while nodes[0] > 1:
            nodes = np.unique(nodes // 2)
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def draw(self, shares: np.ndarray) -> np.ndarray:
        """Places at shares of the total weight, within 0 and 1."""
        nodes, left = np.ones(len(shares), np.int64), shares * self.total
        while nodes[0] < self._first:
            nodes = 2 * nodes
            below = self._nodes[nodes]
            right = (left >= below) & (self._nodes[nodes + 1] > 0)
            left = np.where(right, left - below, left)
            nodes = nodes + right
        return nodes - self._first


class PrioritizedBuffer(ReplayBuffer):
    """A replay buffer that draws transitions in proportion to loss^exponent.

    New transitions have the largest priority so far. With an eviction exponent, a full buffer
    forgets transitions with probabilities in proportion to loss^-eviction instead of the oldest.
    Steps stay in memory as parts of other returns and histories, until twice as many have come.
    Weights are (N P)^-importance, relative to the largest of a sample.
    """

    def __init__(
        self, size: int, *sizes: Any, exponent: float, importance: float, eviction: float,
        **drawn: Any,
    ) -> None:  # fmt: skip
        super().__init__(2 * size if eviction else size, *sizes, **drawn)
        self._most, self._exponent = size, exponent
        self._importance, self._eviction = importance, eviction
        rows = self._length * self.num_envs
        self._losses = np.zeros(rows)  # of stored transitions; 0 where none can be drawn
        self._sampling, self._forgetting = SumTree(rows), SumTree(rows)
        self._live = 0  # transitions that can be drawn
        self._largest = 1.0

    def __len__(self) -> int:
        return self._live

    def add(self, **step: Tensor) -> None:
        before = self._added % self._length * self.num_envs
        super().add(**step)
        self._weigh(np.arange(before, before + self.num_envs), self._largest)
        while self._eviction and (excess := self._live - self._most) > 0:
            shares = torch.rand(excess, dtype=torch.float64).numpy()
            self._weigh(np.unique(self._forgetting.draw(shares)), 0.0)

    def prioritize(self, places: Tensor, losses: Tensor) -> None:
        """Change the priorities of transitions that are still there."""
        there = places.numpy()
        found = losses.double().numpy() + FLOOR
        known = self._losses[there] > 0
        there, first = np.unique(there[known], return_index=True)
        if len(there):
            self._weigh(there, found[known][first])
            self._largest = max(self._largest, float(found.max()))

    def _weigh(self, places: np.ndarray, losses: Any) -> None:
        self._live -= int((self._losses[places] > 0).sum())
        self._losses[places] = losses
        loss = self._losses[places]
        self._live += int((loss > 0).sum())
        self._sampling.set(places, loss**self._exponent)
        if self._eviction:
            forgetting = np.where(loss > 0, np.maximum(loss, FLOOR) ** -self._eviction, 0.0)
            self._forgetting.set(places, forgetting)

    def sample(self, count: int) -> Batch:
        shares = torch.rand(count, dtype=torch.float64).numpy()
        rows = self._sampling.draw(shares)
        newest = self._added - 1
        time = newest - (newest - rows // self.num_envs) % self._length
        batch = self._batch(torch.from_numpy(time), torch.from_numpy(rows % self.num_envs))
        chance = self._sampling[rows] / self._sampling.total
        weight = (len(self) * chance) ** -self._importance
        share = torch.from_numpy(weight / weight.max()).float()
        return replace(batch, weight=share, place=torch.from_numpy(rows))

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        losses = self._losses[: len(state["arrays"]["reward"])].copy()
        return {**state, "losses": torch.from_numpy(losses), "largest": self._largest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._largest = state["largest"]
        self._weigh(np.arange(len(state["losses"])), state["losses"].numpy())
