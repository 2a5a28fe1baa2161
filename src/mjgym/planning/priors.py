"""The actions of a prior policy over the horizon."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.envs.observations import take
from mjgym.planning.problem import Problem
from mjgym.planning.tangent import State
from mjgym.policies.network import begin

Prior = Callable[[Any], np.ndarray]
"""A policy: the action for an observation."""


def proposed(prior: Prior, problem: Problem, state: State, observation: Any) -> np.ndarray:
    """A policy's actions from a state, (T, nu)."""
    begin(prior)
    actions = []
    for _ in range(problem.steps):
        action = np.clip(prior(observation), problem.low, problem.high)
        if action.shape != problem.low.shape:
            raise ValueError(f"prior: expected shape {problem.low.shape}, got {action.shape}")
        actions.append(action)
        step = problem.env.rollout(state, action[None, None], observations=True, snapshots=True)
        state = {name: value[0, 0] for name, value in step.states.items()}
        observation = take(take(step.observations, 0), 0)
    return np.stack(actions)
