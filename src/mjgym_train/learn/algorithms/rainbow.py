"""Rainbow (Hessel et al., 2018): DQN with six extensions, decoupled as in `dqn`.

Double Q-learning, prioritised replay by the distributional loss, a dueling network, returns of
several steps, a categorical critic, and noisy layers in place of random actions. Unlike in the
paper, value and advantages share all layers but the last.
"""

from dataclasses import dataclass
from typing import ClassVar

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms.dqn import DQN, DQNConfig


@dataclass(frozen=True)
class RainbowConfig(DQNConfig):
    """Settings of Rainbow."""

    critic: str = "categorical"
    atoms: int = 51
    epsilon: float = 0.0
    dueling: bool = True
    noisy: bool = True
    priority_exponent: float = 0.5


class Rainbow(DQN):
    """The agent of Rainbow, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = RainbowConfig
