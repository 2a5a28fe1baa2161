"""D4PG, distributed distributional deterministic policy gradient (Barth-Maron et al., 2018).

It is DDPG whose critic is categorical and whose returns are of n steps: y is the distribution of
sum_k gamma^k r_k + gamma^n Z'(s_n, pi'(s_n)), projected onto the atoms, and the loss the cross
entropy. One process collects the data, where the paper has parallel actors.
"""

from dataclasses import dataclass
from typing import ClassVar

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms.ddpg import DDPG
from mjgym_train.learn.algorithms.deterministic import DeterministicConfig


@dataclass(frozen=True)
class D4PGConfig(DeterministicConfig):
    """Settings of D4PG: noise, steps and atoms are the paper's."""

    n_step: int = 5
    hidden: tuple[int, ...] = (400, 300)
    atoms: int = 51
    noise_min: float = 0.3
    noise_max: float = 0.3


class D4PG(DDPG):
    """The agent of D4PG, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = D4PGConfig
