"""Shards of a batch, stepped in threads with hooks in between.

A task that computes controls before each physics step runs Python between the steps, for which all
threads of a single batch wait. A shard is a smaller batch with its own thread: the hooks of one
are computed while the others are stepped.
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
    """The engine's batch, with a record of its output arrays.

    Args:
        model: the compiled model.
        n: number of simulations.
        threads: number of threads that step them.
        persistent: whether each simulation keeps its MjData.
        fills: whether arrays bound before the first episode are computed at once; they are
            otherwise zero if simulations keep no MjData.

    Attributes:
        outputs: writable arrays of derived quantities by field of MjData; those from `bind` are
            read-only.
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
        """The live array of a field of MjData."""
        array: np.ndarray = super().bind(name)
        if name not in self.outputs and not array.flags.writeable:  # states are
            array.flags.writeable = True
            self.outputs[name] = array.view()
            array.flags.writeable = False
            if self._fills:
                self.forward()
        return array

    def advance(self, ids: np.ndarray | None, n: int, *, forces: bool) -> None:
        """Make n physics steps, then compute positions and velocities, and optionally forces."""
        with quiet():
            self.step(ids, nstep=n, stage=_ALL if forces else _VELOCITIES)

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings and warm starts of some simulations."""
        self._fills = False
        self.reset(ids, stage=_STAGE_NONE)


class Shard:
    """Some simulations of a batch in their own batch; see `mjgym.sim.simulation.Part`.

    Args:
        whole: the whole batch, which holds the states between control steps.
        batch: batch of the shard.
        view: view of the shard.
        rows: the shard's range of simulations.
        fields: per-simulation model fields of the whole.
        own_fields: the same of the shard.
        kept: ids in the whole of the geoms that the shard has.
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
        self._begun = np.ones(batch.nsim, dtype=bool)  # episodes, since the last control step

    def bind(self) -> None:
        """Bind the same fields in the whole and the shard."""
        for one, other in ((self._whole, self.batch), (self.batch, self._whole)):
            for name in one.outputs.keys() - other.outputs.keys():
                other.bind(name)

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings and warm starts of some simulations, by their numbers in the whole."""
        local = ids[(ids >= self.rows.start) & (ids < self.rows.stop)] - self.rows.start
        if local.size:
            self._begun[local] = True
            self.batch.forget(local)

    def run(self, work: Callable[["Shard", slice], None]) -> None:
        """Apply a function to the shard: copies states from the whole, and back afterwards."""
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
    """Whether a field has a row per geom or tendon; shards may lack some of these."""
    return name.startswith(("geom_", "ten_", "tendon_"))


def is_of_geoms(name: str) -> bool:
    """Whether a field of MjData or MjModel has a row per geom."""
    return name.startswith("geom_")


def shares(n: int, weights: Sequence[int]) -> list[slice]:
    """Consecutive ranges of n items, with sizes proportional to weights."""
    ends = [0, *(round(n * part / sum(weights)) for part in itertools.accumulate(weights))]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]
