"""DQN, deep Q-networks (Mnih et al., 2015), decoupled for several numbers of an action.

Each of the M numbers a_j of an action takes one of a few evenly spaced values, and has a utility
U_j(s, a_j) from a common network (Seyde et al., 2023, "Solving continuous control via Q-learning"):

    Q(s, a) = mean_j U_j(s, a_j),   argmax_a Q(s, a) = (argmax U_1(s, .), ..., argmax U_M(s, .))
    y = sum_k gamma^k r_k + gamma^n Q'(s_n, argmax_a Q(s_n, a))
    minimise loss(Q(s, a), y)
    target:  Q' += rate (Q - Q')

A discrete space has M = 1 and its choices as values: DQN as published, with the double Q-learning
of van Hasselt et al. (2016) (`double=false`: the argmax of Q'). With a categorical critic, the
return's distribution is the equal mixture of those of the numbers, whose mean is Q.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import Policy, Valuation
from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import Bins, OffPolicyConfig, Share, fixed
from mjgym_train.learn.action_distributions import BANG_OFF_BANG, bins_of, values_of
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.critics import Categorical
from mjgym_train.learn.networks import Critics


@dataclass(frozen=True)
class DQNConfig(OffPolicyConfig):
    """Settings of DQN."""

    critic: str = "mean"
    bins: Bins | None = fixed(None)  # values of each number of a continuous action; None: 3
    epsilon: Share = 0.1  # share of random actions
    double: bool = True
    dueling: bool = fixed(False)  # utilities are a value and advantages, from a common last layer
    noisy: bool = fixed(False)  # linear layers with learned noise

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.discounting != "exponential":
            raise ConfigError("discounting: utilities have one discount, exponential")


class DQN(OffPolicyAgent):
    """The agent of DQN, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = DQNConfig
    config: DQNConfig
    bins: int
    critics_count = 1

    def __init__(self, config: DQNConfig, observation_size: Size, action_size: int) -> None:
        self.bins = config.bins or BANG_OFF_BANG
        super().__init__(config, observation_size, action_size)

    def make_critics(self) -> Critics:
        config = self.config
        heads = self.action_size * (self.bins + config.dueling)
        sizes = self.critics_count, self.inputs, 0, config.hidden, heads
        return Critics(*sizes, self.critic.initial, noisy=config.noisy, **self.layers)

    def update(self, batch: Batch) -> Metrics:
        self.updates += 1
        index = bins_of(batch.action, self.bins)
        outputs = self.joint(self.utilities(self.critics, batch.observation), index)
        losses = self.critic.loss(outputs, self.target(batch))
        metrics = self.critic_step(self.weighted(batch, losses[None]).mean())
        self.soft_update(self.target_critics, self.critics)
        return metrics | {"value": self.critic.value(outputs.detach()).mean()}

    @torch.no_grad()
    def target(self, batch: Batch) -> Tensor:
        """The target y, (B, 1, size)."""
        later = self.utilities(self.target_critics, batch.following)
        choosing = later
        if self.config.double:
            choosing = self.utilities(self.critics, batch.following)
        outputs = self.joint(later, self.critic.value(choosing).argmax(-1))
        return self.critic.backup(outputs, *self.returns(batch))

    def utilities(self, critics: nn.Module, observation: Tensor) -> Tensor:
        """Outputs of U_j for each value of each number, (B, M, bins, size)."""
        outputs = critics(observation, observation.new_empty(len(observation), 0))[0]
        outputs = outputs.unflatten(1, (self.action_size, -1))
        return dueled(outputs, 2) if self.config.dueling else outputs

    def joint(self, utilities: Tensor, index: Tensor) -> Tensor:
        """Outputs of Q, (B, 1, size), for the bins of an action, (B, M)."""
        size = utilities.shape[-1]
        chosen = utilities.gather(2, index[..., None, None].expand(-1, -1, 1, size))[:, :, 0]
        if isinstance(self.critic, Categorical):
            mixture = chosen.log_softmax(-1).logsumexp(1, keepdim=True)
            return mixture - math.log(self.action_size)
        return chosen.mean(1, keepdim=True)

    # Acting.

    def random_action(self, count: int) -> Tensor:
        return values_of(torch.randint(self.bins, (count, self.action_size)), self.bins)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        action = self._greedy(observation)
        if not self.config.epsilon:
            return action
        random = torch.rand(len(action), 1) < self.config.epsilon
        return torch.where(random, self.random_action(len(action)), action)

    @torch.no_grad()
    def _greedy(self, observation: Tensor) -> Tensor:
        utilities = self.utilities(self.critics, self.encode(observation))
        return values_of(self.critic.value(utilities).argmax(-1), self.bins)

    def mean_action(self, observation: Tensor) -> Tensor:
        self.critics.eval()  # without noise
        action = self._greedy(observation)
        self.critics.train()
        return action

    def actor_body(self) -> nn.Sequential:
        body: Any = self.critics.bodies[0]
        return body  # type: ignore[no-any-return]

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        policy = super().policy(low, high)
        last = policy.layers[-1]
        for name, value in last.items():
            rows = torch.from_numpy(value)
            rows = rows.view(self.action_size, -1, len(self.critic.initial), *rows.shape[1:])
            rows = dueled(rows, 1) if self.config.dueling else rows
            if not isinstance(self.critic, Categorical):
                rows = rows.mean(2)  # of quantiles
            last[name] = rows.reshape(-1, *value.shape[1:]).numpy()
        if isinstance(self.critic, Categorical):
            policy.support = self.critic.support.numpy().copy()
        return policy

    def valuation(self) -> Valuation:
        """Raise ConfigError: utilities do not value actions between the bins."""
        raise ConfigError("ensemble: agents with utilities act together by their mean alone")


def dueled(outputs: Tensor, axis: int) -> Tensor:
    """V + A - mean A (Wang et al., 2016), for V and A one after the other along an axis."""
    value = outputs.narrow(axis, 0, 1)
    advantage = outputs.narrow(axis, 1, outputs.shape[axis] - 1)
    return value + advantage - advantage.mean(axis, keepdim=True)
