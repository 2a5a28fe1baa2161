"""A trained policy as plain arrays: acting needs NumPy alone."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mjgym import atomic

_LAYER_NORM = 1e-5  # added to the variance, as PyTorch's layer does

STRIDES = (2, 2, 2, 1)
"""Of the convolutions that see pictures, whose kernels have 3 by 3 pixels."""

GREY, WHITE = 127.5, 255.0
"""What is subtracted from the channels of pictures, and by what they are divided."""

_ENCODER = "encoder."  # before the names of its arrays


class Policy:
    """The deterministic action of a perceptron, for one observation or many.

    An action does not depend on how many are computed at once, to the bit: each row is a product of
    its own.

    Args:
        layers: with `weight` (outputs, inputs) and `bias`, linear, or with both of one shape
            (width,), a layer normalisation, which a ReLU follows. Without normalisations, a ReLU
            follows every layer but the last.
        mean: of the observations, (size,); for pictures, (height, width, channels).
        deviation: of the observations, by which they are divided, of the same shape.
        low: bounds of an action, (action size,).
        high: the same.
        history: observations that it acts by.
        encoder: of pictures: convolutions with `weight` (outputs, inputs, 3, 3) and `bias`, each
            followed by a ReLU, then a linear layer and a normalisation, whose tanh the layers see.
            Without, they see vectors.
    """

    def __init__(
        self,
        layers: list[dict[str, np.ndarray]],
        mean: np.ndarray,
        deviation: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        history: int = 1,
        encoder: list[dict[str, np.ndarray]] | None = None,
    ) -> None:
        self.layers = layers
        self.mean, self.deviation = mean, deviation
        self.low, self.high = low, high
        self.history = history
        self.encoder = encoder or []
        self._past: np.ndarray | None = None

    def begin(self) -> None:
        """Forget past observations: the next one begins an episode, in all rows."""
        self._past = None

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Actions within the bounds, for one observation or for several, (n, ...)."""
        observation = np.asarray(observation, np.float32)
        single = observation.ndim == self.mean.ndim
        x = ((observation[None] if single else observation) - self.mean) / self.deviation
        if self.history > 1:
            if self._past is None or self._past.shape[0] != len(x):
                self._past = np.repeat(x[:, None], self.history, 1)
            else:
                self._past = np.concatenate([self._past[:, 1:], x[:, None]], 1)
            x = self._past
        x = self._features(x) if self.encoder else x.reshape(len(x), -1)
        x = np.tanh(self._perceptron(x[:, None, :])[:, 0])
        action: np.ndarray = self.low + (x + 1) / 2 * (self.high - self.low)
        return action[0] if single else action

    def _features(self, x: np.ndarray) -> np.ndarray:
        """Features, (n, features), of scaled pictures, (n, [history,] height, width, channels)."""
        *convolutions, linear, norm = self.encoder
        x = x.reshape(len(x), -1, *self.mean.shape)
        x = np.moveaxis(x, 1, 3).reshape(*x.shape[:1], *x.shape[2:4], -1)
        for layer, stride in zip(convolutions, STRIDES, strict=True):
            weight = layer["weight"]
            patches = sliding_window_view(x, weight.shape[2:], (1, 2))[:, ::stride, ::stride]
            n, height, width = patches.shape[:3]
            columns = patches.reshape(n, height * width, -1)
            x = np.maximum(columns @ weight.reshape(len(weight), -1).T + layer["bias"], 0)
            x = x.reshape(n, height, width, -1)
        x = np.moveaxis(x, 3, 1).reshape(len(x), 1, -1)  # each row a product of its own
        x = x @ linear["weight"].T + linear["bias"]
        return np.asarray(np.tanh(_normalised(x, norm))[:, 0])

    def _perceptron(self, x: np.ndarray) -> np.ndarray:
        normalised = any(layer["weight"].ndim == 1 for layer in self.layers)
        for layer in self.layers[:-1]:
            if layer["weight"].ndim == 2:
                x = x @ layer["weight"].T + layer["bias"]
                if normalised:
                    continue
            else:
                x = _normalised(x, layer)
            x = np.maximum(x, 0)
        last = self.layers[-1]
        return np.asarray(x @ last["weight"].T + last["bias"])

    def save(self, path: str | Path) -> None:
        """Write it into one .npz file."""
        arrays: dict[str, Any] = {
            f"{kind}{i}.{name}": array
            for kind, layers in (("", self.layers), (_ENCODER, self.encoder))
            for i, layer in enumerate(layers)
            for name, array in layer.items()
        }
        about = {
            name: getattr(self, name) for name in ("mean", "deviation", "low", "high", "history")
        }
        with atomic.replacing(path) as part:
            np.savez(part, **about, **arrays)


def _normalised(x: np.ndarray, layer: dict[str, np.ndarray]) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + _LAYER_NORM)
    return np.asarray(x * layer["weight"] + layer["bias"])


def load(path: str | Path) -> Policy:
    """The policy of a file that `Policy.save` wrote.

    Raises:
        OSError: it cannot be read.
    """
    perceptron: list[dict[str, np.ndarray]] = []
    encoder: list[dict[str, np.ndarray]] = []
    with np.load(path) as arrays:
        about = {name: arrays[name] for name in ("mean", "deviation", "low", "high")}
        history = int(arrays["history"])
        for key in arrays:
            layers = encoder if key.startswith(_ENCODER) else perceptron
            index, dot, name = key.removeprefix(_ENCODER).partition(".")
            if dot:
                layers.extend({} for _ in range(int(index) + 1 - len(layers)))
                layers[int(index)][name] = arrays[key]
    return Policy(perceptron, history=history, encoder=encoder, **about)
