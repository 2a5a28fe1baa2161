"""A trained policy as plain arrays: acting needs NumPy alone."""

from pathlib import Path
from typing import Any

import numpy as np

from mjgym import atomic

_LAYER_NORM = 1e-5  # added to the variance, as PyTorch's layer does


class Policy:
    """The deterministic action of a perceptron, for one observation or many.

    An action does not depend on how many are computed at once, to the bit: each row is a product of
    its own.

    Args:
        layers: with `weight` (outputs, inputs) and `bias`, linear, or with both of one shape
            (width,), a layer normalisation, which a ReLU follows. Without normalisations, a ReLU
            follows every layer but the last.
        mean: of the observations, (size,).
        deviation: of the observations, by which they are divided, (size,).
        low: bounds of an action, (action size,).
        high: the same.
        history: observations that it acts by.
    """

    def __init__(
        self,
        layers: list[dict[str, np.ndarray]],
        mean: np.ndarray,
        deviation: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        history: int = 1,
    ) -> None:
        self.layers = layers
        self.mean, self.deviation = mean, deviation
        self.low, self.high = low, high
        self.history = history
        self._past: np.ndarray | None = None

    def begin(self) -> None:
        """Forget past observations: the next one begins an episode, in all rows."""
        self._past = None

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Actions within the bounds, (..., action size), for observations (..., size)."""
        observation = np.asarray(observation, np.float32)
        single = observation.ndim == 1
        x = (np.atleast_2d(observation) - self.mean) / self.deviation
        if self.history > 1:
            if self._past is None or self._past.shape[0] != len(x):
                self._past = np.repeat(x[:, None], self.history, 1)
            else:
                self._past = np.concatenate([self._past[:, 1:], x[:, None]], 1)
            x = self._past.reshape(len(x), -1)
        x = np.tanh(self._perceptron(x[:, None, :])[:, 0])
        action: np.ndarray = self.low + (x + 1) / 2 * (self.high - self.low)
        return action[0] if single else action

    def _perceptron(self, x: np.ndarray) -> np.ndarray:
        normalised = any(layer["weight"].ndim == 1 for layer in self.layers)
        for layer in self.layers[:-1]:
            if layer["weight"].ndim == 2:
                x = x @ layer["weight"].T + layer["bias"]
                if normalised:
                    continue
            else:
                x = x - x.mean(-1, keepdims=True)
                x = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + _LAYER_NORM)
                x = x * layer["weight"] + layer["bias"]
            x = np.maximum(x, 0)
        last = self.layers[-1]
        return np.asarray(x @ last["weight"].T + last["bias"])

    def save(self, path: str | Path) -> None:
        """Write it into one .npz file."""
        arrays: dict[str, Any] = {
            f"{i}.{name}": array
            for i, layer in enumerate(self.layers)
            for name, array in layer.items()
        }
        about = {
            name: getattr(self, name) for name in ("mean", "deviation", "low", "high", "history")
        }
        with atomic.replacing(path) as part:
            np.savez(part, **about, **arrays)


def load(path: str | Path) -> Policy:
    """The policy of a file that `Policy.save` wrote.

    Raises:
        OSError: it cannot be read.
    """
    layers: list[dict[str, np.ndarray]] = []
    with np.load(path) as arrays:
        about = {name: arrays[name] for name in ("mean", "deviation", "low", "high")}
        history = int(arrays["history"])
        for key in arrays:
            index, dot, name = key.partition(".")
            if dot:
                layers.extend({} for _ in range(int(index) + 1 - len(layers)))
                layers[int(index)][name] = arrays[key]
    return Policy(layers, history=history, **about)
