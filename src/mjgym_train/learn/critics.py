"""Critics: the mean of the return, or its distribution.

For outputs with any leading shape, `value` is the mean return, `backup` the target of a return one
or several rewards earlier, and `loss` the distance of outputs from a target. Each head's outputs
start near `initial`. A custom critic is a class with these methods, named in the setting `critic`
as "module:Class" and constructed with the settings.

Untrained critics expect returns near zero. Errors of the initial value decay slowly: with
bootstrapping, each turnover of the target networks corrects only the part 1 - gamma^n.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.named_classes import imported

HUBER = 1.0  # transition of the quantile loss from quadratic to linear
FALLOFF = 0.05  # share of the support over which initial probabilities fall by e


class Critic(Protocol):
    """Interface of a critic; see the module."""

    initial: Tensor  # outputs, (size,)

    def value(self, outputs: Tensor) -> Tensor:
        """Mean returns, (...), of outputs (..., size)."""

    def backup(self, outputs: Tensor, reward: Tensor, discount: Tensor) -> Tensor:
        """Target, (..., size), of reward + discount * the return of outputs, (..., size)."""

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Losses, (...), of outputs (..., size)."""


class Mean:
    """The expected return, learned by squared errors."""

    size = 1
    initial = torch.zeros(1)

    def __init__(self, config: OffPolicyConfig) -> None:
        del config  # no settings

    def value(self, outputs: Tensor) -> Tensor:
        return outputs[..., 0]

    def backup(self, outputs: Tensor, reward: Tensor, discount: Tensor) -> Tensor:
        return reward[..., None] + discount[..., None] * outputs

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        return (outputs - target).square()[..., 0]


@dataclass
class ReturnRange:
    """Extremes of rewards and of discounted reward sums, 0 included.

    A discounted sum covers the rewards of an episode so far, with weight 1 on the last: comparable
    to a return in size, and known immediately.
    """

    lowest_reward: float = 0.0
    highest_reward: float = 0.0
    lowest_return: float = 0.0
    highest_return: float = 0.0

    def add(self, rewards: Tensor, sums: Tensor) -> None:
        """Include rewards and discounted sums, (n,) each."""
        lows, highs = zip(rewards.aminmax(), sums.aminmax(), strict=True)
        self.lowest_reward = min(self.lowest_reward, lows[0].item())
        self.lowest_return = min(self.lowest_return, lows[1].item())
        self.highest_reward = max(self.highest_reward, highs[0].item())
        self.highest_return = max(self.highest_return, highs[1].item())


class Categorical:
    """Probabilities of evenly spaced returns (C51, Bellemare et al., 2017); outputs are logits.

    Bounds of the support that the settings leave open start at those of rewards within 0 and 1, and
    move outwards for larger returns.
    """

    def __init__(self, config: OffPolicyConfig) -> None:
        if config.atoms < 2:
            raise ConfigError(f"atoms: a categorical critic has at least 2, got {config.atoms}")
        self.size = config.atoms
        self.clipped = torch.zeros(())  # share of the last target outside the support
        self._given = config.value_min, config.value_max
        self._horizon = round(1 / (1 - config.discount), 9)
        low, high = self._given
        if low is None:
            low = 0.0 if high is None else min(0.0, high - self._horizon)
        high = max(self._horizon, low + self._horizon) if high is None else high
        self.set_bounds(low, high)

    def set_bounds(self, low: float, high: float) -> None:
        """Space the atoms evenly between two returns."""
        self.bounds = low, high
        self.spacing = (high - low) / (self.size - 1)
        self.support = torch.linspace(low, high, self.size)
        self.initial = -self.support.abs() / (FALLOFF * (high - low))

    def fitted(self, range_: "ReturnRange", *, begun: bool) -> tuple[float, float]:
        """The bounds of a support for the observed returns.

        Once learning has begun they only move outwards, at least doubling their distance from 0, so
        that they move a few times at most.
        """
        low, high = (
            max(range_.lowest_reward * self._horizon, 2 * range_.lowest_return),
            min(range_.highest_reward * self._horizon, 2 * range_.highest_return),
        )
        old_low, old_high = self.bounds
        if begun:
            low = old_low if low >= old_low else min(low, 2 * old_low)
            high = old_high if high <= old_high else max(high, 2 * old_high)
        elif range_.highest_reward >= -range_.lowest_reward:
            high = max(high, self._horizon)  # random actions may not reach it
        given_low, given_high = self._given
        low = low if given_low is None else given_low
        high = high if given_high is None else given_high
        return (low, high) if low < high else self.bounds

    def resampled(self, low: float, high: float) -> tuple[Tensor, Tensor]:
        """The linear map, matrix and bias, of logits from this support to one with other bounds.

        Neighbours are interpolated; beyond the old support there is a decay by e per `FALLOFF` of
        the range.
        """
        old_low, old_high = self.bounds
        atoms = torch.linspace(low, high, self.size)
        place = (atoms.clamp(old_low, old_high) - old_low) / self.spacing
        lower = place.floor().clamp(max=self.size - 2)
        matrix = torch.zeros(self.size, self.size)
        rows = torch.arange(self.size)
        matrix[rows, lower.long()] = 1 - (place - lower)
        matrix[rows, lower.long() + 1] += place - lower
        beyond = (old_low - atoms).clamp(min=0) + (atoms - old_high).clamp(min=0)
        return matrix, -beyond / (FALLOFF * (old_high - old_low))

    def value(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(-1) @ self.support

    def backup(self, outputs: Tensor, reward: Tensor, discount: Tensor) -> Tensor:
        """Probabilities of the shifted distribution, each split between the two nearest atoms."""
        probability = outputs.softmax(-1)
        moved = reward[..., None] + discount[..., None] * self.support
        low, high = self.bounds
        slack = 1e-3 * self.spacing  # rounding
        self.clipped = (
            (probability * ((moved < low - slack) | (moved > high + slack))).sum(-1).mean()
        )
        place = (moved.clamp(low, high) - low) / self.spacing
        lower = place.floor().clamp(max=self.size - 2)
        share = place - lower
        index = lower.long()
        projected = torch.zeros_like(probability)
        projected.scatter_add_(-1, index, probability * (1 - share))
        return projected.scatter_add_(-1, index + 1, probability * share)

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        return -(target * outputs.log_softmax(-1)).sum(-1)


class Quantile:
    """Quantiles of the return at the middles of equal parts (QR-DQN, Dabney et al., 2018)."""

    def __init__(self, config: OffPolicyConfig) -> None:
        self.size = config.atoms
        self.initial = torch.zeros(self.size)
        self._levels = (torch.arange(self.size) + 0.5) / self.size

    def value(self, outputs: Tensor) -> Tensor:
        return outputs.mean(-1)

    def backup(self, outputs: Tensor, reward: Tensor, discount: Tensor) -> Tensor:
        return reward[..., None] + discount[..., None] * outputs

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """The quantile Huber loss: mean over the target's quantiles, sum over the outputs.

        Each output q needs the sums over the target's quantiles t that lie far below, near below,
        near above and far above it, where near means within `HUBER`. With sorted quantiles these
        are differences of running sums, without a matrix of all pairs. Squared returns need double
        precision.
        """
        q = outputs.double()
        t = target.double().sort(-1).values.expand(*q.shape[:-1], -1)
        first, second = (functional.pad(x.cumsum(-1), (1, 0)) for x in (t, t * t))
        edges = torch.cat([q - HUBER, q, q + HUBER], -1).detach()
        places = torch.searchsorted(t.contiguous(), edges)
        low, middle, high = places.chunk(3, -1)  # number of smaller ones
        low1, middle1, high1 = first.gather(-1, places).chunk(3, -1)
        low2, middle2, high2 = second.gather(-1, places).chunk(3, -1)

        def near(count: Tensor, sum1: Tensor, sum2: Tensor) -> Tensor:
            return 0.5 * (sum2 - 2 * q * sum1 + q * q * count)

        far_below = HUBER * ((q - HUBER / 2) * low - low1)
        far_above = HUBER * (first[..., -1:] - high1 - (q + HUBER / 2) * (t.shape[-1] - high))
        below = far_below + near(middle - low, middle1 - low1, middle2 - low2)
        above = far_above + near(high - middle, high1 - middle1, high2 - middle2)
        loss = torch.lerp(below, above, self._levels.double()).sum(-1) / (t.shape[-1] * HUBER)
        return loss.to(outputs.dtype)


REQUIRED = ("initial", "value", "backup", "loss")
CRITICS: dict[str, type[Critic]] = {"mean": Mean, "categorical": Categorical, "quantile": Quantile}


def make_critic(config: OffPolicyConfig) -> Critic:
    """The critic of the setting `critic`."""
    if config.critic in CRITICS:
        cls = CRITICS[config.critic]
    else:
        cls = imported(config.critic, "critic", CRITICS)
    critic: Critic = cls(config)  # type: ignore[call-arg]
    if missing := [name for name in REQUIRED if not hasattr(critic, name)]:
        raise ConfigError(f"critic: {config.critic} has no {', '.join(missing)}")
    return critic


def value_weights(critic: Critic) -> tuple[Tensor, bool]:
    """Weights, (size,), of outputs in the value, and whether they are of the outputs' softmax."""
    value = type(critic).value
    if value is Categorical.value and isinstance(critic, Categorical):
        return critic.support, True
    if value in (Mean.value, Quantile.value):
        return torch.full_like(critic.initial, 1 / len(critic.initial)), False
    raise ConfigError(
        f"ensemble: {type(critic).__name__} has a value of its own, by which agents without PyTorch"
        " cannot choose; take the value of Mean, Categorical or Quantile"
    )
