"""A batch whose derived quantities lag behind the states, as after the engine's `mj_step`."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from mjgym.sim.engine import DIVERGED, INTEGRATION, give_up, quiet, set_episode_field
from mjgym.sim.noting_batch import NotingBatch
from mjgym.sim.single import step_lagging

_ALL = int(mujoco.mjtStage.mjSTAGE_ACC)

# What neither `mj_step` nor `mj_forward` computes unless a sensor needs it.
_POST_CONSTRAINT = ("cacc", "cfrc_int", "cfrc_ext")


class LaggingBatch(NotingBatch):
    """A batch that steps as `step_lagging`.

    The engine's batch offers no `mj_rnePostConstraint`: once a hook reads what that computes, one
    simulation after another is loaded into an MjData and stepped there. Compiled steps do the same
    in all threads.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._expanded: dict[str, np.ndarray] = {}
        super().__init__(*arguments, **options)

    @functools.cached_property
    def _scratch(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """The MjData that simulations are stepped in, with a writable model."""
        model = copy.copy(self.model)
        return model, mujoco.MjData(model)

    def expand(self, name: str) -> np.ndarray:
        """The per-simulation values of a field of the model."""
        values: np.ndarray = super().expand(name)
        self._expanded[name] = values
        return values

    def advance(self, ids: np.ndarray | None, n: int, *, forces: bool) -> None:
        """Make n physics steps; with `forces`, compute all of the new state."""
        if self._runs_apart():
            self._run_each(ids, lambda model, data: step_lagging(model, data, n))
        else:
            with self.giving_up():
                self.step(ids, nstep=n)
        if forces:
            with self.giving_up():
                self.forward(ids)

    def forward(self, ids: np.ndarray | None = None, stage: int = _ALL) -> None:
        """Compute the forward stages up to a given stage; later results are kept."""
        if stage == _ALL and self._runs_apart():
            self._run_each(ids, mujoco.mj_forward)
        else:
            super().forward(ids, stage=stage)

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and what `forward` does not compute, in some simulations."""
        super().forget(ids)
        for name in _POST_CONSTRAINT:
            if name in self.outputs:
                self.outputs[name][ids] = 0.0

    def _runs_apart(self) -> bool:
        return any(name in self.outputs for name in _POST_CONSTRAINT)

    def _run_each(
        self, ids: np.ndarray | None, compute: Callable[[mujoco.MjModel, mujoco.MjData], None]
    ) -> None:
        """Apply a function of the engine to some simulations, one after another."""
        model, data = self._scratch
        counts = data.warning.number
        with quiet():
            for i in (np.arange(self.nsim) if ids is None else ids).tolist():
                if self.models is not None:
                    one = isinstance(self.models, mujoco.MjModel)
                    model = self.models if one else self.models[i]
                for name, values in self._expanded.items():
                    set_episode_field(model, name, values[i])
                mujoco.mj_setState(model, data, self.state[i], INTEGRATION)
                for name in _POST_CONSTRAINT:
                    if name in self.outputs:
                        getattr(data, name)[...] = self.outputs[name][i]
                try:
                    compute(model, data)
                except mujoco.FatalError as error:
                    give_up(error, model, data)
                mujoco.mj_getState(model, data, self.state[i], INTEGRATION)
                for name, rows in self.outputs.items():
                    rows[i] = getattr(data, name)
                if counts.any():
                    self.warning[i, DIVERGED, 1] += counts[DIVERGED]
                    counts[:] = 0
