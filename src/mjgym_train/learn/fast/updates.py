"""The updates of TD3, DDPG, D4PG and SAC, as their modules define them."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mjgym_train.learn.algorithms.agent import Metrics, require_finite
from mjgym_train.learn.algorithms.deterministic import DeterministicAgent
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.algorithms.sac import SAC
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.fast.layers import Array, Perceptron
from mjgym_train.learn.fast.losses import loss_of
from mjgym_train.learn.fast.optimizer import AdamW, flatten, lerp
from mjgym_train.learn.networks import LOG_STD


class FastUpdate(ABC):
    """Base class of updates on arrays that share an agent's memory.

    Losses see each head of each row of a batch as a row of its own, with its discount.
    """

    def __init__(self, agent: DeterministicAgent | SAC) -> None:
        config = agent.config
        self.agent, self.config = agent, config
        self.rows = config.batch_size
        self.loss = loss_of(agent.critic)
        self.max_norm = config.max_gradient_norm or math.inf
        self.critic_optimizer = AdamW(agent.critic_optimizer, self.max_norm)
        parameters, gradients = self.critic_optimizer.pieces()
        bodies: Any = agent.critics.bodies
        each = len(parameters) // len(bodies)
        self.critics = [
            Perceptron(body, parameters[k : k + each], gradients[k : k + each], self.rows)
            for k, body in zip(range(0, len(parameters), each), bodies, strict=True)
        ]
        self._target_vector = flatten(agent.target_critics.parameters()).numpy()
        self.target_critics = [self._frozen(body) for body in agent.target_critics.bodies]
        self.head_weights: Array = agent.head_weights.numpy()
        self.heads = len(self.head_weights)
        self.discounts = agent.discounts.double().numpy()
        if self.heads == 1:  # which is not rounded to float32
            self.discounts = np.array([config.discount])
        powers = self.discounts[:, None] ** np.arange(config.n_step)
        self.powers = powers.astype(np.float32)
        self.actor_optimizer = AdamW(agent.actor_optimizer, self.max_norm)
        self.actor = Perceptron(agent.actor.body, *self.actor_optimizer.pieces(), self.rows)

    def _frozen(self, body: Any) -> Perceptron:
        parameters = [parameter.detach().numpy() for parameter in body.parameters()]
        return Perceptron(body, parameters, parameters, self.rows)

    @abstractmethod
    def update(self, batch: Batch) -> Metrics:
        """One update; losses by name, as `OffPolicyAgent.update`."""

    def returns(self, batch: Batch) -> tuple[Array, Array]:
        """Discounted reward sums and discounts of the following value, (rows * heads,) each."""
        following = self.discounts ** batch.steps.numpy()[:, None]
        following *= ~batch.terminated.numpy()[:, None]
        sums = np.stack([batch.rewards.numpy() @ powers for powers in self.powers], 1)
        return sums.ravel(), following.ravel().astype(np.float32)

    def outputs(self, critic: Perceptron, x: Array) -> Array:
        """Outputs of a critic, (rows * heads, size)."""
        return critic.forward(x).reshape(self.rows * self.heads, -1)

    def acting_value(self, value: Array) -> Array:
        """The actor's objective, (rows,), from values of the heads."""
        weighted: Array = value.reshape(self.rows, self.heads) @ self.head_weights
        return weighted

    def acting_gradient(self, predicted: tuple[Array, Array], weight: Array) -> Array:
        """Gradient of the weighted objectives, weights (rows,), by a critic's whole outputs."""
        of_heads = (weight[:, None] * self.head_weights).reshape(-1, 1)
        return (self.loss.value_gradient(*predicted) * of_heads).reshape(self.rows, -1)

    def lowest(self, x: Array) -> Array:
        """Prediction of the target critic with the lowest value, head by head of each row."""
        pairs = [self.loss.predict(self.outputs(critic, x)) for critic in self.target_critics]
        (value, lowest), *others = pairs
        for other_value, other in others:
            lowest = np.where((value <= other_value)[:, None], lowest, other)
            value = np.minimum(value, other_value)
        return lowest

    def learn_critics(self, observation: Array, batch: Batch, target: Array) -> Metrics:
        """One step of all critics towards a target; returns their summed loss."""
        x = np.concatenate([observation, batch.action.numpy()], 1)
        total = 0.0
        for critic in self.critics:
            loss, gradient = self.loss.gradient(self.outputs(critic, x), target)
            gradient *= np.float32(self.heads)  # the loss is a mean over rows and a sum over heads
            critic.backward(gradient.reshape(self.rows, -1))
            total += loss * self.heads
        require_finite(total)
        self.critic_optimizer.step()
        metrics = {"critic_loss": torch.tensor(total)}
        if self.loss.clipped is not None:
            metrics["clipped_target"] = torch.tensor(self.loss.clipped)
        return metrics

    def move_critics(self) -> None:
        lerp(self._target_vector, self.critic_optimizer.parameters, self.config.target_rate)


class Deterministic(FastUpdate):
    """The update of TD3, DDPG and D4PG."""

    agent: DeterministicAgent

    def __init__(self, agent: DeterministicAgent) -> None:
        super().__init__(agent)
        rates = {agent.target_actor: agent.config.target_rate}
        if agent.average_actor is not None and agent.config.average_rate is not None:
            rates[agent.average_actor] = agent.config.average_rate
        self._following = [(flatten(a.parameters()).numpy(), rate) for a, rate in rates.items()]
        self.target_actor = self._frozen(agent.target_actor.body)

    def update(self, batch: Batch) -> Metrics:
        self.agent.updates += 1
        observation, following = _flat(batch.observation), _flat(batch.following)
        action = np.tanh(self.target_actor.forward(following))
        action = self.agent.smoothed(torch.from_numpy(action)).numpy()
        prediction = self.lowest(np.concatenate([following, action], 1))
        target = self.loss.target(prediction, *self.returns(batch))
        metrics = self.learn_critics(observation, batch, target)
        if self.agent.updates % self.agent.policy_delay:
            return metrics
        metrics["value"] = torch.tensor(self.learn_actor(observation))
        self.move_critics()
        for following, rate in self._following:
            lerp(following, self.actor_optimizer.parameters, rate)
        return metrics

    def learn_actor(self, observation: Array) -> float:
        """A step of the actor: maximise Q_1(s, a), a = tanh(u), so dL/du = -dQ/da (1 - a^2)."""
        action = np.tanh(self.actor.forward(observation))
        critic = self.critics[0]
        x = np.concatenate([observation, action], 1)
        predicted = self.loss.predict(self.outputs(critic, x))
        value = float(self.acting_value(predicted[0]).mean())
        require_finite(value)
        share = np.full(self.rows, -1 / self.rows, np.float32)
        gradient = self.acting_gradient(predicted, share)
        d_action = _of_action(critic, gradient, action)
        self.actor.backward(d_action * (1 - action * action))
        self.actor_optimizer.step()
        return value


class SoftActorCritic(FastUpdate):
    """The update of SAC."""

    agent: SAC

    def update(self, batch: Batch) -> Metrics:
        agent = self.agent
        agent.updates += 1
        observation, following = _flat(batch.observation), _flat(batch.following)
        action, log_density, *_ = self.sample(following)
        prediction = self.lowest(np.concatenate([following, action], 1))
        rewards, discount = self.returns(batch)
        alpha = np.float32(agent.alpha.item())
        bonus = -discount * alpha * np.repeat(log_density, self.heads)
        target = self.loss.target(prediction, rewards + bonus, discount)
        metrics = self.learn_critics(observation, batch, target)

        value, entropy = self.learn_actor(observation, alpha)
        if agent.config.adapt_temperature:
            loss = agent.log_alpha * (entropy - agent.target_entropy)
            agent.step(agent.temperature_optimizer, loss)
        self.move_critics()
        return metrics | {
            "value": torch.tensor(value),
            "entropy": torch.tensor(entropy),
            "temperature": agent.alpha,
        }

    def sample(self, observation: Array) -> tuple[Array, ...]:
        """Actions, log densities and intermediates of the gradient: deviation * noise, clamping.

        a = tanh(u), u = mean + exp(s) n, and log pi = sum of -n^2/2 - s - log(2 pi)/2 less
        log(1 - a^2) = 2 (log 2 - u - softplus(-2 u)).
        """
        mean, raw = np.split(self.actor.forward(observation), 2, axis=1)
        noise = torch.randn(*mean.shape).numpy()
        log_std = np.clip(raw, *LOG_STD)
        spread = np.exp(log_std) * noise
        u = mean + spread
        squash = 2 * (np.float32(math.log(2)) - u - np.logaddexp(0, -2 * u))
        density = -0.5 * noise * noise - log_std - np.float32(0.5 * math.log(2 * math.pi))
        return np.tanh(u), (density - squash).sum(1), spread, raw == log_std

    def learn_actor(self, observation: Array, alpha: np.float32) -> tuple[float, float]:
        """A step of the actor down mean(alpha log pi - min_i Q_i); mean value and entropy.

        d log pi/du = 2 a,  d log pi/ds = -1 besides,  du/ds = exp(s) n,  da/du = 1 - a^2.
        """
        action, log_density, spread, free = self.sample(observation)
        x = np.concatenate([observation, action], 1)
        predicted = [self.loss.predict(self.outputs(critic, x)) for critic in self.critics]
        values = np.stack([self.acting_value(value) for value, _ in predicted])
        lowest = values.argmin(0)
        loss = float((alpha * log_density - values.min(0)).mean())
        require_finite(loss)
        d_action = np.zeros_like(action)
        for k, critic in enumerate(self.critics):
            weight = np.where(lowest == k, np.float32(-1 / self.rows), np.float32(0))
            gradient = self.acting_gradient(predicted[k], weight)
            d_action += _of_action(critic, gradient, action)
        share = alpha / np.float32(self.rows)
        d_mean = d_action * (1 - action * action) + 2 * share * action
        d_log_std = (d_mean * spread - share) * free
        self.actor.backward(np.concatenate([d_mean, d_log_std], 1, dtype=np.float32))
        self.actor_optimizer.step()
        return float(values.min(0).mean()), -float(log_density.mean())


def fast_update(agent: OffPolicyAgent) -> FastUpdate:
    """The fast update of an agent; its parameters become views of vectors."""
    if isinstance(agent, SAC):
        return SoftActorCritic(agent)
    assert isinstance(agent, DeterministicAgent)
    return Deterministic(agent)


def _flat(observation: Tensor) -> Array:
    flat: Array = observation.flatten(1).numpy()
    return flat


def _of_action(critic: Perceptron, gradient: Array, action: Array) -> Array:
    d_inputs: Array = critic.backward(gradient, parameters=False, inputs=True)
    return np.ascontiguousarray(d_inputs[:, -action.shape[1] :])
