"""Distributions that on-policy algorithms draw actions from."""

import math

import torch
from torch import Tensor

BANG_OFF_BANG = 3  # bins of a number: its bounds and the middle


class Gaussian:
    """Independent Gaussians of latents, (..., k); an action is the tanh of a latent.

    Log densities and entropies, in nats, are those of all k together.
    """

    def __init__(self, mean: Tensor, log_deviation: Tensor) -> None:
        self.mean, self.log_deviation = mean, log_deviation

    def draw(self) -> Tensor:
        return self.mean + self.log_deviation.exp() * torch.randn_like(self.mean)

    def log_density(self, latent: Tensor) -> Tensor:
        z = (latent - self.mean) / self.log_deviation.exp()
        return (-0.5 * z.square() - self.log_deviation - 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Tensor:
        return (self.log_deviation + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


class Categorical:
    """Independent choices among bins, by logits (..., k, bins); latents are the chosen values."""

    def __init__(self, logits: Tensor) -> None:
        self.log_probability = logits.log_softmax(-1)

    def draw(self) -> Tensor:
        """Latents, (..., k)."""
        probability = self.log_probability.exp()
        drawn = torch.multinomial(probability.flatten(0, -2), 1).view(probability.shape[:-1])
        return values_of(drawn, probability.shape[-1])

    def log_density(self, latent: Tensor) -> Tensor:
        index = bins_of(latent, self.log_probability.shape[-1])
        return self.log_probability.gather(-1, index[..., None])[..., 0].sum(-1)

    def entropy(self) -> Tensor:
        return -(self.log_probability.exp() * self.log_probability).sum((-2, -1))


def values_of(index: Tensor, bins: int) -> Tensor:
    """Values of bins: evenly spaced from -1 to 1."""
    return 2 * index / (bins - 1) - 1


def bins_of(action: Tensor, bins: int) -> Tensor:
    """Indices of the bins nearest to numbers within -1 and 1."""
    return ((action + 1) / 2 * (bins - 1)).round().long()
