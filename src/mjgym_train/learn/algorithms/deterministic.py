"""Base class of algorithms with a deterministic actor: actor, target actor and noise."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.collector import Size
from mjgym_train.learn.exploration import Exploration, ExplorationSettings
from mjgym_train.learn.networks import Actor


@dataclass(frozen=True)
class DeterministicConfig(ExplorationSettings, OffPolicyConfig):
    """Settings of a deterministic actor with exploration noise."""


class DeterministicAgent(OffPolicyAgent):
    """Base class of algorithms with a deterministic actor and exploration noise."""

    def __init__(
        self, config: DeterministicConfig, observation_size: Size, action_size: int
    ) -> None:
        super().__init__(config, observation_size, action_size)
        self.actor = Actor(self.inputs, action_size, config.hidden, **self.layers)
        self.target_actor = self.target_copy(self.actor)
        self.actor_optimizer = self.optimizer(self.actor.parameters(), config.actor_learning_rate)
        self.exploration = Exploration(config, config.num_envs, self.actor.body)

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        noisy: Tensor = self.exploration(self.actor.body, self.encode(observation).flatten(1))
        return noisy

    def begin(self, begun: Tensor) -> None:
        self.exploration.begin(begun)
