"""Control laws compiled by numba (the extra `fast`), which `mjgym` finds by its entry points.

One function compiled by numba runs all physics steps of a control step, of one simulation after
another: law, `mj_step2`, `mj_step1`. It calls the engine's functions by address, on one MjData per
simulation, without the interpreter lock, so threads share a batch. There is no `mjcb_control`,
which is global to the process, so any number of batches can run side by side. A law is the address
of a compiled function too.

Arms' laws call the BLAS and LAPACK of NumPy, so their numbers equal NumPy's to the bit; a walker's
muscle forces equal them up to rounding. Both are compared with the hooks when they are made: one
that cannot be compiled, or differs on this machine, runs in NumPy.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.single import Single
from mjgym.sim.views import View
from mjgym_fast.available import loaded, warned

ROUNDING = 1e-12  # of a walker's forces, relative to the largest number of an entry


def arms(
    model: mujoco.MjModel,
    each: Sequence[tuple[str, Any, Any]],
    rest: Callable[[View], Array],
    hooks: Any,
) -> CompiledLaw | str:
    """The law of arms, or the reason why it cannot be compiled.

    Args:
        model: the compiled model.
        each: name, controller and chain of each arm.
        rest: returns the controls of all actuators, (*lead, nu), with any values for the arms'.
        hooks: the same law in NumPy, see `mjgym_fast.agreement.Hooks`.
    """
    packed = loaded(_packed_arms)
    if isinstance(packed, str):
        return packed
    for name, controller, chain in each:
        if not packed.fits(controller, chain):
            return f"no compiled law has the controller of {name}"
    sample = _sample(model)
    return _checked(packed.PackedArms(each, rest, hooks.memory(sample.view)), sample, hooks, 0.0)


def walker(
    model: mujoco.MjModel,
    sizes: Mapping[str, int],
    constants: Mapping[str, float],
    arrays: Mapping[str, np.ndarray],
    memory: Mapping[str, int],
    hooks: Any,
) -> CompiledLaw | str:
    """The forces of a musculoskeletal walker, or the reason why they cannot be compiled.

    `hooks` are those of `mjgym_fast.agreement.Hooks`; for the others see
    `mjgym_fast.packed_walker.PackedWalker`.
    """
    packed = loaded(_packed_walker)
    if isinstance(packed, str):
        return packed
    law = packed.PackedWalker(sizes, constants, arrays, memory)
    return _checked(law, _sample(model), hooks, ROUNDING)


def _sample(model: mujoco.MjModel) -> Single:
    sample = Single(copy.copy(model))
    sample.forward()
    return sample


def _checked(law: Any, sample: Single, hooks: Any, rounding: float) -> CompiledLaw | str:
    from mjgym_fast.agreement import agrees

    if not agrees(law, sample, hooks, rounding):
        return warned("the compiled law gives other numbers on this machine than NumPy")
    checked: CompiledLaw = law
    return checked


def _packed_arms() -> Any:
    from mjgym_fast import packed_arms

    return packed_arms


def _packed_walker() -> Any:
    from mjgym_fast import packed_walker

    return packed_walker
