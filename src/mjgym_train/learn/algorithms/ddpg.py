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

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms.deterministic import DeterministicAgent, DeterministicConfig


@dataclass(frozen=True)
class DDPGConfig(DeterministicConfig):
    """Settings of DDPG."""

    critic: str = "mean"
    n_step: int = 1
    hidden: tuple[int, ...] = (400, 300)


class DDPG(DeterministicAgent):
    """The agent of DDPG, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = DDPGConfig
    critics_count = 1
