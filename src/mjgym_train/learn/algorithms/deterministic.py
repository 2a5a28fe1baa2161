"""Base class of algorithms with a deterministic actor: actor, target actor, noise and update."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import Bounds, OffPolicyConfig, fixed
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.exploration import Exploration, ExplorationSettings
from mjgym_train.learn.networks import Actor
from mjgym_train.learn.pictures import Encoder


@dataclass(frozen=True)
class DeterministicConfig(ExplorationSettings, OffPolicyConfig):
    """Settings of a deterministic actor with exploration noise."""

    # Of an averaged actor towards the trained one at each of its updates. The average is the
    # policy; the trained one explores. None: no average.
    average_rate: Annotated[float, Bounds(above=0, high=1)] | None = fixed(None)
    # Whose loss trains the encoder of images; "separate": the actor has one of its own.
    encoder_gradient: Literal["critic", "actor", "both", "separate"] = fixed("critic")


class DeterministicAgent(OffPolicyAgent):
    """Base class of algorithms with a deterministic actor and exploration noise."""

    config: DeterministicConfig

    def __init__(
        self, config: DeterministicConfig, observation_size: Size, action_size: int
    ) -> None:
        super().__init__(config, observation_size, action_size)
        self.actor = Actor(self.inputs, action_size, config.hidden, **self.layers)
        self.target_actor = self.target_copy(self.actor)
        self.own_encoder: Encoder | None = None
        trained = list(self.actor.parameters())
        if config.encoder_gradient != "critic":
            if isinstance(observation_size, int) or self.encoder is None:
                raise ConfigError("encoder_gradient: vectors have no encoder")
            if config.encoder_gradient == "separate":
                self.own_encoder = Encoder.from_config(config, observation_size)
            trained += (self.own_encoder or self.encoder).parameters()
        self.actor_optimizer = self.optimizer(trained, config.actor_learning_rate)
        self.average_actor = None if config.average_rate is None else self.target_copy(self.actor)
        self.exploration = Exploration(config, config.num_envs, self.actor.body)

    @property
    def critics_train_encoder(self) -> bool:
        return self.config.encoder_gradient != "actor"

    @property
    def acting_encoder(self) -> Encoder | None:
        return self.own_encoder or self.encoder

    def encoded(self, batch: Batch) -> Batch:
        made = super().encoded(batch)
        if self.config.encoder_gradient == "critic":
            return made
        return replace(made, pictures=(batch.observation, batch.following))

    def actor_inputs(self, batch: Batch) -> Tensor:
        """Inputs of the actor, through which its loss trains the encoder, if it does."""
        if batch.pictures is None:
            return batch.observation.detach()
        return self.encode(batch.pictures[0], self.acting_encoder)

    def following_action(self, batch: Batch) -> Tensor:
        """The target actor's action in the following observation."""
        following = batch.following
        if batch.pictures is not None and self.own_encoder is not None:
            following = self.encode(batch.pictures[1], self.own_encoder)
        action: Tensor = self.target_actor(following)
        return action

    @property
    def policy_delay(self) -> int:
        """Updates of the critics for one of the actor and of the targets."""
        return 1

    def update(self, batch: Batch) -> Metrics:
        self.updates += 1
        metrics = self.critic_step(self.critic_loss(batch, self.target(batch)))
        if self.updates % self.policy_delay == 0:
            action = self.actor(self.actor_inputs(batch))
            value = self.acting_value(self.critics(batch.observation.detach(), action, count=1))
            self.actor_step(self.actor_loss(batch, action, value))
            self.soft_update(self.target_critics, self.critics)
            self.move_actors()
            metrics["value"] = value.detach().mean()
        return metrics

    def actor_loss(self, batch: Batch, action: Tensor, value: Tensor) -> Tensor:
        """The loss of the actor, for its actions in a batch and their values, (1, B)."""
        return -value.mean()

    @torch.no_grad()
    def target(self, batch: Batch) -> Tensor:
        """The target y, (B, heads, size)."""
        action = self.smoothed(self.following_action(batch))
        outputs = self.target_critics(batch.following, action)
        return self.critic.backup(self.lowest_critic(outputs), *self.returns(batch))

    def smoothed(self, action: Tensor) -> Tensor:
        """The target's action, from that of the target actor."""
        return action

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
        inputs = self.encode(observation, self.acting_encoder)
        noisy: Tensor = self.exploration(self.actor.body, inputs)
        return noisy

    def begin(self, begun: Tensor) -> None:
        self.exploration.begin(begun)
