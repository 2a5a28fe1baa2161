"""The engine's batch with a record of its bound outputs; a forked child never frees it."""

import contextlib
import os
import weakref
from collections.abc import Iterator
from typing import Any

import mujoco.batch
import numpy as np

from mjgym.sim.engine import GAVE_UP, quiet, warn_of_error
from mjgym.util.bounded import ShortageError

_STAGE_NONE = int(mujoco.mjtStage.mjSTAGE_NONE)
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_ALL = int(mujoco.mjtStage.mjSTAGE_ACC)


# Batches of the parent process stay alive in a forked child: their threads do not exist there, and
# the engine would wait for them forever when it frees a batch, even by garbage collection.
_alive: weakref.WeakSet[Any] = weakref.WeakSet()
_inherited: list[Any] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _inherited.extend(_alive))


class NotingBatch(mujoco.batch.Batch):  # type: ignore[misc]  # the engine has no types there
    """The engine's batch, with a record of its output arrays.

    Args:
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
        try:
            super().__init__(model, n, nthread=threads, persistent=persistent)
        except (MemoryError, RuntimeError, ValueError) as error:  # the engine's, for lack of either
            what = f"threads: {threads}" if "thread" in str(error) else f"num_envs: {n}"
            raise ShortageError(f"{what} are too many: {error}") from None
        self._defaults = self.state[0].copy()
        owner = self.state  # of the threads and arrays, which outlive the batch itself
        while isinstance(owner, np.ndarray):
            owner = owner.base
        _alive.add(owner)

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

    @contextlib.contextmanager
    def giving_up(self) -> Iterator[None]:
        """Context in which simulations diverge in which the engine raises an error."""
        try:
            with quiet():
                yield
        except mujoco.batch.SimulationError as error:
            message = self.error(int(error.ids[0]))
            self.forget(error.ids)
            self.warning[error.ids, GAVE_UP, 1] = 1
            warn_of_error(message)

    def advance(self, ids: np.ndarray | None, n: int, *, forces: bool) -> None:
        with self.giving_up():
            self.step(ids, nstep=n, stage=_ALL if forces else _VELOCITIES)

    def forget(self, ids: np.ndarray) -> None:
        """Reset some simulations without computing anything."""
        self._fills = False
        if self.persistent:
            self.reset(ids, stage=_STAGE_NONE)
        else:  # what there is to reset, at a tenth of the time
            self.state[ids], self.warning[ids] = self._defaults, 0
