"""A batch whose derived quantities lag behind the states, as after the engine's `mj_step`."""

import concurrent.futures
import contextvars
import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from mjgym.sim.engine import DIVERGED, episode_field, quiet, set_field
from mjgym.sim.noting_batch import NotingBatch
from mjgym.sim.single import step_lagging

_INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_ALL = int(mujoco.mjtStage.mjSTAGE_ACC)
ITEMS_PER_THREAD = 8  # work items per thread: simulations with more contacts take longer

# What neither `mj_step` nor `mj_forward` computes unless a sensor needs it.
_POST_CONSTRAINT = ("cacc", "cfrc_int", "cfrc_ext")


class _Worker:
    """An MjData, with the model that it runs on, for one thread."""

    def __init__(self, batch: "LaggingBatch") -> None:
        self.model = copy.copy(batch.model)
        self.data = mujoco.MjData(self.model)
        self.counts = self.data.warning.number
        self.carried = [
            (getattr(self.data, name), batch.outputs[name])
            for name in _POST_CONSTRAINT
            if name in batch.outputs
        ]
        self.copied = [(rows, getattr(self.data, name)) for name, rows in batch.outputs.items()]


class LaggingBatch(NotingBatch):
    """A batch that steps as `step_lagging`.

    The engine's batch offers no `mj_rnePostConstraint`: once a hook reads what that computes, each
    simulation is loaded into a thread's MjData and stepped there.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._expanded: dict[str, np.ndarray] = {}
        self._workers: list[_Worker] = []
        self._noted = 0  # outputs that the workers know
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        super().__init__(*arguments, **options)

    def expand(self, name: str) -> np.ndarray:
        """The per-simulation values of a field of the model."""
        values: np.ndarray = super().expand(name)
        self._expanded[name] = values
        return values

    def advance(self, ids: np.ndarray | None, n: int, *, forces: bool) -> None:
        """Make n physics steps; with `forces`, compute all of the new state."""
        if self._runs_apart():
            self._for_each_item(ids, lambda model, data: step_lagging(model, data, n))
        else:
            with quiet():
                self.step(ids, nstep=n)
        if forces:
            self.forward(ids)

    def forward(self, ids: np.ndarray | None = None, stage: int = _ALL) -> None:
        """Compute the forward stages up to a stage; what they leave out stays."""
        if stage == _ALL and self._runs_apart():
            self._for_each_item(ids, mujoco.mj_forward)
        else:
            super().forward(ids, stage=stage)

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and what `forward` leaves out of some simulations."""
        super().forget(ids)
        for name in _POST_CONSTRAINT:
            if name in self.outputs:
                self.outputs[name][ids] = 0.0

    def _runs_apart(self) -> bool:
        return any(name in self.outputs for name in _POST_CONSTRAINT)

    def _for_each_item(
        self,
        ids: np.ndarray | None,
        compute: Callable[[mujoco.MjModel, mujoco.MjData], None],
    ) -> None:
        """Apply a function of the engine to some simulations, in all threads."""
        ids = np.arange(self.nsim) if ids is None else ids
        if self._noted < len(self.outputs):
            self._noted, self._workers = len(self.outputs), []
        count = max(1, min(self.nthread, len(ids)))
        while len(self._workers) < count:
            self._workers.append(_Worker(self))
        parts = iter(np.array_split(ids, min(count * ITEMS_PER_THREAD, max(1, len(ids)))))

        def work(worker: _Worker) -> None:
            for part in parts:
                for i in part.tolist():
                    self._run(i, worker, compute)

        if count > 1 and self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self.nthread - 1, "mjgym-lagging")
        with quiet():
            running = []
            for worker in self._workers[1:count]:
                assert self._pool is not None
                context = contextvars.copy_context()  # e.g. NumPy's error state
                running.append(self._pool.submit(context.run, work, worker))
            try:
                work(self._workers[0])
            finally:
                concurrent.futures.wait(running)
        for each in running:
            each.result()

    def _run(
        self,
        i: int,
        worker: _Worker,
        compute: Callable[[mujoco.MjModel, mujoco.MjData], None],
    ) -> None:
        model, data, state = worker.model, worker.data, self.state[i]
        if self.models is not None:
            model = self.models if isinstance(self.models, mujoco.MjModel) else self.models[i]
        for name, values in self._expanded.items():
            if values.ndim > 1:
                episode_field(model, name)[...] = values[i]
            else:
                set_field(model, name, values[i])
        mujoco.mj_setState(model, data, state, _INTEGRATION)
        for held, rows in worker.carried:
            held[...] = rows[i]
        compute(model, data)
        mujoco.mj_getState(model, data, state, _INTEGRATION)
        for rows, computed in worker.copied:
            rows[i] = computed
        if worker.counts.any():
            self.warning[i, DIVERGED, 1] += worker.counts[DIVERGED]
            worker.counts[:] = 0
