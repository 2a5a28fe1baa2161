"""Whether a compiled law equals its NumPy form on this machine."""

import ctypes
from typing import Any

import numpy as np

from mjgym.sim.single import Single
from mjgym_fast.stepping import Law, law_fields

PROBES = 8  # random states
FAR = 0.3  # their standard deviation from the start, rad or m, and of memory that starts at 0
SHARE = 0.03  # that of other memory, as a fraction of it

_Function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)


def agrees(law: Law, task: Any, sample: Single, rounding: float) -> bool:
    """Whether a law equals the task's hooks in some random states.

    Args:
        sample: a simulation; its state is overwritten.
        rounding: largest difference, relative to the largest number of an entry; 0: to the bit.
    """
    rng = np.random.default_rng(0)
    view, function = sample.view, _Function(law.address)
    start, action = np.array(view.qpos), np.zeros(len(task.actions(sample.model)))
    fields = np.array(law_fields(sample.data, law.fields), dtype=np.int64)
    work = np.zeros(law.work)
    for _ in range(PROBES):
        view.qpos[:] = start + rng.normal(scale=FAR, size=start.shape)
        view.qvel[:] = rng.normal(size=view.qvel.shape)
        sample.forward(contacts=False)
        memory = view.owned(task.memory(view))
        view.memory = {name: _perturbed(x, rng) for name, x in memory.items()}
        _, packed = law.begin(view)
        addresses = [array.ctypes.data for array in (fields, packed, work)]
        expected = {"ctrl": task.control(view, action), **task.substep(view)}
        if not function(0, *addresses):
            return False
        computed = {"ctrl": np.array(view.ctrl)}
        if not function(1, *addresses):
            return False
        computed |= law.end(view, packed)
        if any(not _equal(computed[name], x, rounding) for name, x in expected.items()):
            return False
    return True


def _perturbed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype != float:
        return x
    noise = rng.normal(size=x.shape)
    # Larger only: a fibre has a shortest length.
    return np.where(x == 0, FAR * noise, x * (1 + SHARE * abs(noise)))


def _equal(x: np.ndarray, expected: np.ndarray, rounding: float) -> bool:
    # Not finite is different, since nothing can be said then.
    apart, scale = np.abs(np.subtract(x, expected, dtype=float)), np.abs(expected)
    return bool(apart.max(initial=0.0) <= rounding * scale.max(initial=0))
