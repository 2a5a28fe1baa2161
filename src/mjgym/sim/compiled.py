"""Compiled control laws: what a simulation asks of one, and how packages offer them.

A tabletop arm computes torques before each of the 25 physics steps of a control step. In NumPy
that takes 25 engine calls, between which a simulation leaves the CPU cache. A compiled law makes
all physics steps in one call instead, without Python in between. `mjgym_fast` has such laws; they
are found through the entry points of `mjgym.laws`.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Protocol

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View
from mjgym.util import plugins

OWN_LAW = "this class has a `control` or `substep` of its own"
"""The reason why a parent class's compiled law does not apply."""


class LawStepper(Protocol):
    """One simulation, stepped in place under a law."""

    def advance(self, control: np.ndarray, memory: np.ndarray, n: int, *, forces: bool) -> None:
        """Make n physics steps from computed positions and velocities, as `Simulation.step`.

        `control` is (nu,); the law's memory, (1, k), is updated in place.
        """


class BatchLawStepper(Protocol):
    """The simulations of a batch, stepped under a law.

    Attributes:
        noted: number of outputs.
        diverged: mask of the simulations that the engine has reset, (n,) bool.
    """

    noted: int
    diverged: np.ndarray

    def note(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Set the output arrays, by field of MjData."""

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and varied fields of some simulations."""

    def advance(
        self, ids: np.ndarray, controls: np.ndarray, memory: np.ndarray, n: int, *, forces: bool
    ) -> None:
        """Make n physics steps in some simulations, as `Simulation.step`.

        `controls` (n, nu) and the law's memory (n, k), updated in place, are those of all
        simulations.
        """

    def close(self) -> None:
        """Stop the threads."""


class CompiledLaw(Protocol):
    """A control law between physics steps, as a compiled function."""

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls (*lead, nu), of which the law overwrites its part, and memory (n, k) float64."""

    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """Entries of the task's memory that the law has changed."""

    def single(self, model: mujoco.MjModel, data: mujoco.MjData) -> LawStepper:
        """The law in one simulation."""

    def batch(
        self,
        model: mujoco.MjModel,
        kept: np.ndarray,
        state: np.ndarray,
        outputs: Mapping[str, np.ndarray],
        fields: Mapping[str, np.ndarray],
        threads: int,
    ) -> BatchLawStepper:
        """The law in the simulations of a batch.

        Args:
            model: model that is stepped; may lack geoms that only rendering needs.
            kept: ids in the batch of the geoms that it has.
            state: states of the batch, (n, ...), current between two calls.
            outputs: output arrays of the batch by field of MjData; `note` adds later ones.
            fields: per-simulation model fields, (n, ...) each.
            threads: number of threads.
        """


@functools.cache
def law_maker(name: str) -> Callable[..., CompiledLaw | str]:
    """The function of a package that makes compiled laws of some kind, or says why it cannot.

    Without such a package, the function returns that reason.
    """
    try:
        maker: Callable[..., CompiledLaw | str] = plugins.load(plugins.LAWS, name)
    except LookupError as error:
        reason = str(error.args[0])
        return lambda *_, **__: reason
    return maker
