"""Base class of algorithms that learn from recorded episodes alone."""

from abc import abstractmethod

import torch
from torch import Tensor

from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.demonstrations import Demonstrations


class OfflineAgent(Agent):
    """Base class of algorithms that draw their batches from demonstrations."""

    demonstrations: Demonstrations

    def learn_from(self, demonstrations: Demonstrations) -> None:
        self.demonstrations = demonstrations

    @abstractmethod
    def update(self) -> Metrics:
        """One update on a batch that it draws; losses by name."""

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        return self.mean_action(observation)[:, : self.action_size]
