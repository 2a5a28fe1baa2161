"""Compiled control laws: their interface, and how to get one.

A tabletop arm computes torques before each of the 25 physics steps of a control step. In NumPy
that takes 25 engine calls, between which a simulation leaves the CPU cache. A compiled law makes
all physics steps in one call instead, without Python in between. `mjgym_fast` compiles hooks to
laws; it is found by its entry point.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View
from mjgym.util import plugins


class LawStepper(Protocol):
    """One simulation, stepped in place under a law."""

    def advance(self, control: np.ndarray, memory: np.ndarray, n: int, *, forces: bool) -> None:
        """Make n physics steps from computed positions and velocities, as `Simulation.step`.

        `control` is (nu,); the law's memory, (1, k), is updated in place.
        """


class BatchLawStepper(Protocol):
    """The simulations of a batch, stepped under a law.

    Attributes:
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
        """


def compile_hooks(task: Any) -> CompiledLaw | str:
    """A task's hooks `control` and `substep` as a compiled law, or the reason why there is none."""
    try:
        compiler: Callable[[Any], CompiledLaw | str] = plugins.load(plugins.LAWS, "hooks")
    except LookupError as error:
        return str(error.args[0])
    return compiler(task)
