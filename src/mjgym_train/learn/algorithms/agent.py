"""Base class of all algorithms: observation statistics, optimiser steps and checkpoints."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import AnyPolicy, Policy, Valuation
from mjgym.policies.run_errors import ConfigError, DivergedError
from mjgym_train.config import Config as AnyConfig
from mjgym_train.config import EncoderSettings
from mjgym_train.learn.action_distributions import values_of
from mjgym_train.learn.collector import Size
from mjgym_train.learn.named_classes import made_of_torch
from mjgym_train.learn.networks import arrays, plain
from mjgym_train.learn.normalization import Normalizer
from mjgym_train.learn.pictures import Encoder

Metrics = dict[str, Tensor]


def require_finite(loss: float) -> None:
    if not math.isfinite(loss):
        raise DivergedError(f"a loss is {loss}")


class Agent(ABC, nn.Module):
    """An algorithm: its networks, and how it acts.

    Checkpoints contain every attribute that is a module, parameter, buffer or optimiser.
    """

    Config: ClassVar[type[AnyConfig]]
    bins: int | None = None  # values of each number of an action; None for continuous actions
    schedulers: Sequence[torch.optim.lr_scheduler.LRScheduler] = ()

    def __init__(self, config: AnyConfig, observation_size: Size, action_size: int) -> None:
        super().__init__()
        self.config = config
        self.action_size = action_size
        self.encoder: Encoder | None = None
        if not isinstance(observation_size, int):
            if not isinstance(config, EncoderSettings):
                raise ConfigError(
                    f'env: {config.algorithm} learns from vectors, observation="flat"; from'
                    " pictures learn td3, ddpg, d4pg and sac"
                )
            self.encoder = Encoder.from_config(config, observation_size)
        vector = isinstance(observation_size, int)
        size = observation_size if isinstance(observation_size, int) else 0
        self.inputs = config.history * size if self.encoder is None else self.encoder.features
        self.memory: nn.GRU | None = None  # before the networks
        if config.network == "gru":
            if not vector:
                raise ConfigError("network: gru sees vectors; of pictures, take perceptron")
            self.memory = nn.GRU(size, config.hidden[0], batch_first=True)
            self.inputs = config.hidden[0]
        self.layers: Any = {"layer_norm": config.layer_norm, "activation": config.activation}
        enabled = config.normalize_observations and vector
        self.normalizer = Normalizer(size, enabled=enabled, limit=config.clip_observations)

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

    def features(self, observation: Tensor) -> Tensor:
        """Inputs of the networks, (..., inputs), for normalised histories (..., history, size)."""
        if self.memory is None:
            return observation.flatten(-2)
        states: Tensor = self.memory(observation.flatten(0, -3))[0][:, -1]
        return states.view(*observation.shape[:-2], -1)

    @property
    def acting_encoder(self) -> Encoder | None:
        return self.encoder

    def encode(self, observation: Tensor, encoder: Encoder | None = None) -> Tensor:
        """Inputs of the networks, (B, inputs), for raw histories; by another encoder, if given."""
        if self.encoder is None:
            return self.features(self.normalizer(observation))
        encoded: Tensor = (encoder or self.encoder)(observation)
        return encoded

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        """The deterministic action, (n, size) within -1 and 1, for raw histories."""
        return self.greedy(self.actor_body()(self.encode(observation, self.acting_encoder)))

    def greedy(self, outputs: Tensor) -> Tensor:
        """The deterministic action, (n, size), of the actor's outputs."""
        if self.bins is None:
            return torch.tanh(outputs[:, : self.action_size])
        preferences = outputs.view(len(outputs), self.action_size, self.bins)
        return values_of(preferences.argmax(-1), self.bins)

    def step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, max_norm: float = math.inf
    ) -> None:
        """One gradient step on a scalar loss, for the parameters of an optimiser only."""
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
        """Take an optimiser step with clipped gradients."""
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

    def optimized(
        self,
        parameters: Iterable[nn.Parameter],
        rate: float,
        usual: Callable[..., torch.optim.Optimizer],
        **arguments: Any,
    ) -> torch.optim.Optimizer:
        """The optimiser of the settings, or else the algorithm's usual one with its arguments."""
        own = self.config.optimizer
        if not own:
            return usual(parameters, lr=rate, **arguments)
        return made_of_torch(
            "optimizer", torch.optim, torch.optim.Optimizer, own, parameters, lr=rate
        )

    def begin_schedule(self) -> None:
        """Make a scheduler of the settings for each optimiser, which all exist by now."""
        if settings := self.config.scheduler:
            if settings.get("name") == "ReduceLROnPlateau":
                raise ConfigError("scheduler: ReduceLROnPlateau follows a metric, not the updates")
            schedulers, base = torch.optim.lr_scheduler, torch.optim.lr_scheduler.LRScheduler
            self.schedulers = [
                made_of_torch("scheduler", schedulers, base, settings, optimizer)
                for optimizer in self._optimizers().values()
            ]

    def schedule(self, updates: int) -> None:
        """Step the schedulers once for each update."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # delayed optimisers have not stepped yet
            for scheduler in self.schedulers:
                for _ in range(updates):
                    scheduler.step()

    # Policies and checkpoints.

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        """The deterministic policy with the current statistics, for action bounds (size,)."""
        mean, deviation = (value.cpu().numpy().copy() for value in self.normalizer.scale())
        layers = plain(self.actor_body())
        if self.bins is None:
            layers[-1] = {name: value[: self.action_size] for name, value in layers[-1].items()}
        limit = self.normalizer.limit if self.normalizer.enabled else None
        made = Policy(
            layers,
            mean,
            deviation,
            low,
            high,
            self.config.history,
            limit=limit,
            memory={} if self.memory is None else arrays(self.memory),
            acted=self.config.history_actions,
            repeat=self.config.action_repeat,
            activation=self.config.activation,
            bins=self.bins or 1,
        )
        if self.acting_encoder is not None:
            self.acting_encoder.complete(made)
        return made

    def valuation(self) -> Valuation | None:
        return None

    def policies(self, low: np.ndarray, high: np.ndarray) -> dict[str, AnyPolicy]:
        """Policies to evaluate by name; the only policy has an empty name."""
        return {"": self.policy(low, high)}

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {k: v for k, v in vars(self).items() if isinstance(v, torch.optim.Optimizer)}

    def checkpoint(self) -> dict[str, Any]:
        optimizers = {name: value.state_dict() for name, value in self._optimizers().items()}
        schedulers = [scheduler.state_dict() for scheduler in self.schedulers]
        return {"modules": self.state_dict(), "optimizers": optimizers, "schedulers": schedulers}

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
        for scheduler, state in zip(self.schedulers, checkpoint["schedulers"], strict=True):
            scheduler.load_state_dict(state)
            for group, rate in zip(
                scheduler.optimizer.param_groups, scheduler.get_last_lr(), strict=True
            ):
                group["lr"] = rate

    def start_from(self, checkpoint: dict[str, Any]) -> None:
        """Restore another run's checkpoint, without the noise of its sub-environments.

        Raises:
            ConfigError: its networks have other shapes.
        """
        own, noise = self.state_dict(), "exploration."
        given = {k: x for k, x in checkpoint["modules"].items() if not k.startswith(noise)}
        given |= {k: x for k, x in own.items() if k.startswith(noise)}
        shapes = [{k: tuple(x.shape) for k, x in each.items()} for each in (given, own)]
        differing = [
            f"{name} is {' and here '.join(str(each.get(name, 'missing')) for each in shapes)}"
            for name in given | own
            if len({each.get(name) for each in shapes}) > 1
        ]
        if differing:
            shown = "; ".join(differing[:3]) + "; ..." * (len(differing) > 3)
            raise ConfigError(f"start_from: its networks have other shapes: {shown}")
        self.restore({**checkpoint, "modules": given})


_OF_SETTINGS = ("lr", "weight_decay")
