"""Noise that deterministic actors explore with."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mjgym.train.config import Config, at_least


@dataclass(frozen=True)
class GaussianConfig(Config):
    """Settings of Gaussian noise: each episode draws its scale between two bounds (FastTD3)."""

    noise_min: float = 0.05  # of actions, which lie within -1 and 1
    noise_max: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 0, "noise_min")
        at_least(self, self.noise_min, "noise_max")  # type: ignore[arg-type]


class Gaussian(nn.Module):
    """Noise of one scale for each sub-environment, which is drawn anew with each episode.

    Args:
        config: settings, also the number of sub-environments.
        action_size: numbers in an action.
    """

    scales: Tensor

    def __init__(self, config: GaussianConfig, action_size: int) -> None:
        super().__init__()
        self._bounds = (config.noise_min, config.noise_max)
        self.register_buffer("scales", torch.empty(config.num_envs, 1))
        self.begin(torch.ones(config.num_envs, dtype=torch.bool))

    def begin(self, begun: Tensor) -> None:
        """Draw scales for the sub-environments (a mask) that begin an episode."""
        low, high = self._bounds
        drawn = low + (high - low) * torch.rand_like(self.scales)
        self.scales = torch.where(begun[:, None], drawn, self.scales)

    def forward(self, action: Tensor) -> Tensor:
        """Actions with noise, within -1 and 1."""
        return (action + self.scales * torch.randn_like(action)).clamp(-1, 1)
