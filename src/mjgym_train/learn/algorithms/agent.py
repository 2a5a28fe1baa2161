"""Base class of all algorithms: observation statistics, optimiser steps and checkpoints."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import AnyPolicy, Policy, Valuation
from mjgym.policies.run_errors import DivergedError
from mjgym_train.config import Config as AnyConfig
from mjgym_train.learn.collector import Size
from mjgym_train.learn.networks import plain
from mjgym_train.learn.normalization import Normalizer

Metrics = dict[str, Tensor]


class Agent(ABC, nn.Module):
    """An algorithm: what it acts by, and its networks.

    Every attribute that is a module, a parameter, a buffer or an optimiser is in its checkpoints.

    Args:
        config: settings.
        observation_size: of an observation.
        action_size: numbers in an action.

    Attributes:
        Config: settings that the algorithm has.
        inputs: numbers that the networks see of a history of observations.
        layers: arguments of all perceptrons.
    """

    Config: ClassVar[type[AnyConfig]]

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
        """Actions to explore with, (n, size) within -1 and 1, of raw histories (n, history, size).

        `exploration` adds noise to them where the algorithm's own are deterministic.
        """

    def begin(self, begun: Tensor) -> None:
        """Note which sub-environments, (n,) bool, begin an episode with the next action."""

    @abstractmethod
    def actor_body(self) -> nn.Sequential:
        """The perceptron whose first outputs' tanh is the deterministic action."""

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        """The deterministic action, (n, size) within -1 and 1, of raw histories."""
        outputs = self.actor_body()(self.normalizer(observation).flatten(1))
        return torch.tanh(outputs[:, : self.action_size])

    def step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, max_norm: float = math.inf
    ) -> None:
        """One step down a loss, by the parameters of an optimiser alone.

        Args:
            optimizer: of the parameters.
            loss: of one number.
            max_norm: of the gradient, which is scaled down to it.

        Raises:
            DivergedError: the loss is not finite; nothing has been changed by it.
        """
        if not math.isfinite(loss.item()):
            raise DivergedError(f"a loss is {loss.item()}")
        parameters = optimizer.param_groups[0]["params"]
        for parameter, gradient in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter.grad = gradient
        if max_norm < math.inf:
            nn.utils.clip_grad_norm_(parameters, max_norm)
        optimizer.step()

    def scale_rates(self, share: float) -> None:
        """Set all learning rates to a share of the settings'."""
        for optimizer in self._optimizers().values():
            for group in optimizer.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * share

    # What is kept.

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        """The deterministic policy, with the statistics of the observations as they are now.

        Args:
            low: bounds of the action, (size,).
            high: the same.
        """
        mean, deviation = (value.cpu().numpy().copy() for value in self.normalizer.scale())
        layers = plain(self.actor_body())
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
        )

    def valuation(self) -> Valuation | None:
        """The critics as plain arrays; None of an algorithm that has none of actions.

        Raises:
            ConfigError: the value of a critic of one's own is none of the package's.
        """
        return None

    def policies(self, low: np.ndarray, high: np.ndarray) -> dict[str, AnyPolicy]:
        """Policies to evaluate by name: the policy alone, whose name is empty."""
        return {"": self.policy(low, high)}

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {k: v for k, v in vars(self).items() if isinstance(v, torch.optim.Optimizer)}

    def checkpoint(self) -> dict[str, Any]:
        """Weights, statistics and the optimisers' moments."""
        optimizers = {name: value.state_dict() for name, value in self._optimizers().items()}
        return {"modules": self.state_dict(), "optimizers": optimizers}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Continue from a checkpoint; learning rates and decay are those of the settings now."""
        self.load_state_dict(checkpoint["modules"])
        for name, optimizer in self._optimizers().items():
            now = [{k: group.get(k) for k in _OF_SETTINGS} for group in optimizer.param_groups]
            optimizer.load_state_dict(checkpoint["optimizers"][name])
            for group, values in zip(optimizer.param_groups, now, strict=True):
                group.update(values)
                if "initial_lr" in group:
                    group["initial_lr"] = group["lr"]


_OF_SETTINGS = ("lr", "weight_decay")
