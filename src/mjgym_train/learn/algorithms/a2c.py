"""A2C, advantage actor-critic: A3C (Mnih et al., 2016) whose workers step and learn together.

    R_t = r_t + gamma r_{t+1} + ... + gamma^k V(s_{t+k}), up to the end of the rollout
    minimise  -log pi(u_t|s_t) (R_t - V(s_t)) + c1 (V(s_t) - R_t)^2 - c2 H(pi)

with one step of RMSProp for each rollout. Time limits end a return with the value of what the
episode had come to. The paper's networks share their layers and have deviations that are outputs:
`shared_network=true deviations=softplus`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.rollout import Rollout, advantages


@dataclass(frozen=True)
class A2CConfig(OnPolicyConfig):
    """Settings of A2C."""

    rollout_steps: int = 10
    gae_lambda: float = 1.0  # as in the paper; below 1, shorter returns count too
    learning_rate: float = 7e-4
    entropy_weight: float = 1e-4  # of the paper's continuous tasks


class A2C(OnPolicyAgent):
    """The agent of A2C, which the module describes."""

    Config: ClassVar[type[OnPolicyConfig]] = A2CConfig
    config: A2CConfig

    def __init__(self, config: A2CConfig, *sizes: Any) -> None:
        super().__init__(config, *sizes)
        self.optimizer = self.optimized(
            self.parameters(), config.learning_rate, torch.optim.RMSprop, alpha=0.99, eps=1e-5
        )

    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        loss, metrics = self.rollout_loss(rollout)
        self.step(self.optimizer, loss, self.config.max_gradient_norm)
        yield metrics

    def rollout_loss(self, rollout: Rollout) -> tuple[Tensor, Metrics]:
        """The loss of a rollout, and metrics by name."""
        config = self.config
        value = self.value(rollout.observation)
        with torch.no_grad():
            following_value = self.value(rollout.following)
            advantage = advantages(
                rollout, value, following_value, config.discount, config.gae_lambda
            )
            target = advantage + value
        policy = self.distribution(rollout.observation)
        surrogate = policy.log_density(rollout.latent) * advantage
        loss = self.loss(surrogate, self.error(value, target), policy.entropy())
        return loss, {
            "loss": loss.detach(),
            "value": value.detach().mean(),
            "entropy": policy.entropy().detach().mean(),
        }
