"""What the off-policy algorithms share: networks and targets, normalisation, checkpoints."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.train import discounts
from mjgym.train.buffer import Batch
from mjgym.train.config import OffPolicyConfig
from mjgym.train.critics import make_critic
from mjgym.train.errors import DivergedError
from mjgym.train.networks import Critics
from mjgym.train.normalization import Normalizer
from mjgym.train.policy import Policy

Metrics = dict[str, Tensor]


class Agent(ABC, nn.Module):
    """An off-policy algorithm: what it acts by, and its update.

    Every attribute that is a module, a parameter, a buffer or an optimiser is in its checkpoints.

    Args:
        config: settings.
        observation_size: numbers in an observation.
        action_size: numbers in an action.
    """

    Config: ClassVar[type[OffPolicyConfig]] = OffPolicyConfig
    critics_count: ClassVar[int] = 2

    def __init__(self, config: OffPolicyConfig, observation_size: int, action_size: int) -> None:
        super().__init__()
        self.config = config
        self.action_size = action_size
        self.inputs = config.history * observation_size
        self.normalizer = Normalizer(observation_size, enabled=config.normalize_observations)
        self.critic = make_critic(config)
        gammas, weights = discounts.of_heads(
            config.discounting,
            config.discount,
            config.heads,
            config.hyperbolic_k,
            config.acting_value,
        )
        self.discounts = torch.tensor(gammas)
        self.head_weights = torch.tensor(weights)
        self.critics = Critics(
            self.critics_count,
            self.inputs + action_size,
            config.hidden,
            len(gammas),
            self.critic.size,
            layer_norm=config.layer_norm,
        )
        self.target_critics = self.frozen(self.critics)
        self.critic_optimizer = self.optimizer(self.critics.parameters())

    @abstractmethod
    def act(self, observation: Tensor) -> Tensor:
        """Actions to explore with, (n, size) within -1 and 1, of raw histories (n, history, size).

        `exploration` adds noise to them where the algorithm's own are deterministic.
        """

    def begin(self, begun: Tensor) -> None:
        """Note which sub-environments, (n,) bool, begin an episode with the next action."""

    @abstractmethod
    def update(self, batch: Batch) -> Metrics:
        """Learn from transitions, whose observations are normalised; losses by name."""

    @abstractmethod
    def actor_body(self) -> nn.Sequential:
        """The perceptron whose first outputs' tanh is the deterministic action."""

    # What the updates are made of.

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """AdamW with the settings' rate and decay."""
        config = self.config
        return torch.optim.AdamW(
            parameters, config.learning_rate, weight_decay=config.weight_decay, fused=True
        )

    def frozen(self, module: nn.Module) -> Any:
        """A copy that no gradient changes, to be a target network."""
        return copy.deepcopy(module).requires_grad_(False)

    @torch.no_grad()
    def follow(self, target: nn.Module, source: nn.Module) -> None:
        """Move a target network towards the trained one: target += rate (source - target)."""
        moved: list[Tensor] = list(target.parameters())
        torch._foreach_lerp_(moved, list(source.parameters()), self.config.target_rate)

    def returns(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Discounted sums of the rewards, and the discounts of what follows, (B, heads) each.

        Every head sums the rewards by its own discount.
        """
        powers = self.discounts ** torch.arange(batch.rewards.shape[1])[:, None]
        following = self.discounts ** batch.steps[:, None]
        return batch.rewards @ powers, following * ~batch.terminated[:, None]

    def smallest(self, outputs: Tensor) -> Tensor:
        """For each head, the outputs of the critic whose value is the smallest.

        Args:
            outputs: (critics, B, heads, size).

        Returns:
            (B, heads, size): a whole distribution, not the smallest of each number.
        """
        index = self.critic.value(outputs).argmin(0)
        return outputs.gather(0, index[None, ..., None].expand(1, *outputs.shape[1:]))[0]

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """Losses of all critics and heads against a target (B, heads, size), summed over them."""
        outputs = self.critics(batch.observation, batch.action)
        return self.critic.loss(outputs, target).mean(1).sum()

    def acting_value(self, outputs: Tensor) -> Tensor:
        """What the actor maximises, (...): the heads' values weighted, of (..., heads, size)."""
        return self.critic.value(outputs) @ self.head_weights

    def step(self, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        """One step down a loss, by the parameters of an optimiser alone.

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
        optimizer.step()

    # What is kept.

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        """The deterministic policy, with the statistics of the observations as they are now.

        Args:
            low: bounds of the action, (size,).
            high: the same.
        """
        mean, deviation = (value.numpy().copy() for value in self.normalizer.scale())
        layers = [
            {name: value.detach().numpy().copy() for name, value in layer.named_parameters()}
            for layer in self.actor_body()
            if not isinstance(layer, nn.ReLU)
        ]
        layers[-1] = {name: value[: self.action_size] for name, value in layers[-1].items()}
        return Policy(layers, mean, deviation, low, high, self.config.history)

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {k: v for k, v in vars(self).items() if isinstance(v, torch.optim.Optimizer)}

    def checkpoint(self) -> dict[str, Any]:
        """Weights, statistics and the optimisers' moments."""
        optimizers = {name: value.state_dict() for name, value in self._optimizers().items()}
        return {"modules": self.state_dict(), "optimizers": optimizers}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint of an agent with the same settings."""
        self.load_state_dict(checkpoint["modules"])
        for name, optimizer in self._optimizers().items():
            optimizer.load_state_dict(checkpoint["optimizers"][name])
