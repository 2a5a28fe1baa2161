"""Compiled control steps (the extra `fast`), which `mjgym` finds by its entry points.

A task's hooks run once on symbols, which record what they compute; LLVM compiles that, and a
comparison with the hooks in some random states must find the same numbers, to the bit; between
physics steps, a long sum may differ by rounding. A hook that cannot be recorded, or differs on this
machine, runs in NumPy.

One compiled function makes a whole control step of one simulation after another: hooks, `mj_step2`,
`mj_step1`. It calls the engine's functions by address, on one MjData per simulation, without the
interpreter lock, so threads share a batch. There is no `mjcb_control`, which is global to the
process, so any number of batches can run side by side.
"""

from typing import Any

from mjgym.sim.compiled import CompiledStep
from mjgym_fast import available


def compile_hooks(task: Any, dtype: str, goals: Any, varied: tuple[str, ...]) -> CompiledStep | str:
    """Compile a task's control step, or return the reason why that fails.

    Equal tasks share a step. Arguments are those of `mjgym.sim.compiled.compile_step`.
    """
    if reason := available.refusal():
        return reason
    from mjgym_fast.compiling import compiled  # needs LLVM

    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        return compiled.__wrapped__(task, dtype, goals, varied)
    return compiled(task, dtype, goals, varied)
