"""SAC, soft actor-critic with a temperature that adapts (Haarnoja et al., 2018b).

    y = sum_k gamma^k r_k + gamma^n (min_i Q'_i(s_n, a') - alpha log pi(a'|s_n)),  a' ~ pi(.|s_n)
    critics:      minimise sum_i loss(Q_i(s, a), y)
    actor:        minimise alpha log pi(a|s) - min_i Q_i(s, a),  a ~ pi(.|s)
    temperature:  minimise -log(alpha) (log pi(a|s) + target_entropy)
    targets:      Q' += rate (Q - Q')

The entropies of the steps between s and s_n are left out, as is usual with n-step returns. The
temperature starts low, for rewards within 0 and 1: one that starts at 1 drowns them.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OffPolicyConfig, Positive, fixed
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.named_classes import imported
from mjgym_train.learn.networks import GaussianActor, StochasticActor


@dataclass(frozen=True)
class SACConfig(OffPolicyConfig):
    """Settings of SAC."""

    critic: str = "mean"
    n_step: int = 1
    value_min: float | None = -20.0  # a categorical critic needs room below 0 for the entropy
    temperature: Positive = fixed(0.01)  # alpha at the start
    adapt_temperature: bool = True  # or keep it as it is at the start
    actor: str = fixed("gaussian")  # or "module:Class", see `networks.StochasticActor`
    temperature_learning_rate: Positive | None = None  # None: as the critics'
    target_entropy_scale: float = -1.0  # nats per number of an action (within -1 and 1)


class SAC(OffPolicyAgent):
    """The agent of SAC, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = SACConfig
    config: SACConfig

    def __init__(self, config: SACConfig, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        make: Any = GaussianActor
        if config.actor != "gaussian":
            make = imported(config.actor, "actor", ("gaussian",))
        self.actor: StochasticActor = make(self.inputs, action_size, config.hidden, **self.layers)
        if missing := [name for name in ("body", "forward") if not hasattr(self.actor, name)]:
            raise ConfigError(f"actor: {config.actor} has no {missing[0]}")
        self.actor_optimizer = self.optimizer(self.actor.parameters(), config.actor_learning_rate)
        self.log_alpha = nn.Parameter(torch.tensor(math.log(config.temperature)))
        rate = config.temperature_learning_rate or config.learning_rate
        self.temperature_optimizer = torch.optim.Adam([self.log_alpha], rate)
        self.target_entropy = config.target_entropy_scale * action_size

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    def sample(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Actions sampled from the policy, and their log densities."""
        noise = torch.randn(len(observation), self.action_size)
        action, log_density = self.actor(observation, noise)
        return action, log_density

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        return self.sample(self.encode(observation))[0]

    def update(self, batch: Batch) -> Metrics:
        self.updates += 1
        metrics = self.critic_step(self.critic_loss(batch, self.target(batch)))

        action, log_density = self.sample(batch.observation)
        value = self.acting_value(self.critics(batch.observation, action)).min(0).values
        self.actor_step((self.alpha * log_density - value).mean())

        entropy = -log_density.detach().mean()
        if self.config.adapt_temperature:
            self.step(self.temperature_optimizer, self.log_alpha * (entropy - self.target_entropy))

        self.soft_update(self.target_critics, self.critics)
        return metrics | {
            "value": value.detach().mean(),
            "entropy": entropy,
            "temperature": self.alpha,
        }

    @property
    def alpha(self) -> Tensor:
        return self.log_alpha.detach().exp()

    @torch.no_grad()
    def target(self, batch: Batch) -> Tensor:
        """The target y, (B, heads, size)."""
        action, log_density = self.sample(batch.following)
        outputs = self.lowest_critic(self.target_critics(batch.following, action))
        rewards, discount = self.returns(batch)
        bonus = -discount * self.alpha * log_density[:, None]
        return self.critic.backup(outputs, rewards + bonus, discount)
