"""Base class of on-policy algorithms: stochastic policy, value function and loss."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.collector import Size
from mjgym_train.learn.distributions import Categorical, Distribution, Gaussian
from mjgym_train.learn.networks import Actor, perceptron
from mjgym_train.learn.rollout import Rollout


class OnPolicyAgent(Agent):
    """Base class of algorithms that learn from rollouts of the current policy.

    The policy draws a latent u from a Gaussian with learned mean and state-independent deviations;
    the action is tanh(u). Rollouts store u, so ratios and density gradients are the Gaussian's:
    the derivatives of tanh cancel. With the setting `bins`, and in discrete spaces, each number of
    the action is drawn from a categorical distribution instead. A separate perceptron gives the
    value, in units of 1 / (1 - discount), the largest return of rewards within 0 and 1.
    """

    Config: ClassVar[type[OnPolicyConfig]] = OnPolicyConfig
    config: OnPolicyConfig
    usual_bins: ClassVar[int | None] = None

    def __init__(self, config: OnPolicyConfig, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        if not isinstance(observation_size, int):
            raise ConfigError(
                f'env: {config.algorithm} learns from vectors, observation="flat"; from pictures'
                " learn td3, ddpg, d4pg and sac"
            )
        self.bins = config.bins or self.usual_bins
        self.actor = Actor(
            self.inputs, action_size * (self.bins or 1), config.hidden, **self.layers
        )
        if self.bins is None:
            initial = torch.full((action_size,), math.log(config.deviation))
            self.log_deviation = nn.Parameter(initial)
        self.critic = perceptron(self.inputs, config.hidden, 1, **self.layers)

    @abstractmethod
    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        """Learn from a rollout; yields losses by name after each optimiser step."""

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    def act(self, observation: Tensor) -> Tensor:
        return self.action(self.draw(self.normalizer(observation))[0])

    def action(self, latent: Tensor) -> Tensor:
        """Actions within -1 and 1 of latents."""
        return torch.tanh(latent) if self.bins is None else latent

    @torch.no_grad()
    def draw(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Latents, (n, action size), drawn for normalised histories, and their log densities."""
        distribution = self.distribution(observation)
        latent = distribution.draw()
        return latent, distribution.log_density(latent)

    def distribution(self, observation: Tensor) -> Distribution:
        """Distribution of the latents for normalised histories (..., history, size)."""
        outputs: Tensor = self.actor.body(observation.flatten(-2))
        if self.bins is None:
            return Gaussian(outputs, self.log_deviation)
        return Categorical(outputs.view(*outputs.shape[:-1], self.action_size, self.bins))

    def value(self, observation: Tensor) -> Tensor:
        """Values of normalised histories, (...)."""
        value: Tensor = self.critic(observation.flatten(-2))[..., 0]
        return value / (1 - self.config.discount)

    def loss(self, surrogate: Tensor, value: Tensor, target: Tensor, entropy: Tensor) -> Tensor:
        """Loss: -surrogate + c1 (V - target)^2 - c2 entropy.

        Args:
            surrogate: (B,), with the policy gradient.
            value: (B,).
            target: (B,), of the value; the error is in the value's units.
            entropy: (B,) or the same for all, of the policy.
        """
        config = self.config
        error = ((value - target) * (1 - config.discount)).square()
        bonus = config.entropy_weight * entropy.mean()
        return (config.value_weight * error - surrogate).mean() - bonus
