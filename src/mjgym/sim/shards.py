"""Simulations of a batch that are stepped again and again, with hooks in between.

A task that computes controls before each physics step has Python run between the steps, for which
the threads of a batch in one piece wait. Here it is divided into shards, each a batch of the
engine's own with a thread of its own: the hooks of one are computed while the others are stepped.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.engine import quiet
from mjgym.sim.views import View

_STAGE_NONE = int(mujoco.mjtStage.mjSTAGE_NONE)
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_ALL = int(mujoco.mjtStage.mjSTAGE_ACC)


class NotingBatch(mujoco.batch.Batch):  # type: ignore[misc]  # the engine has no types there
    """The engine's batch, which notes what it is asked for.

    Args:
        model: the compiled model.
        n: number of simulations.
        threads: that step them.
        persistent: whether each simulation keeps an MjData of its own.
        fills: whether what is bound before the first episode is computed at once; it is zero else
            where simulations keep nothing.

    Attributes:
        outputs: arrays of the quantities that calls derive from the states, by field of MjData;
            unlike those that `bind` gives, they may be written to.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        n: int,
        threads: int,
        *,
        persistent: bool,
        fills: bool = False,
    ) -> None:
        self.outputs: dict[str, np.ndarray] = {}
        self._fills = fills
        super().__init__(model, n, nthread=threads, persistent=persistent)

    def bind(self, name: str) -> np.ndarray:
        """A live array, as of the engine."""
        array: np.ndarray = super().bind(name)
        if name not in self.outputs and not array.flags.writeable:  # states are
            array.flags.writeable = True
            self.outputs[name] = array.view()
            array.flags.writeable = False
            if self._fills:
                self.forward()
        return array

    def advance(self, ids: np.ndarray | None, n: int, *, forces: bool) -> None:
        """Make n physics steps, and compute positions and velocities, or forces too, after them."""
        with quiet():
            self.step(ids, nstep=n, stage=_ALL if forces else _VELOCITIES)

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings and warm starts of the given simulations."""
        self._fills = False
        self.reset(ids, stage=_STAGE_NONE)


class Shard:
    """Some simulations of a batch, on a batch of their own; see `mjgym.sim.simulation.Part`.

    Args:
        whole: the batch, which knows the states between two control steps.
        batch: of the shard.
        view: of it.
        rows: which simulations.
        fields: of the model that each simulation of the whole has for itself.
        own_fields: the same of the shard.
        kept: the geoms that the shard has, by their numbers in the whole.
    """

    def __init__(
        self,
        whole: NotingBatch,
        batch: NotingBatch,
        view: View,
        rows: slice,
        fields: Mapping[str, np.ndarray],
        own_fields: Mapping[str, np.ndarray],
        kept: np.ndarray,
    ) -> None:
        self.batch, self.view, self.rows = batch, view, rows
        self._whole, self._fields, self._own_fields = whole, fields, own_fields
        self._kept = kept
        self._begun = np.ones(batch.nsim, dtype=bool)  # an episode, since the last control step

    def bind(self) -> None:
        """Have the whole and the shard note the same fields."""
        for one, other in ((self._whole, self.batch), (self.batch, self._whole)):
            for name in one.outputs.keys() - other.outputs.keys():
                other.bind(name)

    def forget(self, ids: np.ndarray) -> None:
        """Clear the past of the given simulations, by their numbers in the whole batch."""
        own = ids[(ids >= self.rows.start) & (ids < self.rows.stop)] - self.rows.start
        if own.size:
            self._begun[own] = True
            self.batch.forget(own)

    def run(self, work: Callable[["Shard", slice], None]) -> None:
        """Do something with the simulations, from the states of the whole and back to it."""
        whole, own, rows = self._whole, self.batch, self.rows
        own.state[...] = whole.state[rows]
        for name, values in own.outputs.items():
            values[...] = whole.outputs[name][rows]
        if self._begun.any():
            self._copy_fields(np.flatnonzero(self._begun))
            self._begun[:] = False
        work(self, rows)
        whole.state[rows] = own.state
        for name, values in own.outputs.items():
            if name in whole.outputs:
                whole.outputs[name][rows] = values

    def _copy_fields(self, ids: np.ndarray) -> None:
        """Copy the model fields of the given simulations, by their numbers in the shard."""
        for name, own in self._own_fields.items():
            values = self._fields[name][ids + self.rows.start]
            if is_of_geoms(name):
                values = values[:, self._kept]
            own[ids] = values

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps.

        Raises:
            mujoco.batch.SimulationError: the engine raised an error in some simulations.
        """
        ids = None if where is None else np.flatnonzero(where)
        if ids is not None and not ids.size:
            return
        moved: Any = slice(None) if ids is None else ids
        self.view.ctrl[moved] = control[moved]
        try:
            self.batch.advance(ids, n, forces=forces)
        except mujoco.batch.SimulationError as error:
            message = self.batch.error(int(error.ids[0]))
            raise mujoco.batch.SimulationError(self.rows.start + error.ids, message) from None


def may_be_missing(name: str) -> bool:
    """Whether a field has a row for each geom or tendon, some of which shards may do without."""
    return name.startswith(("geom_", "ten_", "tendon_"))


def is_of_geoms(name: str) -> bool:
    """Whether a field of MjData or MjModel has a row for each geom."""
    return name.startswith("geom_")


def shares(n: int, weights: Sequence[int]) -> list[slice]:
    """Ranges in a row, which are n together, of sizes in proportion to weights."""
    ends = [0, *(round(n * part / sum(weights)) for part in itertools.accumulate(weights))]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]
