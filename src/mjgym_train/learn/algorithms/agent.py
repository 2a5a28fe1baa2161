"""Base class of all algorithms: observation statistics, optimiser steps and checkpoints."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import AnyPolicy, Policy, Valuation
from mjgym.policies.run_errors import DivergedError
from mjgym_train.config import Config as AnyConfig
from mjgym_train.learn.collector import Size
from mjgym_train.learn.distributions import values_of
from mjgym_train.learn.networks import plain
from mjgym_train.learn.normalization import Normalizer

Metrics = dict[str, Tensor]


def require_finite(loss: float) -> None:
    """Raise DivergedError unless a loss is finite."""
    if not math.isfinite(loss):
        raise DivergedError(f"a loss is {loss}")


class Agent(ABC, nn.Module):
    """An algorithm: its networks, and how it acts.

    Checkpoints contain every attribute that is a module, parameter, buffer or optimiser.

    Attributes:
        Config: type of the algorithm's settings.
        bins: values of each number of an action; None for continuous actions.
        inputs: network inputs for a history of observations.
        layers: arguments shared by all perceptrons.
    """

    Config: ClassVar[type[AnyConfig]]
    bins: int | None = None

    def __init__(self, config: AnyConfig, observation_size: Size, action_size: int) -> None:
        super().__init__()
        self.config = config
        self.action_size = action_size
        vector = isinstance(observation_size, int)
        size = observation_size if isinstance(observation_size, int) else 0
        self.inputs = config.history * size
        self.layers: dict[str, Any] = {
            "layer_norm": config.layer_norm,
            "activation": config.activation,
        }
        self.normalizer = Normalizer(
            size,
            enabled=config.normalize_observations and vector,
            limit=config.clip_observations,
        )

    @abstractmethod
    def act(self, observation: Tensor) -> Tensor:
        """Exploratory actions, (n, size) within -1 and 1, for raw histories (n, history, size).

        `exploration` adds noise to the actions of deterministic algorithms.
        """

    def begin(self, begun: Tensor) -> None:
        """Note which sub-environments, (n,) bool, start an episode with the next action."""

    @abstractmethod
    def actor_body(self) -> nn.Sequential:
        """The perceptron; the tanh of its first outputs is the deterministic action.

        With bins, they are the preferences for each bin of each number.
        """

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        """The deterministic action, (n, size) within -1 and 1, for raw histories."""
        return self.greedy(self.actor_body()(self.normalizer(observation).flatten(1)))

    def greedy(self, outputs: Tensor) -> Tensor:
        """The deterministic action, (n, size), of the actor's outputs."""
        if self.bins is None:
            return torch.tanh(outputs[:, : self.action_size])
        preferences = outputs.view(len(outputs), self.action_size, self.bins)
        return values_of(preferences.argmax(-1), self.bins)

    def step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, max_norm: float = math.inf
    ) -> None:
        """One gradient step on a scalar loss, for the parameters of an optimiser only.

        Args:
            max_norm: bound of the gradient norm; larger gradients are scaled down.

        Raises:
            DivergedError: the loss is not finite; nothing has been changed.
        """
        self.descend(optimizer, self.gradients(optimizer, loss), max_norm)

    @staticmethod
    def gradients(optimizer: torch.optim.Optimizer, loss: Tensor) -> Sequence[Tensor]:
        """Gradients of a finite loss for the parameters of an optimiser."""
        require_finite(loss.item())
        parameters: list[Tensor] = optimizer.param_groups[0]["params"]
        return torch.autograd.grad(loss, parameters)

    @staticmethod
    def descend(
        optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor], max_norm: float
    ) -> None:
        """One step of an optimiser, with its gradients bounded."""
        parameters = optimizer.param_groups[0]["params"]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        if max_norm < math.inf:
            nn.utils.clip_grad_norm_(parameters, max_norm)
        optimizer.step()

    def scale_rates(self, share: float) -> None:
        """Set all learning rates to a share of their settings."""
        for optimizer in self._optimizers().values():
            for group in optimizer.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * share

    # Policies and checkpoints.

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        """The deterministic policy with the current statistics, for action bounds (size,)."""
        mean, deviation = (value.cpu().numpy().copy() for value in self.normalizer.scale())
        layers = plain(self.actor_body())
        if self.bins is None:
            layers[-1] = {name: value[: self.action_size] for name, value in layers[-1].items()}
        limit = self.normalizer.limit if self.normalizer.enabled else None
        return Policy(
            layers,
            mean,
            deviation,
            low,
            high,
            self.config.history,
            limit=limit,
            repeat=self.config.action_repeat,
            activation=self.config.activation,
            bins=self.bins or 1,
        )

    def valuation(self) -> Valuation | None:
        """The critics as plain arrays, or None for an algorithm without action values.

        Raises:
            ConfigError: a custom critic computes values in its own way.
        """
        return None

    def policies(self, low: np.ndarray, high: np.ndarray) -> dict[str, AnyPolicy]:
        """Policies to evaluate by name; the only policy has an empty name."""
        return {"": self.policy(low, high)}

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {k: v for k, v in vars(self).items() if isinstance(v, torch.optim.Optimizer)}

    def checkpoint(self) -> dict[str, Any]:
        """Weights, statistics and optimiser moments."""
        optimizers = {name: value.state_dict() for name, value in self._optimizers().items()}
        return {"modules": self.state_dict(), "optimizers": optimizers}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Restore a checkpoint; learning rates and weight decay come from the current settings."""
        self.load_state_dict(checkpoint["modules"])
        for name, optimizer in self._optimizers().items():
            now = [{k: group.get(k) for k in _OF_SETTINGS} for group in optimizer.param_groups]
            optimizer.load_state_dict(checkpoint["optimizers"][name])
            for group, values in zip(optimizer.param_groups, now, strict=True):
                group.update(values)
                if "initial_lr" in group:
                    group["initial_lr"] = group["lr"]


_OF_SETTINGS = ("lr", "weight_decay")
