"""Rollouts, and what their actions were better than expected by."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rollout:
    """Successive steps of all sub-environments under one policy, (T, n, ...).

    Args:
        observation: (T, n, history, size), normalised, as it was acted on.
        latent: (T, n, action size), what the policy drew, whose tanh is the action.
        log_density: (T, n), of the latent.
        reward: (T, n).
        following: (T, n, history, size), normalised; also where the step ended the episode, what
            it led to.
        terminated: (T, n) bool, nothing follows. Where an episode was truncated, by a time limit
            for example, what it led to has a value.
        ended: (T, n) bool, terminated or truncated.
    """

    observation: Tensor
    latent: Tensor
    log_density: Tensor
    reward: Tensor
    following: Tensor
    terminated: Tensor
    ended: Tensor


def advantages(
    rollout: Rollout, value: Tensor, following_value: Tensor, discount: float, gae_lambda: float
) -> Tensor:
    """Generalised advantage estimates, (T, n) (Schulman et al., 2016, equation 16).

        A_t = sum_k (gamma lambda)^k delta_{t+k},   delta_t = r_t + gamma V(s_{t+1}) - V(s_t)

    The sum ends with the episode and with the rollout; with lambda = 1 it is the discounted sum of
    the rewards that are left, and of the value of what they lead to, less the value at t.

    Args:
        rollout: the steps.
        value: of its observations, (T, n).
        following_value: of what its steps led to, (T, n).
        discount: gamma.
        gae_lambda: lambda.
    """
    following_value = following_value * ~rollout.terminated
    delta = rollout.reward + discount * following_value - value
    going = discount * gae_lambda * ~rollout.ended
    found = torch.zeros_like(delta)
    after = torch.zeros_like(delta[0])
    for t in reversed(range(len(delta))):
        after = found[t] = delta[t] + going[t] * after
    return found
