"""Base class of algorithms with a deterministic actor: actor, target actor and noise."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from mjgym_train.config import Bounds, OffPolicyConfig, fixed
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.collector import Size
from mjgym_train.learn.exploration import Exploration, ExplorationSettings
from mjgym_train.learn.networks import Actor


@dataclass(frozen=True)
class DeterministicConfig(ExplorationSettings, OffPolicyConfig):
    """Settings of a deterministic actor with exploration noise."""

    # Of an averaged actor towards the trained one at each of its updates. The average is the
    # policy; the trained one explores. None: no average.
    average_rate: Annotated[float, Bounds(above=0, high=1)] | None = fixed(None)


class DeterministicAgent(OffPolicyAgent):
    """Base class of algorithms with a deterministic actor and exploration noise."""

    config: DeterministicConfig

    def __init__(
        self, config: DeterministicConfig, observation_size: Size, action_size: int
    ) -> None:
        super().__init__(config, observation_size, action_size)
        self.actor = Actor(self.inputs, action_size, config.hidden, **self.layers)
        self.target_actor = self.target_copy(self.actor)
        self.actor_optimizer = self.optimizer(self.actor.parameters(), config.actor_learning_rate)
        self.average_actor = None if config.average_rate is None else self.target_copy(self.actor)
        self.exploration = Exploration(config, config.num_envs, self.actor.body)

    def actor_body(self) -> nn.Sequential:
        actor: Actor = self.average_actor or self.actor
        return actor.body

    def move_actors(self) -> None:
        """Move the target actor and the averaged one towards the actor."""
        self.soft_update(self.target_actor, self.actor)
        if self.average_actor is not None:
            self.soft_update(self.average_actor, self.actor, self.config.average_rate)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        noisy: Tensor = self.exploration(self.actor.body, self.encode(observation).flatten(1))
        return noisy

    def begin(self, begun: Tensor) -> None:
        self.exploration.begin(begun)
