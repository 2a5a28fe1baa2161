"""Compiled control laws (the extra `fast`), which `mjgym` finds by its entry points.

A task's hooks `control` and `substep` run once on symbols, which record what they compute; LLVM
compiles that, and a comparison with the hooks in some random states must find the same numbers: to
the bit, or up to rounding where a sum is long. What cannot be recorded, or differs on this machine,
runs in NumPy.

One function compiled by numba runs all physics steps of a control step, of one simulation after
another: law, `mj_step2`, `mj_step1`. It calls the engine's functions by address, on one MjData per
simulation, without the interpreter lock, so threads share a batch. There is no `mjcb_control`,
which is global to the process, so any number of batches can run side by side.
"""

import functools
from typing import Any

from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.single import Single
from mjgym.task.models import CACHE_SIZE, compile_model
from mjgym_fast import available

ROUNDING = 1e-12  # of long sums, relative to the largest number of an entry


def compile_hooks(task: Any) -> CompiledLaw | str:
    """`control` and `substep` of a task as a compiled law, or the reason why there is none.

    Equal tasks share a law.
    """
    if reason := available.refusal():
        return reason
    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        return _compiled(task)
    return _cached(task)


def _compiled(task: Any) -> CompiledLaw | str:
    from mjgym_fast.agreement import agrees
    from mjgym_fast.symbols import UntraceableError
    from mjgym_fast.traced_law import TracedLaw

    sample = Single(compile_model(task))
    sample.forward()
    try:
        law = TracedLaw(task, sample)
    except UntraceableError as error:
        return f"{type(task).__name__} cannot be compiled: a hook {error}"
    except Exception as error:  # hooks may do anything with symbols
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{type(task).__name__} cannot be compiled: {text}"
    if not agrees(law, task, sample, 0.0 if law.exact else ROUNDING):
        return available.warned("the compiled law gives other numbers on this machine than NumPy")
    return law


_cached = functools.lru_cache(maxsize=CACHE_SIZE)(_compiled)
