"""DDPG, deep deterministic policy gradient (Lillicrap et al., 2016).

    y = sum_k gamma^k r_k + gamma^n Q'(s_n, pi'(s_n))
    critic:   minimise loss(Q(s, a), y)
    actor:    maximise Q(s, pi(s))
    targets:  Q' += rate (Q - Q'), pi' += rate (pi - pi')

The defaults are not the paper's: its noise is that of `exploration={ornstein_uhlenbeck: 1}`, and
`assets/training/ddpg_2018.yaml` has its networks and rates as in the control suite's report.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.deterministic import DeterministicAgent, DeterministicConfig
from mjgym_train.learn.buffer import Batch


@dataclass(frozen=True)
class DDPGConfig(DeterministicConfig):
    """Settings of DDPG."""

    critic: str = "mean"
    n_step: int = 1
    hidden: tuple[int, ...] = (400, 300)


class DDPG(DeterministicAgent):
    """DDPG; see the module."""

    Config: ClassVar[type[OffPolicyConfig]] = DDPGConfig
    critics_count = 1

    def update(self, batch: Batch) -> Metrics:
        self.updates += 1
        critic_loss = self.critic_loss(batch, self.target(batch))
        self.step(self.critic_optimizer, critic_loss)

        action = self.actor(self.actor_inputs(batch))
        value = self.acting_value(self.critics(batch.observation.detach(), action)).mean()
        self.actor_step(-value)

        self.soft_update(self.target_critics, self.critics)
        self.move_actors()
        return self.critic_metrics(critic_loss) | {"value": value.detach()}

    @torch.no_grad()
    def target(self, batch: Batch) -> Tensor:
        outputs = self.target_critics(batch.following, self.following_action(batch))[0]
        return self.critic.backup(outputs, *self.returns(batch))
