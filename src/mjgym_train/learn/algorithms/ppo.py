"""PPO, proximal policy optimisation with a clipped surrogate (Schulman et al., 2017).

    A     = generalised advantages of a rollout, V' = A + V
    ratio = pi(u|s) / pi_old(u|s)
    minimise  -min(ratio A, clip(ratio, 1 - epsilon, 1 + epsilon) A) + c1 (V(s) - V')^2 - c2 H(pi)

by several epochs of minibatches over the rollout, with the advantages of each minibatch normalised.
Unlike in the paper, policy and value share no layers unless `shared_network` says so, and gradients
are clipped by their norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import Bounds, Count, OnPolicyConfig, Positive, fixed
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.mirror import Mirror
from mjgym_train.learn.rollout import Rollout, advantages

# Bounds of a learning rate that follows the divergence, and the factor of a change; by Rudin et al.
# (2022), after Schulman et al. (2017, section 4).
RATES = (1e-5, 1e-2)
RATE_STEP = 1.5


@dataclass(frozen=True)
class PPOConfig(OnPolicyConfig):
    """Settings of PPO."""

    epochs: Count = 10  # over each rollout
    minibatch_size: Annotated[int, Bounds(2)] = 256  # so that advantages have a deviation
    clip: Positive = 0.2  # epsilon
    clip_value: bool = False  # values change by at most epsilon of their unit in an update
    # KL divergence of an optimiser step's minibatch that the learning rate follows; None: it does
    # not. Beyond twice this the rate falls, and below half of it the rate rises.
    target_divergence: Positive | None = None
    # Learn from each transition and its mirror image, of a robot with a left and a right side
    # (Mittal et al., 2024).
    symmetry: bool = fixed(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.symmetry and (self.bins or self.entry_weights):
            raise ConfigError("symmetry: leave out bins and entry_weights")
        if self.target_divergence is not None and (self.learning_rate_left < 1 or self.scheduler):
            raise ConfigError(
                "target_divergence: the learning rate follows it alone, not the budget or a"
                " scheduler; learning_rate_left must be 1"
            )


class PPO(OnPolicyAgent):
    """The agent of PPO, which the module describes."""

    Config: ClassVar[type[OnPolicyConfig]] = PPOConfig
    config: PPOConfig
    rate_share: Tensor
    mirrors: tuple[Mirror, Mirror] | None = None  # of observations and actions

    def __init__(self, config: PPOConfig, *sizes: Any) -> None:
        super().__init__(config, *sizes)
        self.optimizer = self.optimized(
            self.parameters(), config.learning_rate, torch.optim.Adam, eps=1e-5
        )
        # Of the learning rate; kept in checkpoints.
        self.register_buffer("rate_share", torch.ones((), dtype=torch.float64))

    def reflect(self, observation: Mirror, action: Mirror) -> None:
        """Learn from mirror images as well; called before the first observation."""
        self.mirrors = observation, action
        self.normalizer.mirror = observation

    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        config = self.config
        with torch.no_grad():
            value = self.value(rollout.observation)
            following_value = self.value(rollout.following)
        advantage = advantages(rollout, value, following_value, config.discount, config.gae_lambda)
        drawn_with = rollout.observation, rollout.latent, rollout.log_density
        parts = (*drawn_with, advantage, advantage + value, value)
        data = [part.flatten(0, 1) for part in parts]
        for _ in range(config.epochs):
            for drawn in torch.split(torch.randperm(advantage.numel()), config.minibatch_size):
                yield self.minibatch(*(part[drawn] for part in data))

    def minibatch(self, *data: Tensor) -> Metrics:
        observation, latent, old_log_density, advantage, target, old_value = data
        clip, drawn = self.config.clip, len(observation)
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
        if self.mirrors is not None:
            # An image has the density with which the original was drawn, and its value.
            of_observation, of_action = self.mirrors
            observation = torch.cat([observation, of_observation(observation)])
            latent = torch.cat([latent, of_action(latent)])
            old_log_density, advantage, target, old_value = (
                part.repeat(2) for part in (old_log_density, advantage, target, old_value)
            )
        policy = self.distribution(observation)
        log_ratio = policy.log_density(latent) - old_log_density
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - clip, 1 + clip)
        surrogate = torch.minimum(ratio * advantage, clipped * advantage)
        value = self.value(observation)
        error = self.error(value, target)
        if self.config.clip_value:
            change = (value - old_value).clamp(-clip * self.value_scale, clip * self.value_scale)
            error = torch.maximum(error, self.error(old_value + change, target))
        loss = self.loss(surrogate, error, policy.entropy())
        divergence = (ratio - 1 - log_ratio)[:drawn].detach().mean()  # KL(old, new), Schulman's
        if self.config.target_divergence is not None:
            self._follow(float(divergence), self.config.target_divergence)
        self.step(self.optimizer, loss, self.config.max_gradient_norm)
        return {
            "surrogate": surrogate.detach().mean(),
            "value": value.detach().mean(),
            "entropy": policy.entropy().detach().mean(),
            "divergence": divergence,
            "clipped": (ratio != clipped).float().mean(),
        }

    def _follow(self, divergence: float, target: float) -> None:
        low, high = (rate / self.config.learning_rate for rate in RATES)
        if divergence > 2 * target:
            self.rate_share.copy_((self.rate_share / RATE_STEP).clamp(min=low))
        elif divergence < target / 2:
            self.rate_share.copy_((self.rate_share * RATE_STEP).clamp(max=high))
        self.scale_rates(float(self.rate_share))
