"""Whether a compiled law equals its NumPy form on this machine."""

import ctypes
from typing import Any, Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.single import Single
from mjgym.sim.views import View
from mjgym_fast.foreign import blas
from mjgym_fast.stepping import Law, law_fields

PROBES = 8  # random states
FAR = 0.3  # their standard deviation from the start, rad or m, and of memory that starts at 0
SHARE = 0.03  # that of other memory, as a fraction of it

_Law = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 8)


class Hooks(Protocol):
    """The law in NumPy, as a task's hooks."""

    def memory(self, v: View) -> dict[str, Array]:
        """Memory at the start of an episode."""

    def control(self, v: View) -> Array:
        """Controls before a physics step."""

    def substep(self, v: View) -> dict[str, Array]:
        """Memory entries after a physics step."""


def agrees(law: Law, sample: Single, hooks: Hooks, rounding: float) -> bool:
    """Whether a law equals the hooks in some random states.

    Args:
        law: the compiled law.
        sample: a simulation; its state is overwritten.
        hooks: the same law in NumPy.
        rounding: largest difference, relative to the largest number of an entry; 0: to the bit.
    """
    rng = np.random.default_rng(0)
    view, function = sample.view, _Law(law.address)
    start = np.array(view.qpos)
    fields = np.array(law_fields(sample.data, law.fields), dtype=np.int64)
    work, addresses = np.zeros(law.work), blas()
    for _ in range(PROBES):
        view.qpos[:] = start + rng.normal(scale=FAR, size=start.shape)
        view.qvel[:] = rng.normal(size=view.qvel.shape)
        sample.forward(contacts=False)
        memory = {name: np.asarray(x) for name, x in hooks.memory(view).items()}
        view.memory = {name: _perturbed(x, rng) for name, x in memory.items()}
        control, packed = law.begin(view)
        view.ctrl[:] = control
        arrays: Any = (fields, law.numbers, law.integers, packed, work, addresses)
        arguments = [array.ctypes.data for array in arrays]
        expected = {"ctrl": hooks.control(view), **hooks.substep(view)}
        if not function(0, *arguments):
            return False
        computed = {"ctrl": np.array(view.ctrl)}
        if not function(1, *arguments):
            return False
        computed |= law.end(view, packed)
        if any(not _equal(computed[name], x, rounding) for name, x in expected.items()):
            return False
    return True


def _perturbed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=x.shape)
    # Larger only: a fibre has a shortest length.
    return np.where(x == 0, FAR * noise, x * (1 + SHARE * abs(noise)))


def _equal(x: np.ndarray, expected: np.ndarray, rounding: float) -> bool:
    # Not finite is different, since nothing can be said then.
    apart, scale = np.abs(x - expected), np.abs(expected)
    return bool(apart.max(initial=0.0) <= rounding * scale.max(initial=0.0))
