"""Shards of a batch, stepped in threads with hooks in between.

A task that computes controls before each physics step runs Python between the steps, for which all
threads of a single batch wait. A shard is a smaller batch with its own thread: the hooks of one
are computed while the others are stepped.
"""

import contextvars
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.batched_views import ShardView, is_of_geoms
from mjgym.sim.noting_batch import NotingBatch
from mjgym.sim.views import View

MAX_SHARDS = 2  # more would wait for the interpreter lock


@dataclass(eq=False)
class Shard:
    """Some simulations of a batch in their own batch; see `mjgym.sim.simulation.Part`."""

    _whole: NotingBatch
    batch: NotingBatch
    view: View
    rows: slice
    _fields: Mapping[str, np.ndarray]  # per-simulation model fields of the whole
    _own_fields: Mapping[str, np.ndarray]
    _kept: np.ndarray  # ids in the whole of the geoms that the shard has

    def __post_init__(self) -> None:
        self._begun = np.ones(self.batch.nsim, dtype=bool)  # since the last control step

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


class Shards:
    """All simulations of a batch in shards: one per thread, or two with several threads each.

    Args:
        kept: ids in the whole of the geoms that `model` has.
        persistent: whether each simulation keeps its MjData.

    Attributes:
        complete: whether `model` has everything that the whole has.
    """

    def __init__(
        self,
        whole: NotingBatch,
        view: View,
        fields: Mapping[str, np.ndarray],
        model: mujoco.MjModel,
        kept: np.ndarray,
        *,
        persistent: bool,
    ) -> None:
        named = view.model
        self.complete = complete = kept.size == named.ngeom and model.ntendon == named.ntendon
        count = min(MAX_SHARDS, whole.nthread)
        split = [(whole.nthread + i) // count for i in range(count)]
        self.members: list[Shard] = []
        for workers, rows in zip(split, shares(whole.nsim, split), strict=True):
            batch = NotingBatch(model, rows.stop - rows.start, workers, persistent=persistent)
            own = {name: batch.expand(name) for name in fields}
            part = ShardView(batch, own, view, rows, complete=complete)
            self.members.append(Shard(whole, batch, part, rows, fields, own, kept))
        self._others = ThreadPoolExecutor(count - 1, "mjgym-shard") if count > 1 else None

    def run(self, work: Callable[[Shard, slice], None]) -> None:
        """Apply a function to all shards, each in its own thread."""
        for shard in self.members:
            shard.bind()
        first, *others = self.members
        running = []
        for shard in others:
            assert self._others is not None
            context = contextvars.copy_context()  # e.g. NumPy's error state
            running.append(self._others.submit(context.run, shard.run, work))
        try:
            first.run(work)
        finally:
            wait(running)
        for each in running:
            each.result()

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings and warm starts of some simulations."""
        for shard in self.members:
            shard.forget(ids)

    def warnings(self) -> np.ndarray:
        """The engine's warnings of all simulations."""
        return np.concatenate([shard.batch.warning for shard in self.members])

    def close(self) -> None:
        """Release the batches and threads."""
        for shard in self.members:
            shard.view.release()
        self.members.clear()
        if self._others is not None:
            self._others.shutdown()


def shares(n: int, weights: Sequence[int]) -> list[slice]:
    """Consecutive ranges of n items, with sizes proportional to weights."""
    ends = [0, *(round(n * part / sum(weights)) for part in itertools.accumulate(weights))]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]
