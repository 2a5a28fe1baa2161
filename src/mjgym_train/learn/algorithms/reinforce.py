"""REINFORCE (Williams, 1992) on whole episodes, by default with discretised actions.

    G_t = r_t + gamma r_{t+1} + ..., up to the end of the episode
    minimise  -log pi(u_t|s_t) (G_t - b) / d - c2 H(pi)

where b and d are mean and deviation of the returns in a rollout. Steps whose episode has not ended
in the rollout are left out. Numbers of an action are drawn independently: log pi is their sum.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.action_distributions import BANG_OFF_BANG
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.rollout import Rollout, advantages


@dataclass(frozen=True)
class ReinforceConfig(OnPolicyConfig):
    """Settings of REINFORCE."""

    rollout_steps: int = 1_000
    learning_rate: float = 1e-3


class Reinforce(OnPolicyAgent):
    """The agent of REINFORCE, which the module describes."""

    Config: ClassVar[type[OnPolicyConfig]] = ReinforceConfig
    config: ReinforceConfig
    usual_bins = BANG_OFF_BANG

    def __init__(self, config: ReinforceConfig, *sizes: Any) -> None:
        super().__init__(config, *sizes)
        acting = [p for n, p in self.named_parameters() if not n.startswith("critic.")]
        self.optimizer = self.optimized(acting, config.learning_rate, torch.optim.Adam)

    def update(self, rollout: Rollout) -> Iterator[Metrics]:
        config = self.config
        complete = rollout.ended.flip(0).cumsum(0).flip(0) > 0  # an end follows in the rollout
        if not complete.any():
            return
        worth_nothing = torch.zeros_like(rollout.reward)
        returns = advantages(rollout, worth_nothing, worth_nothing, config.discount, gae_lambda=1)
        gain = returns[complete]
        gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
        policy = self.distribution(rollout.observation[complete])
        entropy = policy.entropy().mean()
        surrogate = (policy.log_density(rollout.latent[complete]) * gain).mean()
        loss = -surrogate - config.entropy_weight * entropy
        self.step(self.optimizer, loss, config.max_gradient_norm)
        yield {"loss": loss.detach(), "entropy": entropy.detach()}
