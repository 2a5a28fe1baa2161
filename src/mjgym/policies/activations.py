"""Activations of perceptrons by name, in NumPy."""

import math
from collections.abc import Callable

import numpy as np

LEAK = 0.01  # slope of a leaky ReLU below 0
GELU = math.sqrt(2 / math.pi), 0.044715  # factor, and weight of the cube, within its tanh


def _elu(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(x > 0, x, np.expm1(np.minimum(x, 0))))


def _silu(x: np.ndarray) -> np.ndarray:
    # The logistic function by a tanh, which does not overflow.
    return np.asarray(x * (0.5 + 0.5 * np.tanh(0.5 * x)))


def _gelu(x: np.ndarray) -> np.ndarray:
    """The tanh approximation (Hendrycks and Gimpel, 2016)."""
    factor, cube = GELU
    return np.asarray(0.5 * x * (1 + np.tanh(factor * (x + cube * x * x * x))))


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.maximum(x, LEAK * x),
    "elu": _elu,
    "silu": _silu,
    "gelu": _gelu,
    "tanh": np.tanh,
}
"""Functions of arrays of any shape, element by element."""
