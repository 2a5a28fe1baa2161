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

from typing import Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View

LAW_FIELDS = (
    *("qpos", "qvel", "qfrc_bias", "site_xpos", "site_xmat", "subtree_com", "cdof", "cvel"),
    *("M", "ctrl", "xpos", "xmat"),
)
"""The fields of MjData whose addresses a compiled law is given, in this order."""

OWN_LAW = "this class has a `control` or `substep` of its own"
"""The reason why the compiled law of a parent's hooks does not serve a task."""


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
