"""Discounts of a critic's heads, and the combination of their values.

Exponential discounting has one head. Hyperbolic discounting (Fedus et al., 2019) weighs a reward
after t steps by 1 / (1 + k t), the integral of x^(k t) over x from 0 to 1. Heads with the discounts
x_i^k, x_i = 1 - b^i, are its supports; b is chosen so that the last one is the largest discount
that can be learned.
"""

import itertools
import math

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OffPolicyConfig


def hyperbolic_discounts(heads: int, k: float, largest: float) -> list[float]:
    """The discounts (1 - b^i)^k, i from 1 to heads, b = exp(log(1 - largest^(1/k)) / heads)."""
    return [x**k for x in _supports(heads, k, largest)]


def hyperbolic_weights(heads: int, k: float, largest: float) -> list[float]:
    """The widths of a Riemann sum over x: sum of weight_i discount_i^t is about 1 / (1 + k t).

    Each support covers the interval below it, the last one also the rest above it.
    """
    supports = _supports(heads, k, largest)
    edges = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(supports)), 1.0]
    return [b - a for a, b in itertools.pairwise(edges)]


def _supports(heads: int, k: float, largest: float) -> list[float]:
    base = math.exp(math.log1p(-(largest ** (1 / k))) / heads)
    return [1 - base**i for i in range(1, heads + 1)]


def of_heads(config: OffPolicyConfig) -> tuple[list[float], list[float]]:
    """Discounts, and the weights of the heads' values in the actor's objective.

    An acting value is "largest", that of the largest discount, as in Catalyst.RL's paper; "mean",
    as in its code; or "hyperbolic", the sum that approximates 1 / (1 + k t).
    """
    discount, heads, k = config.discount, config.heads, config.hyperbolic_k
    if config.discounting == "exponential":
        return [discount], [1.0]
    if not discount ** (1 / k) > 1e-12:
        raise ConfigError(f"hyperbolic_k: {k} is too small for the discount {discount}")
    discounts = hyperbolic_discounts(heads, k, discount)
    if config.acting_value == "largest":
        return discounts, [0.0] * (heads - 1) + [1.0]
    if config.acting_value == "mean":
        return discounts, [1 / heads] * heads
    return discounts, hyperbolic_weights(heads, k, discount)
