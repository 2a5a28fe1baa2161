"""Base class of off-policy algorithms: critics, target networks and n-step returns."""

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mjgym.policies.network import Valuation
from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn import discounts
from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.critics import Categorical, Mean, ReturnRange, make_critic, value_weights
from mjgym_train.learn.networks import Critics, plain
from mjgym_train.learn.pictures import random_shift


class OffPolicyAgent(Agent):
    """Base class of algorithms that learn from a replay buffer."""

    Config: ClassVar[type[OffPolicyConfig]] = OffPolicyConfig
    config: OffPolicyConfig
    actor_optimizer: torch.optim.Optimizer

    def __init__(self, config: OffPolicyConfig, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        self.critic = make_critic(config)
        gammas, weights = discounts.of_heads(config)
        self.discounts = torch.tensor(gammas)
        self.head_weights = torch.tensor(weights)
        self.critics = self.make_critics()
        self.target_critics = self.target_copy(self.critics)
        parts = (self.encoder if self.critics_train_encoder else None, self.memory)
        seeing = [p for part in parts if part for p in part.parameters()]
        self.critic_optimizer = self.optimizer([*seeing, *self.critics.parameters()])
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.updates: Tensor
        self.losses: Tensor  # of the last batch's transitions, (B,), where replay is prioritised

    @property
    def critics_count(self) -> int:
        """Number of critics; targets are of the one with the lowest value."""
        return 2

    @property
    def critics_train_encoder(self) -> bool:
        return True

    def make_critics(self) -> Critics:
        """Make the critics; called once `critic`, `inputs` and `discounts` exist."""
        config = self.config
        hidden, heads = config.critic_hidden or config.hidden, len(self.discounts)
        sizes = self.critics_count, self.inputs, self.action_size, hidden, heads
        return Critics(*sizes, self.critic.initial, config.action_layer, **self.layers)

    def random_action(self, count: int) -> Tensor:
        """Actions before learning starts, (count, size) within -1 and 1."""
        return torch.rand(count, self.action_size) * 2 - 1

    @abstractmethod
    def update(self, batch: Batch) -> Metrics:
        """Learn from a batch returned by `preprocess`; losses by name."""

    def preprocess(self, batch: Batch) -> Batch:
        """Transitions with network inputs in place of raw histories; images are shifted."""
        if self.encoder is not None:
            shift = self.config.shift
            batch = replace(
                batch,
                observation=random_shift(batch.observation, shift),
                following=random_shift(batch.following, shift),
            )
        return self.encoded(batch)

    def encoded(self, batch: Batch) -> Batch:
        """Transitions with network inputs in place of histories, by the critics' encoder.

        The critics' loss trains the encoder or the memory: gradients flow through the current
        observations, not through the following ones.
        """
        observation = self.encode(batch.observation)
        with torch.no_grad():
            following = self.encode(batch.following)
        return replace(batch, observation=observation, following=following)

    def fit_support(self, range_: ReturnRange, *, begun: bool) -> None:
        """Move the support of a categorical critic to the range of returns.

        Learned values are kept: the last layers interpolate the logits.
        """
        critic = self.critic
        if not isinstance(critic, Categorical):
            return
        bounds = critic.fitted(range_, begun=begun)
        if bounds == critic.bounds:
            return
        if begun:
            matrix, bias = critic.resampled(*bounds)
            critic.set_bounds(*bounds)
        else:
            before = critic.initial
            critic.set_bounds(*bounds)
            matrix, bias = torch.eye(critic.size), critic.initial - before
        for critics in (self.critics, self.target_critics):
            critics.map_outputs(matrix, bias, self.critic_optimizer)

    # Parts of the updates.

    def optimizer(
        self, parameters: Iterable[nn.Parameter], rate: float | None = None
    ) -> torch.optim.Optimizer:
        """AdamW with the settings' weight decay and, by default, their learning rate."""
        config = self.config
        return self.optimized(
            parameters,
            rate or config.learning_rate,
            torch.optim.AdamW,
            weight_decay=config.weight_decay,
            fused=True,
        )

    def step(
        self, optimizer: torch.optim.Optimizer, loss: Tensor, max_norm: float = math.inf
    ) -> None:
        super().step(optimizer, loss, min(max_norm, self.config.max_gradient_norm or math.inf))

    def actor_step(self, loss: Tensor) -> None:
        self.step(self.actor_optimizer, loss, self.config.actor_gradient_norm or math.inf)

    def target_copy(self, module: nn.Module) -> Any:
        return copy.deepcopy(module).requires_grad_(False)

    @torch.no_grad()
    def soft_update(self, target: nn.Module, source: nn.Module, rate: float | None = None) -> None:
        """Move a target network towards the trained one: target += rate (source - target).

        With `target_period` and no rate, copy the trained network every `target_period` updates.
        """
        moved: list[Tensor] = list(target.parameters())
        period = self.config.target_period
        if rate is None and period is not None:
            rate = 0.0 if self.updates % period else 1.0
        rate = self.config.target_rate if rate is None else rate
        torch._foreach_lerp_(moved, list(source.parameters()), rate)

    def returns(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Discounted reward sums and the discounts of the following value, (B, heads) each."""
        powers = self.discounts ** torch.arange(batch.rewards.shape[1])[:, None]
        following = self.discounts ** batch.steps[:, None]
        return batch.rewards @ powers, following * ~batch.terminated[:, None]

    def lowest_critic(self, outputs: Tensor) -> Tensor:
        """For each head the outputs, (B, heads, size), of the critic with the lowest value."""
        index = self.critic.value(outputs).argmin(0)
        return outputs.gather(0, index[None, ..., None].expand(1, *outputs.shape[1:]))[0]

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """Loss against a target (B, heads, size), summed over critics and heads."""
        losses = self.critic.loss(self.critics(batch.observation, batch.action), target)
        return self.weighted(batch, losses).mean(1).sum()

    def weighted(self, batch: Batch, losses: Tensor) -> Tensor:
        """Losses, (critics, B, heads), by importance, after noting them as priorities."""
        if batch.weight is None:
            return losses
        total = losses.detach().sum((0, 2))
        self.losses = total.sqrt() if isinstance(self.critic, Mean) else total  # |error|
        return batch.weight[:, None] * losses

    def acting_value(self, outputs: Tensor) -> Tensor:
        """The actor's objective, (...): weighted head values of outputs (..., heads, size)."""
        return self.critic.value(outputs) @ self.head_weights

    def critic_step(self, loss: Tensor) -> Metrics:
        """One step of the critics; their loss, and the share of the target outside the support."""
        self.step(self.critic_optimizer, loss)
        values = {"critic_loss": loss.detach()}
        if isinstance(self.critic, Categorical):
            values["clipped_target"] = self.critic.clipped
        return values

    def checkpoint(self) -> dict[str, Any]:
        bounds = self.critic.bounds if isinstance(self.critic, Categorical) else None
        return {**super().checkpoint(), "bounds": bounds}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        super().restore(checkpoint)
        if isinstance(self.critic, Categorical):
            self.critic.set_bounds(*checkpoint["bounds"])

    def valuation(self) -> Valuation:
        if self.config.action_layer:
            raise ConfigError("ensemble: critics of action_layer=0 only choose among actions")
        weights, distribution = value_weights(self.critic)
        of_heads = self.head_weights[:, None] * weights
        bodies = [plain(body.children()) for body in self.critics.bodies]
        return Valuation(
            bodies, of_heads.cpu().numpy().copy(), distribution, self.config.activation
        )
