"""Losses of the critics in `mjgym_train.learn.critics`, with their derivatives.

Outputs o are (rows, size). The actor maximises `value`, whose derivative by the outputs is

    mean         V = o                        dV/do = 1
    categorical  V = sum p z, p = softmax(o)  dV/do_k = p_k (z_k - V)
    quantile     V = mean o                   dV/do_k = 1 / size

and a critic's loss against a target y, for each row,

    mean         (o - y)^2                      dL/do = 2 (o - y)
    categorical  -sum y log p                   dL/do = p - y
    quantile     sum_i mean_j |l_i - [y_j < o_i]| huber(o_i - y_j)
"""

import numpy as np

from mjgym_train.learn import critics
from mjgym_train.learn.critics import HUBER
from mjgym_train.learn.fast.layers import Array, compiled


class Loss:
    """The expected return, learned by squared errors; other critics are subclasses."""

    clipped: float | None = None  # share of the last target outside a support

    def predict(self, outputs: Array) -> tuple[Array, Array]:
        """Values, (rows,), and the predicted return of each row, in the shape of the outputs."""
        return outputs[:, 0], outputs

    def value_gradient(self, value: Array, prediction: Array) -> Array:
        """Gradient of each row's value by its outputs, in the shape of the outputs."""
        return np.ones_like(prediction)

    def target(self, prediction: Array, rewards: Array, discount: Array) -> Array:
        """Target for rewards (rows,) and the discounted return that is predicted."""
        return np.asarray(rewards[:, None] + discount[:, None] * prediction)

    def gradient(self, outputs: Array, target: Array) -> tuple[float, Array]:
        """Mean loss over the rows, and its gradient by the outputs."""
        error = outputs - target
        return float(np.mean(error * error)), error * np.float32(2 / len(error))


@compiled
def _shift(outputs, p, highest):
    for i in range(p.shape[0]):
        most = outputs[i, 0]
        for j in range(1, p.shape[1]):
            most = max(most, outputs[i, j])
        highest[i] = most
        for j in range(p.shape[1]):
            p[i, j] = outputs[i, j] - most


@compiled
def _normalize(p, total):
    for i in range(p.shape[0]):
        whole = np.float32(0)
        for j in range(p.shape[1]):
            whole += p[i, j]
        total[i] = whole
        inverse = np.float32(1) / whole
        for j in range(p.shape[1]):
            p[i, j] *= inverse


@compiled
def _project(p, rewards, discount, low, high, target):
    """Split the probability of shifted atoms between neighbours; returns the share outside."""
    rows, atoms = p.shape
    spacing = (high - low) / np.float32(atoms - 1)
    slack = np.float32(1e-3) * spacing
    outside = np.float32(0)
    target[:] = 0
    for i in range(rows):
        for j in range(atoms):
            moved = rewards[i] + discount[i] * (low + np.float32(j) * spacing)
            if moved < low - slack or moved > high + slack:
                outside += p[i, j]
            place = (min(max(moved, low), high) - low) / spacing
            below = min(int(place), atoms - 2)
            share = place - np.float32(below)
            target[i, below] += p[i, j] * (np.float32(1) - share)
            target[i, below + 1] += p[i, j] * share
    return outside / np.float32(rows)


class Categorical(Loss):
    """Probabilities of evenly spaced returns; the outputs are logits."""

    def __init__(self, critic: critics.Categorical) -> None:
        self._critic = critic  # whose support moves during learning
        self.clipped = 0.0

    def _probabilities(self, outputs: Array) -> tuple[Array, Array, Array]:
        """Probabilities, and the logits' maximum and log-sum-exp, (rows,) each."""
        p, (highest, total) = np.empty_like(outputs), np.empty((2, len(outputs)), np.float32)
        _shift(outputs, p, highest)
        np.exp(p, out=p)
        _normalize(p, total)
        return p, highest, np.log(total)

    def predict(self, outputs: Array) -> tuple[Array, Array]:
        p = self._probabilities(outputs)[0]
        return np.asarray(p @ self._critic.support.numpy()), p

    def value_gradient(self, value: Array, prediction: Array) -> Array:
        return np.asarray(prediction * (self._critic.support.numpy() - value[:, None]))

    def target(self, prediction: Array, rewards: Array, discount: Array) -> Array:
        low, high = (np.float32(bound) for bound in self._critic.bounds)
        target = np.empty_like(prediction)
        self.clipped = float(_project(prediction, rewards, discount, low, high, target))
        return target

    def gradient(self, outputs: Array, target: Array) -> tuple[float, Array]:
        """The cross entropy, -sum y (o - max o - log sum exp(o - max o)); y adds up to 1."""
        p, highest, log_total = self._probabilities(outputs)
        entropy = highest + log_total - np.einsum("ij,ij->i", target, outputs)
        p -= target
        p *= np.float32(1 / len(p))
        return float(np.mean(entropy)), p


@compiled
def _quantile(outputs, target, levels, gradient):
    """Sum of the losses; `target` is sorted and float64, since it is squared."""
    rows, size = outputs.shape
    count = target.shape[1]
    total = 0.0
    first = np.empty(count + 1)
    second = np.empty(count + 1)
    scale = 1 / (count * HUBER)
    for i in range(rows):
        first[0] = second[0] = 0
        for j in range(count):
            first[j + 1] = first[j] + target[i, j]
            second[j + 1] = second[j] + target[i, j] * target[i, j]
        for k in range(size):
            q = np.float64(outputs[i, k])
            low = np.searchsorted(target[i], q - HUBER)
            middle = np.searchsorted(target[i], q)
            high = np.searchsorted(target[i], q + HUBER)
            below = HUBER * ((q - HUBER / 2) * low - first[low])
            below += 0.5 * (
                second[middle]
                - second[low]
                - 2 * q * (first[middle] - first[low])
                + q * q * (middle - low)
            )
            above = HUBER * (first[count] - first[high] - (q + HUBER / 2) * (count - high))
            above += 0.5 * (
                second[high]
                - second[middle]
                - 2 * q * (first[high] - first[middle])
                + q * q * (high - middle)
            )
            d_below = HUBER * low + q * (middle - low) - (first[middle] - first[low])
            d_above = q * (high - middle) - (first[high] - first[middle]) - HUBER * (count - high)
            total += ((1 - levels[k]) * below + levels[k] * above) * scale
            slope = ((1 - levels[k]) * d_below + levels[k] * d_above) * scale
            gradient[i, k] = slope / rows
    return total / rows


class Quantile(Loss):
    """Quantiles of the return, learned by the quantile Huber loss."""

    def predict(self, outputs: Array) -> tuple[Array, Array]:
        return np.asarray(outputs.mean(1)), outputs

    def value_gradient(self, value: Array, prediction: Array) -> Array:
        return np.full_like(prediction, 1 / prediction.shape[1])

    def gradient(self, outputs: Array, target: Array) -> tuple[float, Array]:
        """The quantile Huber loss, by differences of running sums over the sorted target."""
        levels = (np.arange(outputs.shape[1]) + 0.5) / outputs.shape[1]
        gradient = np.empty_like(outputs)
        ordered = np.sort(target.astype(np.float64), 1)
        return float(_quantile(outputs, ordered, levels, gradient)), gradient


def loss_of(critic: critics.Critic) -> Loss:
    """The loss of a built-in critic."""
    if isinstance(critic, critics.Categorical):
        return Categorical(critic)
    return Loss() if isinstance(critic, critics.Mean) else Quantile()
