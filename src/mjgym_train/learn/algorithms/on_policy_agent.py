"""Base class of on-policy algorithms: stochastic policy, value function and loss."""

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
from mjgym_train.learn.action_distributions import Categorical, Gaussian
from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.collector import Size
from mjgym_train.learn.networks import Actor, perceptron
from mjgym_train.learn.rollout import Rollout

NARROWEST = 1e-4  # standard deviation, where it is an output of the network


class OnPolicyAgent(Agent):
    """Base class of algorithms that learn from rollouts of the current policy.

    The policy draws a latent u from a Gaussian with learned mean, and deviations that are separate
    parameters or the softplus of further outputs; the action is tanh(u). Rollouts store u, so
    ratios and density gradients are the Gaussian's: the derivatives of tanh cancel. With the
    setting `bins`, and in discrete spaces, each number of the action is drawn from a categorical
    distribution instead. A perceptron, which may share all layers but the last with the policy's
    (`shared_network`), gives the value in units of `value_scale`, by default 1 / (1 - discount),
    the largest return of rewards within 0 and 1. The policy does not see the last numbers of an
    observation, `critic_only`.
    """

    Config: ClassVar[type[OnPolicyConfig]] = OnPolicyConfig
    config: OnPolicyConfig
    usual_bins: ClassVar[int | None] = None

    def __init__(
        self,
        config: OnPolicyConfig,
        observation_size: Size,
        action_size: int,
        critic_only: int = 0,
    ) -> None:
        super().__init__(config, observation_size, action_size)
        if critic_only and (self.memory is not None or config.shared_network):
            raise ConfigError("critic_entries: go with neither network=gru nor shared_network")
        assert isinstance(observation_size, int)
        self.seen = observation_size - critic_only  # by the policy
        self.bins = config.bins or self.usual_bins
        outputs = action_size * (self.bins or 1)
        if self.bins is None and config.deviations == "softplus":
            outputs *= 2
        inputs = config.history * self.seen if self.memory is None else self.inputs
        self.actor = Actor(inputs, outputs, config.hidden, **self.layers)
        self.value_scale = config.value_scale or 1 / (1 - config.discount)
        if self.bins is None and config.deviations == "free":
            initial = torch.full((action_size,), math.log(config.deviation))
            self.log_deviation = nn.Parameter(initial)
        if config.shared_network:
            head = nn.Linear(config.hidden[-1], 1)
            self.critic = nn.Sequential(*list(self.actor.body)[:-1], head)
        else:
            self.critic = perceptron(self.inputs, config.hidden, 1, **self.layers)

    @abstractmethod
    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        """Learn from a rollout; yields losses by name after each optimiser step."""

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    def act(self, observation: Tensor) -> Tensor:
        return self.action(self.draw(self.normalizer(observation))[0])

    def action(self, latent: Tensor) -> Tensor:
        return torch.tanh(latent) if self.bins is None else latent

    @torch.no_grad()
    def draw(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Latents, (n, action size), drawn for normalised histories, and their log densities."""
        distribution = self.distribution(observation)
        latent = distribution.draw()
        return latent, distribution.log_density(latent)

    def outputs(self, observation: Tensor) -> Tensor:
        outputs: Tensor = self.actor.body(self.features(observation[..., : self.seen]))
        return outputs

    def distribution(self, observation: Tensor) -> Gaussian | Categorical:
        """Distribution of the latents for normalised histories (..., history, size)."""
        outputs = self.outputs(observation)
        if self.bins is None and self.config.deviations == "softplus":
            mean, raw = outputs.chunk(2, -1)
            started = raw + math.log(math.expm1(self.config.deviation))
            return Gaussian(mean, nn.functional.softplus(started).clamp_min(NARROWEST).log())
        if self.bins is None:
            return Gaussian(outputs, self.log_deviation)
        return Categorical(outputs.view(*outputs.shape[:-1], self.action_size, self.bins))

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        return self.greedy(self.outputs(self.normalizer(observation)))

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        policy = super().policy(low, high)
        policy.mean, policy.deviation = policy.mean[: self.seen], policy.deviation[: self.seen]
        return policy

    def value(self, observation: Tensor) -> Tensor:
        value: Tensor = self.critic(self.features(observation))[..., 0]
        return value * self.value_scale

    def error(self, value: Tensor, target: Tensor) -> Tensor:
        return ((value - target) / self.value_scale).square()

    def loss(self, surrogate: Tensor, error: Tensor, entropy: Tensor) -> Tensor:
        """Mean of -surrogate + c1 error - c2 entropy; the entropy is (B,) or the same for all."""
        config = self.config
        bonus = config.entropy_weight * entropy.mean()
        return (config.value_weight * error - surrogate).mean() - bonus
