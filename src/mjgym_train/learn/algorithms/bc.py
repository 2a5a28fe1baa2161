"""Behaviour cloning: supervised learning of recorded actions from observations.

    deterministic:  minimise |a - tanh(f(s))|                                (Zhao et al., 2023: L1)
    gaussian:       minimise -log normal(a; tanh(f(s)), d(s))
    mixture:        minimise -log sum_k w_k(s) normal(a; tanh(f_k(s)), d_k(s))   (Mandlekar et al.,
                    2021: robomimic's BC-GMM)

a is a chunk: the actions of a step and of the following steps, up to the end of the episode (Zhao
et al., 2023). The policy acts by the weighted mean of all actions predicted for a step; a mixture
predicts its most probable mode. s is a history of observations; the recurrent network processes it
from a zero state.
"""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from mjgym.policies.network import Policy
from mjgym_train.config import CloningConfig, CloningSettings
from mjgym_train.learn.algorithms.agent import Agent, Metrics
from mjgym_train.learn.collector import Size
from mjgym_train.learn.demonstrations import Chunked, Chunks, Demonstrations
from mjgym_train.learn.networks import arrays, perceptron
from mjgym_train.learn.pictures import random_shift

NARROWEST = 0.01  # standard deviation; scripted actions repeat, and densities are unbounded
SMALLEST = 1e-3  # share of the action range below which an action is constant


class BC(Agent):
    """The agent of behaviour cloning, which the module describes."""

    Config: ClassVar[type[CloningSettings]] = CloningConfig
    config: CloningSettings
    demonstrations: Chunked
    action_low: Tensor
    action_high: Tensor

    def __init__(self, config: CloningSettings, observation_size: Size, action_size: int) -> None:
        super().__init__(config, observation_size, action_size)
        self.register_buffer("action_low", -torch.ones(action_size))
        self.register_buffer("action_high", torch.ones(action_size))
        self.modes = config.modes if config.output == "mixture" else 1
        self.means = self.modes * config.chunk * action_size
        self.logits = self.modes if self.modes > 1 else 0
        deviations = 0 if config.output == "deterministic" else self.means
        self.body = perceptron(
            self.inputs,
            config.hidden,
            self.means + self.logits + deviations,
            **self.layers,
        )
        self.optimizer = self.optimized(
            self.parameters(),
            config.learning_rate,
            torch.optim.AdamW,
            weight_decay=config.weight_decay,
            fused=True,
        )

    def actor_body(self) -> nn.Sequential:
        return self.body

    def learn_from(self, demonstrations: Demonstrations) -> None:
        self.demonstrations = demonstrations
        assert isinstance(self.config, CloningConfig)
        if self.config.normalize_actions:
            self.action_low, self.action_high = demonstrations.action.aminmax(dim=0)

    def normalized(self, action: Tensor) -> Tensor:
        """Actions scaled from the dataset's range to -1 and 1; 0 for constant ones."""
        middle, half = self._range()
        return torch.where(half > SMALLEST, (action - middle) / half.clamp_min(SMALLEST), 0.0)

    def _range(self) -> tuple[Tensor, Tensor]:
        middle = (self.action_low + self.action_high) / 2
        return middle, self.action_high - middle

    def act(self, observation: Tensor) -> Tensor:
        return self.mean_action(observation)[:, : self.action_size]

    @torch.no_grad()
    def mean_action(self, observation: Tensor) -> Tensor:
        """Action chunks of the deterministic policy, (n, chunk * action size), within -1 and 1."""
        outputs = self.body(self.encode(observation))
        means = outputs[:, : self.means].reshape(len(outputs), self.modes, -1)
        if self.modes > 1:
            likeliest = outputs[:, self.means : self.means + self.modes].argmax(1)
            return torch.tanh(means[torch.arange(len(means)), likeliest])
        return torch.tanh(means[:, 0])

    def update(self) -> Metrics:
        """One update on a batch that it draws; losses by name."""
        config = self.config
        drawn = self.demonstrations.chunks(config.batch_size, config.history, config.chunk)
        observation = drawn.observation
        if self.encoder is not None:
            observation = random_shift(observation, config.shift)
        loss = self.loss(self.body(self.encode(observation)), drawn)
        self.step(self.optimizer, loss)
        return {"cloning_loss": loss.detach()}

    def loss(self, outputs: Tensor, drawn: Chunks) -> Tensor:
        """Mean loss per action entry, for perceptron outputs (B, outputs); see the module."""
        shape = (len(outputs), self.modes, self.config.chunk, self.action_size)
        mean = torch.tanh(outputs[:, : self.means].reshape(shape))
        error = self.normalized(drawn.action)[:, None] - mean  # (B, modes, chunk, action size)
        there = drawn.there[:, None, :, None]
        numbers = there.sum() * self.action_size
        if self.config.output == "deterministic":
            return (error.abs() * there).sum() / numbers
        scale = outputs[:, self.means + self.logits :].reshape(shape)
        deviation = functional.softplus(scale) + NARROWEST
        density = -0.5 * (error / deviation).square() - deviation.log()
        density = ((density - 0.5 * math.log(2 * math.pi)) * there).sum((2, 3))  # (B, modes)
        if self.modes > 1:
            density = density + outputs[:, self.means : self.means + self.modes].log_softmax(1)
        return -density.logsumexp(1).sum() / numbers

    def policy(self, low: np.ndarray, high: np.ndarray) -> Policy:
        made = super().policy(low, high)
        last = arrays(self.body[-1])
        made.layers[-1] = {k: v[: self.means + self.logits] for k, v in last.items()}
        made.chunk, made.modes = self.config.chunk, self.modes
        made.ensembling = self.config.ensembling if made.chunk > 1 else 0.0
        middle, half = (value.numpy() for value in self._range())
        span = (high - low) / 2
        made.low = (low + (middle - half + 1) * span).astype(np.float32)
        made.high = (low + (middle + half + 1) * span).astype(np.float32)
        return made
