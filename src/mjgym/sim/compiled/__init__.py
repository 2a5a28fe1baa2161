"""Physics steps with a compiled control law between them, without Python in the loop.

A tabletop arm has its torques computed anew before each of the 25 physics steps of a control step.
In NumPy that is 25 calls of the engine, between which a simulation leaves the processor's cache.
Here, one function compiled by numba (the extra `fast`) goes through the simulations one by one, and
through all physics steps of each: law, `mj_step2`, `mj_step1`. It calls the engine's own functions
by their addresses, on one MjData for each simulation, and holds no lock of Python, so threads share
a batch. There is no callback (`mjcb_control`), which a process has but once: any number of batches
and environments go on side by side. A law is the address of a compiled function as well. It calls
the BLAS and LAPACK that NumPy itself calls, so that its numbers are NumPy's to the bit; a task
whose law cannot be compiled, or gives other numbers on this machine, is stepped with NumPy as ever.
The forces of a walker with muscles are NumPy's to rounding alone.
"""

import functools
import importlib
import importlib.util
import os
import warnings
from typing import Any, Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View

LAW_FIELDS = (
    *("qpos", "qvel", "qfrc_bias", "site_xpos", "site_xmat", "subtree_com", "cdof", "cvel"),
    *("M", "ctrl", "xpos", "xmat"),
)
"""The fields of MjData whose addresses a compiled law is given, in this order."""

OWN_LAW = "this class has a `control` or `substep` of its own"
"""Why the compiled law of a parent's hooks does not serve a task."""


class CompiledLaw(Protocol):
    """A control law between physics steps, as the address of a compiled function.

    The function takes seven integers and returns 1; a 0, which numba returns for one that raises,
    ends the episode as a divergence. The integers are the phase (0 before a physics step, where
    it writes `ctrl`; 1 after it, where it changes its memory), then addresses: of a table of the
    addresses of `LAW_FIELDS`, of `numbers`, of `integers`, of the simulation's memory, of `work`
    numbers to compute in, and of the BLAS functions (`mjgym.sim.compiled.foreign.blas`).
    """

    @property
    def address(self) -> int:
        """The address of the function."""

    @property
    def numbers(self) -> np.ndarray:
        """Its parameters, float64."""

    @property
    def integers(self) -> np.ndarray:
        """Its indices and switches, int64."""

    @property
    def work(self) -> int:
        """The count of numbers it needs to compute in."""

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls (*lead, nu), of which the law overwrites its own, and memory, (n, k) float64."""

    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """The entries of the task's memory that the law has changed."""


@functools.cache
def refusal() -> str:
    """Why laws cannot be compiled here; empty where they can."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return "NUMBA_DISABLE_JIT=1 switches numba off"
    if importlib.util.find_spec("numba") is None:
        return 'numba is not installed: pip install "mjgym[fast]"'
    foreign = _imported("mjgym.sim.compiled.foreign")
    if isinstance(foreign, str):
        return foreign
    if foreign.engine() is None:
        return warned("the engine's library is not where its package has it")
    if foreign.blas() is None:
        return warned("NumPy does not multiply by the OpenBLAS of its own wheels")
    stepping = _imported("mjgym.sim.compiled.stepping")
    return stepping if isinstance(stepping, str) else ""


def module(name: str) -> Any:
    """A module whose functions numba compiles when it is imported, or why it cannot be had.

    Args:
        name: of the module.

    Returns:
        The module; a sentence, `str`, where nothing can be compiled here or this fails: numba's
        files cannot be written or are damaged. It has then been warned of.
    """
    return refusal() or _imported(name)


@functools.cache
def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # a cut file of numba's cache may raise anything when it is read
        text = " ".join(str(error).split())
        return warned(
            f"numba cannot compile it or keep it in its cache: {type(error).__name__}: {text}"
        )


@functools.cache
def warned(reason: str) -> str:
    """Warn that laws run on arrays, once for each reason, which is returned."""
    text = f"control laws run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
