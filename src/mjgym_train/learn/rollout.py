"""Rollouts and generalised advantage estimates."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rollout:
    """Successive steps of all sub-environments under one policy, (T, n, ...)."""

    observation: Tensor  # (T, n, history, size), normalised as for acting
    latent: Tensor  # (T, n, action size), drawn by the policy; its tanh is the action
    log_density: Tensor  # (T, n), of the latent
    reward: Tensor  # (T, n)
    # (T, n, history, size), normalised; the last observation where the episode ended.
    following: Tensor
    # (T, n) bool. After a truncation, e.g. by a time limit, `following` has a value.
    terminated: Tensor
    ended: Tensor  # (T, n) bool, terminated or truncated


def advantages(
    rollout: Rollout, value: Tensor, following_value: Tensor, discount: float, gae_lambda: float
) -> Tensor:
    """Generalised advantage estimates, (T, n) (Schulman et al., 2016, equation 16).

        A_t = sum_k (gamma lambda)^k delta_{t+k},   delta_t = r_t + gamma V(s_{t+1}) - V(s_t)

    The sum ends with the episode and with the rollout. With lambda = 1 it is the discounted sum of
    the remaining rewards and of the final value, less the value at t.
    """
    following_value = following_value * ~rollout.terminated
    delta = rollout.reward + discount * following_value - value
    going = discount * gae_lambda * ~rollout.ended
    estimates = torch.zeros_like(delta)
    after = torch.zeros_like(delta[0])
    for t in reversed(range(len(delta))):
        after = estimates[t] = delta[t] + going[t] * after
    return estimates
