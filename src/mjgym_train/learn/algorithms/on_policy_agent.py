"""Base class of on-policy algorithms: Gaussian policy, value function and loss."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import Policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.collector import Size
from mjgym_train.learn.networks import Actor, perceptron
from mjgym_train.learn.rollout import Rollout


class OnPolicyAgent(Agent):
    """Base class of algorithms that learn from rollouts of the current policy.

    The policy draws a latent u from a Gaussian with learned mean and state-independent deviations;
    the action is tanh(u). Rollouts store u, so ratios and density gradients are the Gaussian's:
    the derivatives of tanh cancel. A separate perceptron gives the value, in units of
    `value_scale`, by default 1 / (1 - discount), the largest return of rewards within 0 and 1.

    Args:
        config: settings.
        observation_size: numbers in an observation.
        action_size: numbers in an action.
        critic_only: the last numbers of an observation, which the policy does not see.
    """

    Config: ClassVar[type[OnPolicyConfig]] = OnPolicyConfig
    config: OnPolicyConfig

    def __init__(
        self,
        config: OnPolicyConfig,
        observation_size: Size,
        action_size: int,
        critic_only: int = 0,
    ) -> None:
        super().__init__(config, observation_size, action_size)
        if not isinstance(observation_size, int):
            raise ConfigError(
                f'env: {config.algorithm} learns from vectors, observation="flat"; from pictures'
                " learn td3, ddpg, d4pg and sac"
            )
        self.seen = observation_size - critic_only  # by the policy
        inputs = config.history * self.seen
        self.actor = Actor(inputs, action_size, config.hidden, **self.layers)
        self.value_scale = config.value_scale or 1 / (1 - config.discount)
        self.log_deviation = nn.Parameter(torch.full((action_size,), math.log(config.deviation)))
        self.critic = perceptron(self.inputs, config.hidden, 1, **self.layers)

    @abstractmethod
    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        """Learn from a rollout; yields losses by name after each optimiser step."""

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        return torch.tanh(self.draw(self.normalizer(observation))[0])

    @torch.no_grad()
    def draw(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Latents, (n, action size), sampled for normalised histories, and their log densities."""
        mean = self.mean(observation)
        latent = mean + self.log_deviation.exp() * torch.randn_like(mean)
        return latent, self.log_density(observation, latent)

    def mean(self, observation: Tensor) -> Tensor:
        """Latent means for normalised histories (..., history, size)."""
        mean: Tensor = self.actor.body(observation[..., : self.seen].flatten(-2))
        return mean

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        return torch.tanh(self.mean(self.normalizer(observation)))

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        policy = super().policy(low, high)
        policy.mean, policy.deviation = policy.mean[: self.seen], policy.deviation[: self.seen]
        return policy

    def log_density(self, observation: Tensor, latent: Tensor) -> Tensor:
        """Log densities of latents, (...)."""
        z = (latent - self.mean(observation)) / self.log_deviation.exp()
        return (-0.5 * z.square() - self.log_deviation - 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Tensor:
        """Entropy of a latent, in nats, independent of the state."""
        return (self.log_deviation + 0.5 * math.log(2 * math.pi * math.e)).sum()

    def value(self, observation: Tensor) -> Tensor:
        """Values of normalised histories, (...)."""
        value: Tensor = self.critic(observation.flatten(-2))[..., 0]
        return value * self.value_scale

    def error(self, value: Tensor, target: Tensor) -> Tensor:
        """Squared errors of values, (B,), in units of `value_scale`."""
        return ((value - target) / self.value_scale).square()

    def loss(self, surrogate: Tensor, error: Tensor) -> Tensor:
        """Loss: -surrogate + c1 error - c2 entropy.

        Args:
            surrogate: (B,), with the policy gradient.
            error: (B,), of the values.
        """
        config = self.config
        bonus = config.entropy_weight * self.entropy()
        return (config.value_weight * error - surrogate).mean() - bonus
