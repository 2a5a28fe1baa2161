"""Base class of the algorithms that learn from recorded episodes alone."""

import math
from abc import abstractmethod

import torch
from torch import Tensor

from mjgym.train.learn.algorithms.agent import Agent, Metrics
from mjgym.train.learn.demonstrations import Demonstrations


class OfflineAgent(Agent):
    """An algorithm that draws its batches from demonstrations."""

    demonstrations: Demonstrations

    def learn_from(self, demonstrations: Demonstrations) -> None:
        """Draw from this dataset from now on."""
        self.demonstrations = demonstrations

    @abstractmethod
    def update(self) -> Metrics:
        """One update, by a batch that it draws; losses by name."""

    def anneal(self, fraction: float) -> None:
        """Set the learning rates for a part of the budget that is spent: a cosine down to 0."""
        factor = (1 + math.cos(math.pi * min(fraction, 1.0))) / 2
        for optimizer in self._optimizers().values():
            for group in optimizer.param_groups:
                group["lr"] = self.config.learning_rate * factor

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """Actions of the deterministic policy."""
        return self.mean_action(observation)[:, : self.action_size]
