"""States of NumPy's generators as arrays."""

from typing import Any

import numpy as np

STATE_WORDS = 6  # of 64 bits, in the state of a generator


def encode(rng: np.random.Generator) -> np.ndarray:
    """A PCG64 generator's state as an array, uint64 (6,)."""
    state: Any = rng.bit_generator.state
    words = []
    for number in (state["state"]["state"], state["state"]["inc"]):
        words += [number >> 64, number & (2**64 - 1)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def decode(rng: np.random.Generator, words: np.ndarray) -> None:
    """Restore a generator's state from `encode`."""
    w = [int(x) for x in words]
    state: Any = rng.bit_generator.state
    state["state"] = {"state": w[0] << 64 | w[1], "inc": w[2] << 64 | w[3]}
    state["has_uint32"], state["uinteger"] = w[4], w[5]
    rng.bit_generator.state = state


def check(name: str, words: np.ndarray) -> None:
    """Raise ValueError, with the name, unless an array is a state of a PCG64 generator."""
    odd, flag, buffered = int(words[3]) & 1, int(words[4]), int(words[5])
    if not odd or flag > 1 or buffered >= 2**32:
        raise ValueError(f"state: {name!r} is no state that a generator can be in: {words}")
