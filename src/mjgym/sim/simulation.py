"""Protocols of the simulations that run episodes, one or many at once."""

from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any, Protocol

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.single import SingleView
from mjgym.sim.views import View


class Scratch(Protocol):
    """A simulation of its own, in which the start of an episode is written."""

    @property
    def view(self) -> SingleView:
        """Its arrays, which may be written to."""

    def restore_defaults(self, values: Mapping[str, np.ndarray] | None = None) -> None:
        """Go back to the model's defaults, with the numbers that a user varies."""


Start = Callable[[int, Scratch], None]
"""Writes the start of the next episode of simulation i into a scratch simulation."""


class Part(Protocol):
    """Simulations that step together: all of them, or a part."""

    @property
    def view(self) -> View:
        """Their live arrays."""

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set their controls and advance them, see `Simulation.step`."""


Rows = slice | EllipsisType
"""Which of the simulations are in a part: an index for arrays whose shape begins with lead."""


class Simulation(Part, Protocol):
    """One simulation, or n simulations of one model, behind the same verbs.

    Whatever takes `where` acts on the simulations of a mask, bool of shape `view.lead`, in the
    view's own arrays; None is all of them. `rows` are numbers of simulations in a NumPy array, for
    what leaves the simulations or comes in from outside.

    """

    @property
    def model(self) -> mujoco.MjModel:
        """The model that all simulations share."""

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

        Args:
            contacts: False leaves them out: a simulation that keeps memory for the most contacts
                that it has had then keeps none for these.
        """

    def reset(self, start: Start, where: Array | None = None) -> None:
        """Begin an episode in some simulations and compute everything else about its start.

        Args:
            start: writes the start of one of them; called for each, in ascending order, and by
                several threads at once where physics runs in starts.
            where: those that begin; None for all.
        """

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        """Overwrite fields of MjData, by name; what follows comes with the next step."""

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps.

        Positions, velocities and their sensors are then of the new state; sensors of forces and
        accelerations are of the start of the last physics step, as in the published suite.

        Args:
            control: (*lead, nu).
            n: number of steps.
            where: those that step; None for all.
            forces: whether forces and accelerations are to be of the new state as well.
        """

    def for_each_shard(self, work: Callable[[Part, Rows], None]) -> None:
        """Do something with all simulations that steps them again and again.

        Args:
            work: does it with a part of them. It may run for several parts at once, each in a
                thread of its own; it writes to nothing but its own part.
        """

    def takes(self, law: CompiledLaw) -> bool:
        """Whether `step_under` can step with a compiled law; it is then made ready."""

    def step_under(
        self,
        control: Array,
        memory: np.ndarray,
        n: int,
        where: Array | None = None,
        *,
        forces: bool = False,
    ) -> None:
        """`step`, with the law that `takes` was given before and after each physics step.

        Args:
            control: (*lead, nu), of which the law overwrites its own.
            memory: of the law, (n, k), which changes.
            n: number of steps.
            where: those that step; None for all.
            forces: whether forces and accelerations are to be of the new state.
        """

    def update_forces(self, where: Array | None = None) -> None:
        """Compute the forces and accelerations of the present states."""

    def diverged(self) -> Array | None:
        """A mask of the simulations whose state is not finite, of shape lead; None for none."""

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of all that futures and current sensors depend on, with a leading axis of rows."""

    def set_state(self, state: Mapping[str, Any], rows: np.ndarray) -> None:
        """Write entries of `get_state`, and compute everything that depends on them."""

    def rendered_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers that pictures depend on, with a leading axis of rows."""
