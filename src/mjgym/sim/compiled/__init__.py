"""Physics steps with a compiled control law in between, without Python in the loop.

A tabletop arm computes torques before each of the 25 physics steps of a control step. In NumPy
that takes 25 engine calls, between which a simulation leaves the CPU cache. Here, one function
compiled by numba (the extra `fast`) runs all physics steps of one simulation after another: law,
`mj_step2`, `mj_step1`. It calls the engine's functions by address, on one MjData per simulation,
without the interpreter lock, so threads share a batch. There is no `mjcb_control`, which is global
to the process, so any number of batches can run side by side. A law is the address of a compiled
function too. It calls the BLAS and LAPACK of NumPy, so its numbers equal NumPy's to the bit; a law
that cannot be compiled, or differs on this machine, runs in NumPy. Muscle forces of walkers equal
NumPy's up to rounding.
"""

from typing import Protocol

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View

LAW_FIELDS = (
    *("qpos", "qvel", "qfrc_bias", "site_xpos", "site_xmat", "subtree_com", "cdof", "cvel"),
    *("M", "ctrl", "xpos", "xmat"),
)
"""Fields of MjData whose addresses are passed to a compiled law, in this order."""

OWN_LAW = "this class has a `control` or `substep` of its own"
"""The reason why a parent class's compiled law does not apply."""


class CompiledLaw(Protocol):
    """A control law between physics steps, as the address of a compiled function.

    The function takes seven integers and returns 1; a 0, which numba returns if it raises, ends the
    episode as a divergence. The integers are the phase (0 before a physics step, when it writes
    `ctrl`; 1 after it, when it updates its memory), then addresses: of a table of the addresses of
    `LAW_FIELDS`, of `numbers`, of `integers`, of the simulation's memory, of `work` scratch
    numbers, and of the BLAS functions (`mjgym.sim.compiled.foreign.blas`).
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
        """Size of its scratch space, in numbers."""

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls (*lead, nu), of which the law overwrites its part, and memory (n, k) float64."""

    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """Entries of the task's memory that the law has changed."""
