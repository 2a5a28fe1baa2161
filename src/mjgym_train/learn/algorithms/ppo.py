"""PPO, proximal policy optimisation with a clipped surrogate (Schulman et al., 2017).

    A     = generalised advantages of a rollout, V' = A + V
    ratio = pi(u|s) / pi_old(u|s)
    minimise  -min(ratio A, clip(ratio, 1 - epsilon, 1 + epsilon) A) + c1 (V(s) - V')^2 - c2 H(pi)

by several epochs of minibatches over the rollout, with the advantages of each minibatch normalised.
Unlike in the paper, policy and value share no layers, and gradients are clipped by their norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from mjgym_train.config import Bounds, Count, OnPolicyConfig, Positive
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.collector import Size
from mjgym_train.learn.rollout import Rollout, advantages


@dataclass(frozen=True)
class PPOConfig(OnPolicyConfig):
    """Settings of PPO."""

    epochs: Count = 10  # over each rollout
    minibatch_size: Annotated[int, Bounds(2)] = 256  # so that advantages have a deviation
    clip: Positive = 0.2  # epsilon


class PPO(OnPolicyAgent):
    """PPO; see the module."""

    Config: ClassVar[type[OnPolicyConfig]] = PPOConfig
    config: PPOConfig

    def __init__(self, config: PPOConfig, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        self.optimizer = torch.optim.Adam(self.parameters(), config.learning_rate, eps=1e-5)

    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        config = self.config
        with torch.no_grad():
            value = self.value(rollout.observation)
            following_value = self.value(rollout.following)
        advantage = advantages(rollout, value, following_value, config.discount, config.gae_lambda)
        data = [
            rollout.observation,
            rollout.latent,
            rollout.log_density,
            advantage,
            advantage + value,
        ]
        data = [part.flatten(0, 1) for part in data]
        for _ in range(config.epochs):
            for drawn in torch.split(torch.randperm(advantage.numel()), config.minibatch_size):
                yield self.minibatch(*(part[drawn] for part in data))

    def minibatch(
        self,
        observation: Tensor,
        latent: Tensor,
        old_log_density: Tensor,
        advantage: Tensor,
        target: Tensor,
    ) -> Metrics:
        """One optimiser step."""
        clip = self.config.clip
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
        policy = self.distribution(observation)
        log_ratio = policy.log_density(latent) - old_log_density
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - clip, 1 + clip)
        surrogate = torch.minimum(ratio * advantage, clipped * advantage)
        value = self.value(observation)
        loss = self.loss(surrogate, value, target, policy.entropy())
        self.step(self.optimizer, loss, self.config.max_gradient_norm)
        return {
            "surrogate": surrogate.detach().mean(),
            "value": value.detach().mean(),
            "entropy": policy.entropy().detach().mean(),
            "divergence": (ratio - 1 - log_ratio).detach().mean(),  # KL(old, new), Schulman's
            "clipped": (ratio != clipped).float().mean(),
        }
