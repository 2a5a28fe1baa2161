"""A trained policy as a planner's prior, and its critics as the value at the horizon's end.

prior, tail = learned("runs/td3-walker-walk")
planner = Planner(env, "mppi", prior=prior, tail=tail, discount=0.99)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.planning.problem import Tail
from mjgym.policies.network import Policy, PolicyError, joined, load_valuation
from mjgym.policies.run_errors import RunError
from mjgym.policies.run_folder import RunFolder

CRITICS = "critics.npz"  # in a run's folder


def learned(folder: str | Path) -> tuple[Callable[[Any], np.ndarray], Tail]:
    """The policy of a folder of `mjgym train`, and the value of its actions by its critics.

    Raises:
        RunError: there is no run, it has no critics yet, or its policy remembers observations.
    """
    run = RunFolder(folder)
    policy = run.policy()
    if not isinstance(policy, Policy) or max(policy.history, policy.chunk) > 1:
        raise RunError(
            f"{folder}: a plan begins anywhere, and its policy remembers what was before"
        )
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
        values: np.ndarray = critics(np.concatenate([inputs, action], -1)[:, None])[:, 0]
        return values

    return policy, value
