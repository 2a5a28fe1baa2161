"""Running mean and standard deviation of observations."""

import torch
from torch import Tensor, nn

from mjgym_train.learn.mirror import Mirror

FLOOR = 1e-2  # added to the standard deviation, so that near-constants are not magnified


class Normalizer(nn.Module):
    """Standardisation of observations by running statistics.

    Only `update` changes the statistics; training calls it, evaluation does not. They cover all
    observations so far (Chan et al., 1979, in double precision). A limit, in standard deviations,
    clips.
    """

    mean: Tensor
    squares: Tensor
    count: Tensor
    weight: Tensor

    def __init__(self, size: int, *, enabled: bool = True, limit: float | None = None) -> None:
        super().__init__()
        self.enabled, self.limit = enabled, limit
        self.mirror: Mirror | None = None  # if given, observations count with their images
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("squares", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("weight", torch.ones(size))

    def weigh(self, weights: Tensor) -> None:
        self.weight.copy_(weights)

    def share(self, other: "Normalizer") -> None:
        """Use the statistics and weights of another normaliser; the limit stays."""
        self.mean, self.squares, self.count = other.mean, other.squares, other.count
        self.weight = other.weight

    def update(self, observations: Tensor) -> None:
        """Add observations, (n, size), to the statistics."""
        if not self.enabled:
            return
        new = observations.double()
        if self.mirror is not None:
            new = torch.cat([new, self.mirror(new)])
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
        """Normalised and weighted observations, float32 of any leading shape."""
        if not self.enabled:
            return observations
        mean, deviation = self.scale()
        scaled = (observations - mean) / deviation
        return scaled if self.limit is None else scaled.clamp(-self.limit, self.limit)
