"""Protocols of the simulations that run episodes, single or batched."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledStep, Generator, Outcome
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import View

Start = Callable[[int, Single], None]
"""Writes the next start of simulation i into a separate simulation."""


class Simulation(Protocol):
    """One simulation, or n simulations of one model, behind one interface.

    `where` is a mask of simulations, bool of shape `view.lead`, in the view's array library; None
    is all. `rows` are numbers of simulations in a NumPy array.
    """

    @property
    def model(self) -> mujoco.MjModel:
        """The model that all simulations share."""

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the model's fields that episodes write to, and of those that follow."""

    @property
    def n(self) -> int:
        """Number of simulations; 1 where `view.lead` is ()."""

    @property
    def view(self) -> View:
        """The live arrays of all simulations."""

    @property
    def sample(self) -> SingleView:
        """The arrays of one simulation of the same model."""

    def forward(self, *, contacts: bool = True) -> None:
        """Compute everything that depends on the states, with the actuators switched off.

        They are on if derived quantities lag, see `mjgym.Task.lagging`. A simulation keeps the
        memory of its largest number of contacts; `contacts=False` computes none.
        """

    def keep_read(self) -> None:
        """Have states include the derived quantities that hooks have read, if these lag."""

    def reset(
        self, start: Start, where: Array | None = None, generator: Generator | None = None
    ) -> None:
        """Begin an episode in some simulations and compute everything that depends on its start.

        Args:
            start: writes a start; called for each, in ascending order, and in several threads at
                once if starts run physics.
            where: mask of those that begin; None for all.
            generator: returns the random generators, if `initialize` alone writes the starts, so
                that a compiled one may do so.
        """

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        """Overwrite fields of MjData by name; derived fields follow with the next step."""

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps.

        Positions, velocities and their sensors then belong to the new state; force and acceleration
        sensors belong to the start of the last physics step, as in the published suite. If derived
        quantities lag, all belong to the last evaluation of the dynamics.

        Args:
            control: (*lead, nu).
            where: mask of those that step; None for all.
            forces: whether to compute forces and accelerations of the new state.
        """

    @property
    def compiles(self) -> bool:
        """True if `step_compiled` can make control steps."""

    def compile(self, step: CompiledStep) -> None:
        """Set the control step of `step_compiled`."""

    def step_compiled(self, action: Array, n: int, where: Array | None, target: int) -> Outcome:
        """Make a control step of n physics steps with its hooks, see `Stepper.advance`."""

    def update_forces(self, where: Array | None = None) -> None:
        """Compute forces and accelerations of the current states."""

    def diverged(self) -> Array | None:
        """A mask of the simulations that are not finite, of shape lead; None if there are none."""

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of everything that futures and current sensors depend on, (len(rows), ...)."""

    def set_state(self, state: Mapping[str, Any], rows: np.ndarray) -> None:
        """Write entries of `get_state`, and compute everything that depends on them."""

    def rendered_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The state and model fields that images depend on, (len(rows), ...)."""
