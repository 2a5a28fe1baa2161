"""Soft intervals: `tolerance`, with dm_control's messages."""

from typing import Any

from mjgym import rewards


def tolerance(
    x: Any,
    bounds: tuple[float, float] = (0.0, 0.0),
    margin: float = 0.0,
    sigmoid: Any = "gaussian",
    value_at_margin: float = 0.1,
) -> Any:
    """1 within bounds, less outside; see `mjgym.rewards.tolerance`."""
    if bounds[0] > bounds[1]:
        raise ValueError("Lower bound must be <= upper bound.")
    if margin < 0:
        raise ValueError("`margin` must be non-negative.")
    if margin and sigmoid not in rewards.SIGMOIDS:
        raise ValueError(f"Unknown sigmoid type {sigmoid!r}.")
    least = 0 if sigmoid in ("cosine", "linear", "quadratic") else 1e-300
    if margin and not least <= value_at_margin < 1:
        kind = "nonnegative and smaller than 1" if least == 0 else "strictly between 0 and 1"
        raise ValueError(f"`value_at_1` must be {kind}, got {value_at_margin}.")
    return rewards.tolerance(x, bounds, margin, sigmoid, value_at_margin)
