"""TD3, twin delayed deep deterministic policy gradient (Fujimoto et al., 2018).

    y = sum_k gamma^k r_k + gamma^n min_i Q'_i(s_n, a'),   a' = clip(pi'(s_n) + e, -1, 1),
    e = clip(normal(0, target_noise), -target_noise_clip, target_noise_clip)
    critics:  minimise sum_i loss(Q_i(s, a), y)
    once in policy_delay updates
    actor:    maximise Q_1(s, pi(s))
    targets:  Q' += rate (Q - Q'), pi' += rate (pi - pi')

With a categorical or quantile critic, the target is the whole distribution of the critic with the
smaller mean. The settings' defaults are those that learn most in few CPU minutes; the guide to
results has their scores, and `assets/training/large.yaml` FastTD3's recipe at the size of a CPU.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from mjgym_train.config import Count, OffPolicyConfig, fixed
from mjgym_train.learn.algorithms.deterministic import DeterministicAgent, DeterministicConfig


@dataclass(frozen=True)
class TD3Config(DeterministicConfig):
    """Settings of TD3."""

    hidden: tuple[int, ...] = (128, 128)
    atoms: Count = 51
    critics: Count = fixed(1)  # of which targets take the lowest; 1: D4PG with delay and smoothing
    n_step: Count = 5
    batch_size: Count = 128
    num_envs: int = 32
    updates_per_step: float = 0.125
    # Correlated noise lifts a fallen body where noise of single steps does not.
    exploration: dict[str, Any] = field(
        default_factory=lambda: {"gaussian": 0.7, "ornstein_uhlenbeck": 0.3}
    )
    ou_scale: float = 0.4
    average_rate: float | None = 0.005
    policy_delay: Count = 2  # updates of the critics for one of the actor and of the targets
    target_rate: float = 0.04  # of the targets at each of theirs
    target_noise: float = 0.2  # of the target's action, which lies within -1 and 1
    target_noise_clip: float = 0.5


class TD3(DeterministicAgent):
    """The agent of TD3, which the module describes."""

    Config: ClassVar[type[OffPolicyConfig]] = TD3Config
    config: TD3Config

    @property
    def critics_count(self) -> int:
        return self.config.critics

    @property
    def policy_delay(self) -> int:
        return self.config.policy_delay

    def smoothed(self, action: Tensor) -> Tensor:
        clip = self.config.target_noise_clip
        noise = torch.randn_like(action) * self.config.target_noise
        return (action + noise.clamp(-clip, clip)).clamp(-1, 1)
