"""AdamW (Loshchilov & Hutter, 2019) and target network updates, each one loop over memory.

m += (1 - b1) (g - m),  v += (1 - b2) (g g - v)
p = (1 - rate decay) p - rate m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from mjgym_train.learn.fast.layers import Array, compiled
from mjgym_train.learn.networks import MOMENTS


@compiled
def _adam(p, g, m, v, shrink, rate, root, b1, b2, epsilon):
    for i in range(p.size):
        m[i] += b1 * (g[i] - m[i])
        v[i] += b2 * (g[i] * g[i] - v[i])
        p[i] = p[i] * shrink - rate * m[i] / (np.sqrt(v[i]) * root + epsilon)


@compiled
def _lerp(target, source, rate):
    for i in range(target.size):
        target[i] += rate * (source[i] - target[i])


@compiled
def _squares(g):
    total = 0.0
    for i in range(g.size):
        total += g[i] * g[i]
    return total


def flatten(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Move parameters into one vector, as views of it."""
    tensors = list(parameters)
    vector = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    for tensor, part in zip(tensors, _split_like(vector, tensors), strict=True):
        tensor.data = part
    return vector


def _split_like(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    pieces = torch.split(vector, [tensor.numel() for tensor in like])
    return [piece.view_as(tensor) for piece, tensor in zip(pieces, like, strict=True)]


def lerp(target: Array, source: Array, rate: float) -> None:
    _lerp(target, source, np.float32(rate))


class AdamW:
    """Steps of a PyTorch AdamW optimiser on views of its parameters and moments."""

    def __init__(self, optimizer: torch.optim.Optimizer, max_norm: float = math.inf) -> None:
        (self._group,) = optimizer.param_groups
        tensors: list[nn.Parameter] = self._group["params"]
        self._max_norm = max_norm
        vector = flatten(tensors)
        moments = [torch.zeros_like(vector) for _ in MOMENTS]
        for name, moment in zip(MOMENTS, moments, strict=True):
            for tensor, part in zip(tensors, _split_like(moment, tensors), strict=True):
                state = optimizer.state[tensor]
                if name in state:  # from a checkpoint
                    part.copy_(state[name])
                state[name] = part
        counts = torch.zeros(len(tensors))
        for tensor, count in zip(tensors, counts, strict=True):
            if "step" in (state := optimizer.state[tensor]):
                count.copy_(state["step"])
            state["step"] = count
        self._counts: Array = counts.numpy()
        self.parameters: Array = vector.numpy()
        self.gradient: Array = np.zeros_like(self.parameters)
        self._m, self._v = (moment.numpy() for moment in moments)
        self._tensors = tensors

    def pieces(self) -> tuple[list[Array], list[Array]]:
        """Views of the parameters and of their gradients, in the optimiser's order."""
        vectors = map(torch.from_numpy, (self.parameters, self.gradient))
        parameters, gradients = (
            [part.numpy() for part in _split_like(vector, self._tensors)] for vector in vectors
        )
        return parameters, gradients

    def step(self) -> None:
        if self._max_norm < math.inf:
            norm = math.sqrt(_squares(self.gradient))
            self.gradient *= np.float32(min(1.0, self._max_norm / (norm + 1e-6)))
        self._counts += 1
        t = float(self._counts[0])
        b1, b2 = self._group["betas"]
        rate = self._group["lr"]
        scalars = (
            1 - rate * self._group["weight_decay"],
            rate / (1 - b1**t),
            1 / math.sqrt(1 - b2**t),
            1 - b1,
            1 - b2,
            self._group["eps"],
        )
        _adam(self.parameters, self.gradient, self._m, self._v, *(np.float32(x) for x in scalars))
