"""Noise of a user's own, good and bad, as modules name it."""

import torch
from torch import Tensor, nn


class OrnsteinUhlenbeck(nn.Module):
    """Noise that drifts back to zero (Uhlenbeck and Ornstein, 1930)."""

    def __init__(self, config, n: int, action_size: int) -> None:
        super().__init__()
        self.sigma = config.noise_max
        self.register_buffer("state", torch.zeros(n, action_size))
        self.register_buffer("begun", torch.zeros(n, dtype=torch.int64))  # episodes, to look at

    def begin(self, begun: Tensor) -> None:
        self.state = torch.where(begun[:, None], 0.0, self.state)
        self.begun = self.begun + begun

    def forward(self, action: Tensor, inputs: Tensor, factor: float) -> Tensor:
        self.state = 0.85 * self.state + factor * self.sigma * torch.randn_like(self.state)
        return action + self.state


class Plain:
    """No module."""


class Restless(nn.Module):
    """Cannot begin."""

    def forward(self, action, inputs, factor):
        return action


class Still(nn.Module):
    """Gives no actions."""

    def begin(self, begun):
        pass


class Short(Still):
    """Takes too few arguments."""

    def forward(self, action):
        return action


class Needy(OrnsteinUhlenbeck):
    """Wants what nobody gives it."""

    def __init__(self, config, n, action_size, theta):
        super().__init__(config, n, action_size)


class Narrow(OrnsteinUhlenbeck):
    """Gives actions of one number too few."""

    def forward(self, action, inputs, factor):
        return action[:, :-1]


class Endless(OrnsteinUhlenbeck):
    """Gives actions that are not finite."""

    def forward(self, action, inputs, factor):
        return action / 0


not_a_class = 3
