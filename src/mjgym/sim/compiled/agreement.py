"""Tests whether a compiled law equals its NumPy form on this machine."""

import ctypes
from typing import Any, Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.compiled.foreign import blas
from mjgym.sim.compiled.stepping import law_fields
from mjgym.sim.single import Single
from mjgym.sim.views import View

PROBES = 8  # random states
FAR = 0.3  # their standard deviation from the start, rad or m

_Law = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 8)


class Hooks(Protocol):
    """The law in NumPy, as a task's hooks."""

    def memory(self, v: View) -> dict[str, Array]:
        """Memory at the start of an episode."""

    def control(self, v: View) -> Array:
        """Controls before a physics step."""

    def substep(self, v: View) -> dict[str, Array]:
        """Memory entries after a physics step."""


def agrees(law: CompiledLaw, sample: Single, hooks: Hooks) -> bool:
    """Whether a law equals the hooks to the bit, in some random states.

    Args:
        law: the compiled law.
        sample: a simulation; its state is overwritten.
        hooks: the same law in NumPy.
    """
    rng = np.random.default_rng(0)
    view, function = sample.view, _Law(law.address)
    start = np.array(view.qpos)
    fields = np.array(law_fields(sample.data), dtype=np.int64)
    work, addresses = np.zeros(law.work), blas()
    for _ in range(PROBES):
        view.qpos[:] = start + rng.normal(scale=FAR, size=start.shape)
        view.qvel[:] = rng.normal(size=view.qvel.shape)
        sample.forward(contacts=False)
        memory = {name: np.asarray(x) for name, x in hooks.memory(view).items()}
        view.memory = {n: x + rng.normal(scale=FAR, size=x.shape) for n, x in memory.items()}
        control, packed = law.begin(view)
        view.ctrl[:] = control
        arrays: Any = (fields, law.numbers, law.integers, packed, work, addresses)
        arguments = [array.ctypes.data for array in arrays]
        expected = hooks.control(view), hooks.substep(view)
        if not function(0, *arguments) or not np.array_equal(expected[0], view.ctrl):
            return False
        if not function(1, *arguments):
            return False
        changed = law.end(view, packed)
        if any(not np.array_equal(changed[name], x) for name, x in expected[1].items()):
            return False
    return True
