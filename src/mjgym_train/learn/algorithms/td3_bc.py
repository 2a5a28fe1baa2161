"""TD3+BC: TD3 on recorded transitions, with behaviour cloning (Fujimoto and Gu, 2021).

critics:  as TD3's
actor:    maximise lambda Q_1(s, pi(s)) - |pi(s) - a|^2,   lambda = alpha / mean |Q_1(s, pi(s))|
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from mjgym_train.config import OfflineReplaySettings, OffPolicyConfig, Positive
from mjgym_train.learn.algorithms.td3 import TD3, TD3Config
from mjgym_train.learn.buffer import Batch


@dataclass(frozen=True)
class TD3BCConfig(OfflineReplaySettings, TD3Config):
    """Settings of TD3+BC; the paper's where they differ from TD3's."""

    hidden: tuple[int, ...] = (256, 256)
    batch_size: int = 256
    critic: str = "mean"
    critics: int = 2
    average_rate: float | None = None
    n_step: int = 1
    learning_rate: float = 3e-4
    target_rate: float = 0.01  # at each of the targets' updates, one in policy_delay
    alpha: Positive = 2.5


class TD3BC(TD3):
    """The agent of TD3+BC, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = TD3BCConfig
    config: TD3BCConfig

    def actor_loss(self, batch: Batch, action: Tensor, value: Tensor) -> Tensor:
        scale = self.config.alpha / torch.clamp(value.detach().abs().mean(), min=1e-6)
        return functional.mse_loss(action, batch.action) - scale * value.mean()
