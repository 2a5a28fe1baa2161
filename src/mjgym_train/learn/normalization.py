"""Running mean and standard deviation of observations."""

from typing import Any

import torch
from torch import Tensor, nn

FLOOR = 1e-2  # added to the standard deviation: what hardly varies is not magnified


class Normalizer(nn.Module):
    """Observations less their mean, divided by their standard deviation.

    The statistics change only by `update`, which training calls and evaluation does not. They are
    those of all observations given so far (Chan et al., 1979, in double precision).

    Args:
        size: numbers in an observation.
        enabled: without, observations stay as they are.
        limit: in standard deviations, to which observations are clipped; None for no limit.
    """

    mean: Tensor
    squares: Tensor
    count: Tensor
    weight: Tensor

    def __init__(self, size: int, *, enabled: bool = True, limit: float | None = None) -> None:
        super().__init__()
        self.enabled, self.limit = enabled, limit
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("squares", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("weight", torch.ones(size))

    def weigh(self, weights: Tensor) -> None:
        """Multiply normalised observations from now on, (size,)."""
        self.weight.copy_(weights)

    def share(self, other: "Normalizer") -> None:
        """Have the statistics and weights of another one from now on; the limit stays."""
        self.mean, self.squares, self.count = other.mean, other.squares, other.count
        self.weight = other.weight

    def update(self, observations: Tensor) -> None:
        """Count observations, (n, size)."""
        if not self.enabled:
            return
        new = observations.double()
        mean, n = new.mean(0), len(new)
        total = self.count + n
        shift = mean - self.mean
        self.squares += (new - mean).square().sum(0) + shift.square() * self.count * n / total
        self.mean += shift * n / total
        self.count.copy_(total)

    def scale(self) -> tuple[Tensor, Tensor]:
        """Mean and divisor of observations, float32 (size,)."""
        if not self.enabled or self.count < 2:
            return self.mean.float(), torch.ones_like(self.mean).float()
        deviation = (self.squares / self.count).sqrt()
        return self.mean.float(), (deviation.float() + FLOOR) / self.weight

    def forward(self, observations: Tensor) -> Tensor:
        """Observations in units of their deviation, weighted, float32 of any leading shape."""
        if not self.enabled:
            return observations
        mean, deviation = self.scale()
        scaled = (observations - mean) / deviation
        return scaled if self.limit is None else scaled.clamp(-self.limit, self.limit)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Checkpoints of runs that began before there were weights have none.
        state.setdefault(f"{prefix}weight", torch.ones_like(self.weight))
        super()._load_from_state_dict(state, prefix, *rest)
