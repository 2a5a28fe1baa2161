"""Whether a compiled law gives the numbers of the one in NumPy, on this machine."""

import ctypes
from typing import Any, Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.compiled.foreign import blas
from mjgym.sim.compiled.stepping import law_fields
from mjgym.sim.single import Single
from mjgym.sim.views import View

PROBES = 8  # states, far from where an episode starts
FAR = 0.3  # rad, m: their standard deviation

_Law = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 8)


class Hooks(Protocol):
    """The law in NumPy, as hooks of a task."""

    def memory(self, v: View) -> dict[str, Array]:
        """The memory at an episode's start."""

    def control(self, v: View) -> Array:
        """All controls before a physics step."""

    def substep(self, v: View) -> dict[str, Array]:
        """The entries of the memory that change after one."""


def agrees(law: CompiledLaw, sample: Single, hooks: Hooks) -> bool:
    """Whether all numbers of a law are those of the hooks, to the bit, in some random states.

    Args:
        law: compiled.
        sample: a simulation, whose state is lost.
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
        given = [array.ctypes.data for array in arrays]
        expected = hooks.control(view), hooks.substep(view)
        if not function(0, *given) or not np.array_equal(expected[0], view.ctrl):
            return False
        if not function(1, *given):
            return False
        changed = law.end(view, packed)
        if any(not np.array_equal(changed[name], x) for name, x in expected[1].items()):
            return False
    return True
