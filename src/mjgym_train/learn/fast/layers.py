"""Perceptrons with forward and backward passes.

    z = x W' + b,  h = (z - mean(z)) / sqrt(var(z) + eps),  y = max(g h + e, 0)

and backwards, from the loss's derivative dy to those of the parameters and of x:

    du = dy [y > 0],  dg = sum du h,  de = sum du,  dh = du g
    dz = (dh - mean(dh) - h mean(dh h)) / sqrt(var(z) + eps)
    dW = dz' x,  db = sum dz,  dx = dz W

Without normalisation h = z, g = 1 and e = 0; the last layer is z alone. Sums are over the batch,
means over a row's units.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from torch import nn

from mjgym.policies.network import LAYER_NORM

Array = np.ndarray

compiled = njit(cache=True, fastmath=True, error_model="numpy")
"""Compiles loops; sums may be reordered, so that the processor adds several numbers at once."""

_EPSILON = np.float32(LAYER_NORM)


@compiled
def _normalized_relu(z, b, g, e, h, scale, y):
    rows, width = z.shape
    inverse = np.float32(1) / np.float32(width)
    for i in range(rows):
        total = np.float32(0)
        for j in range(width):
            shifted = z[i, j] + b[j]
            h[i, j] = shifted
            total += shifted
        mean = total * inverse
        squares = np.float32(0)
        for j in range(width):
            centred = h[i, j] - mean
            squares += centred * centred
        factor = np.float32(1) / np.sqrt(squares * inverse + _EPSILON)
        scale[i] = factor
        for j in range(width):
            normal = (h[i, j] - mean) * factor
            h[i, j] = normal
            y[i, j] = max(normal * g[j] + e[j], np.float32(0))


@compiled
def _relu(z, b, y):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            y[i, j] = max(z[i, j] + b[j], np.float32(0))


@compiled
def _normalized_relu_backward(dy, y, h, scale, g, dz, db, dg, de):
    rows, width = dy.shape
    inverse = np.float32(1) / np.float32(width)
    db[:] = 0
    dg[:] = 0
    de[:] = 0
    for i in range(rows):
        first = np.float32(0)
        second = np.float32(0)
        for j in range(width):
            du = dy[i, j] if y[i, j] > 0 else np.float32(0)
            de[j] += du
            dg[j] += du * h[i, j]
            dh = du * g[j]
            dz[i, j] = dh
            first += dh
            second += dh * h[i, j]
        first *= inverse
        second *= inverse
        for j in range(width):
            value = scale[i] * (dz[i, j] - first - h[i, j] * second)
            dz[i, j] = value
            db[j] += value


@compiled
def _relu_backward(dy, y, dz, db):
    db[:] = 0
    for i in range(dy.shape[0]):
        for j in range(dy.shape[1]):
            value = dy[i, j] if y[i, j] > 0 else np.float32(0)
            dz[i, j] = value
            db[j] += value


class _Layer:
    """A linear layer with its normalisation, and scratch arrays for one batch size."""

    def __init__(self, parameters: list[Array], gradients: list[Array], rows: int) -> None:
        self.weight, self.bias, *self.norm = parameters
        self.d_weight, self.d_bias, *self.d_norm = gradients
        outputs, inputs = self.weight.shape
        self.z, self.h, self.y, self.dz = (np.empty((rows, outputs), np.float32) for _ in range(4))
        self.dx = np.empty((rows, inputs), np.float32)
        self.scale = np.empty(rows, np.float32)

    def forward(self, x: Array) -> Array:
        np.dot(x, self.weight.T, out=self.z)
        if self.norm:
            _normalized_relu(self.z, self.bias, *self.norm, self.h, self.scale, self.y)
        else:
            _relu(self.z, self.bias, self.y)
        return self.y

    def backward(self, dy: Array) -> None:
        dz, norm = self.dz, self.norm
        if norm:
            tensors = self.y, self.h, self.scale, norm[0], dz, self.d_bias, *self.d_norm
            _normalized_relu_backward(dy, *tensors)
        else:
            _relu_backward(dy, self.y, dz, self.d_bias)


class Perceptron:
    """The layers of a module of `networks.perceptron`, sharing its parameters.

    Args:
        body: linear layers, each but the last followed by a normalisation (all or none) and a ReLU.
        parameters: of the body, in its order, sharing its memory.
        gradients: arrays of the same shapes that `backward` writes.
    """

    def __init__(
        self, body: nn.Sequential, parameters: list[Array], gradients: list[Array], rows: int
    ) -> None:
        pairs: Iterator[tuple[Array, Array]] = iter(zip(parameters, gradients, strict=True))
        self.layers: list[_Layer] = []
        norm = any(isinstance(module, nn.LayerNorm) for module in body)
        linear = sum(isinstance(module, nn.Linear) for module in body)
        for place in range(linear):
            count = 4 if norm and place < linear - 1 else 2
            own = [next(pairs) for _ in range(count)]
            self.layers.append(_Layer([p for p, _ in own], [g for _, g in own], rows))
        self._inputs: list[Array] = []

    def forward(self, x: Array) -> Array:
        """Outputs, (rows, outputs), of inputs (rows, inputs); valid until the next call."""
        self._inputs = []
        for layer in self.layers[:-1]:
            self._inputs.append(x)
            x = layer.forward(x)
        last = self.layers[-1]
        self._inputs.append(x)
        np.dot(x, last.weight.T, out=last.z)
        last.z += last.bias
        return last.z

    def backward(self, d_outputs: Array, *, parameters: bool = True, inputs: bool = False) -> Any:
        """Gradients of a loss, from its gradient by the outputs of the last `forward`.

        Args:
            parameters: whether to write the parameter gradients.
            inputs: whether to return the input gradient, (rows, inputs).
        """
        dz = d_outputs
        if parameters:
            np.sum(dz, 0, out=self.layers[-1].d_bias)
        for place in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[place]
            if parameters:
                np.dot(dz.T, self._inputs[place], out=layer.d_weight)
            if place or inputs:
                np.dot(dz, layer.weight, out=layer.dx)
            if place:
                self.layers[place - 1].backward(layer.dx)
                dz = self.layers[place - 1].dz
        return self.layers[0].dx if inputs else None
