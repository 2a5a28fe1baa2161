"""IQL, implicit Q-learning on recorded transitions (Kostrikov et al., 2022).

    value:    minimise L_tau(min_i Q'_i(s, a) - V(s)),   L_tau(u) = |tau - [u < 0]| u^2
    critics:  minimise sum_i (Q_i(s, a) - r - gamma V(s'))^2
    policy:   maximise min(exp(beta (min_i Q'_i(s, a) - V(s))), most_weight) log pi(a|s)
    targets:  Q' += rate (Q - Q')

The policy is a Gaussian around the tanh of a perceptron, with one deviation per action entry. Only
recorded actions are evaluated.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import Bounds, OfflineReplaySettings, OffPolicyConfig, Positive
from mjgym_train.learn.action_distributions import Gaussian
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.networks import Actor, perceptron

LOG_DEVIATION = (-5.0, 2.0)  # bounds of the policy's


@dataclass(frozen=True)
class IQLConfig(OfflineReplaySettings, OffPolicyConfig):
    """Settings of IQL; defaults of the paper's locomotion tasks."""

    critic: str = "mean"
    n_step: int = 1
    learning_rate: float = 3e-4
    weight_decay: float = 0.0
    target_rate: float = 0.005
    expectile: Annotated[float, Bounds(above=0, high=1)] = 0.7  # tau
    inverse_temperature: Positive = 3.0  # beta
    most_weight: Positive = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.critic != "mean" or self.discounting != "exponential":
            raise ConfigError('critic: iql has critics of the "mean", of one discount')


class IQL(OffPolicyAgent):
    """The agent of IQL, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = IQLConfig
    config: IQLConfig

    def __init__(self, config: IQLConfig, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        self.actor = Actor(self.inputs, action_size, config.hidden, **self.layers)
        self.log_deviation = nn.Parameter(torch.zeros(action_size))
        self.value = perceptron(self.inputs, config.hidden, 1, **self.layers)
        self.actor_optimizer = self.optimizer([*self.actor.parameters(), self.log_deviation])
        self.value_optimizer = self.optimizer(self.value.parameters())

    def actor_body(self) -> nn.Sequential:
        return self.actor.body

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        return self.mean_action(observation)

    def update(self, batch: Batch) -> Metrics:
        config = self.config
        self.updates += 1
        with torch.no_grad():
            outputs = self.target_critics(batch.observation, batch.action)
            recorded = self.critic.value(outputs).min(0).values[:, 0]
        # Only the critics train the image encoder.
        advantage = recorded - self._value(batch.observation.detach())
        weight = torch.where(advantage < 0, 1 - config.expectile, config.expectile)
        value_loss = (weight * advantage.square()).mean()
        self.step(self.value_optimizer, value_loss)

        gain = (config.inverse_temperature * advantage.detach()).exp()
        mean = self.actor(batch.observation.detach())
        policy = Gaussian(mean, self.log_deviation.clamp(*LOG_DEVIATION))
        density = policy.log_density(batch.action)
        actor_loss = -(gain.clamp_max(config.most_weight) * density).mean()
        self.step(self.actor_optimizer, actor_loss)

        metrics = self.critic_step(self.critic_loss(batch, self.target(batch)))
        self.soft_update(self.target_critics, self.critics)
        return metrics | {
            "value_loss": value_loss.detach(),
            "actor_loss": actor_loss.detach(),
            "advantage": advantage.detach().mean(),
        }

    def _value(self, observation: Tensor) -> Tensor:
        values: Tensor = self.value(observation.flatten(1))[:, 0]
        return values

    @torch.no_grad()
    def target(self, batch: Batch) -> Tensor:
        """The critics' target, (B, 1, 1)."""
        following = self._value(batch.following)[:, None, None]
        target: Tensor = self.critic.backup(following, *self.returns(batch))
        return target
