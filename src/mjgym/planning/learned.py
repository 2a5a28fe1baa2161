"""A trained policy as a planner's prior, and its critics as the value at the horizon's end.

    planner = Planner(env, "mppi", **learned("runs/walker"))

The policy's actions over the horizon are among the candidates.
"""

from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from mjgym.planning.planner import Prior
from mjgym.planning.problem import Tail
from mjgym.policies.network import Policy, PolicyError, joined, load_valuation
from mjgym.policies.run_errors import RunError
from mjgym.policies.run_folder import RunFolder

CRITICS = "critics.npz"  # in a run's folder


class Learned(TypedDict):
    """Arguments of a planner: a run's policy, the value of its actions, and its discount."""

    prior: Prior
    tail: Tail
    discount: float


def learned(folder: str | Path) -> Learned:
    """The policy of a folder of `mjgym train`, and the value of its actions by its critics."""
    run = RunFolder(folder)
    policy = run.policy()
    if not isinstance(policy, Policy) or max(policy.history, policy.chunk) > 1:
        raise RunError(
            f"{folder}: a plan begins anywhere, and its policy remembers what was before"
        )
    discount = run.settings().get("discount")
    if not isinstance(discount, float | int) or not 0 < discount <= 1:
        raise RunError(f"{folder}: discount must be above 0 and at most 1, got {discount!r}")
    try:
        critics = load_valuation(run.path / CRITICS)
    except OSError:
        raise RunError(
            f"{folder} has no {CRITICS}: critics are written with a checkpoint"
        ) from None
    except PolicyError as error:
        raise RunError(str(error)) from None

    def value(observations: Any) -> np.ndarray:
        inputs = policy.encode(np.asarray(joined(observations), np.float32))
        action = policy.ensembled(policy.unscaled(inputs))
        return np.asarray(critics(np.concatenate([inputs, action], -1)[:, None])[:, 0])

    return {"prior": policy, "tail": value, "discount": float(discount)}
