"""Simulations stepped with a compiled law between physics steps."""

import abc
import concurrent.futures
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
from numba import carray

from mjgym.arrays import Array
from mjgym.sim.batched_views import is_of_geoms
from mjgym.sim.engine import DIVERGED, episode_field, quiet
from mjgym.sim.views import View
from mjgym_fast.foreign import (
    FORWARD_SKIP,
    GET_STATE,
    RESET,
    SET_STATE,
    STEP1,
    STEP2,
    call,
    compiled,
    copy_bytes,
    counts_at,
    engine,
    inlined,
    succeeds,
)

_INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_FIRST_WARNING, _LAST_WARNING = DIVERGED.start, DIVERGED.stop
_BAD_CONTROL = int(mujoco.mjtWarning.mjWARN_BADCTRL)
_CTRL = 0  # among the fields of a law
_ONE = np.zeros(1, dtype=np.int64)
_NONE, _NO_ROWS = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
_NO_FLAGS, _NO_NUMBERS = np.zeros(0, dtype=np.bool_), np.zeros((0, 0))
# The `kept` argument of `_step` for a simulation that is stepped in place.
_IN_PLACE = (
    *(_NO_ROWS, _NO_ROWS, _NO_FLAGS, (_NO_ROWS, _NONE, _NONE), _NO_FLAGS),
    *(_NONE, _NONE, _NONE),
)
PARTS = 8  # work items per thread
_WARNING_STRIDE = 2  # int32: a warning's last info, and its count


@inlined
def _take_over(i, model, data, state, known, begun, functions):
    """Load a simulation's state, unless the last call left it there."""
    same = not begun[i]
    for k in range(state.shape[1]):
        same = same and state[i, k] == known[i, k]
    if same:
        return
    if begun[i]:
        call(functions[RESET], (model, data))
        begun[i] = False
    call(functions[SET_STATE], (model, data, state[i].ctypes.data, np.int32(_INTEGRATION)))
    call(functions[STEP1], (model, data))


@inlined
def _counts(warnings):
    """Counts of a simulation's warnings; that of kind k is at _WARNING_STRIDE k."""
    return carray(counts_at(warnings), _WARNING_STRIDE * _LAST_WARNING)


@inlined
def _hand_back(i, model, data, state, known, functions, outputs, warnings, diverged):
    sources, targets, sizes = outputs
    call(functions[GET_STATE], (model, data, state[i].ctypes.data, np.int32(_INTEGRATION)))
    for k in range(state.shape[1]):
        known[i, k] = state[i, k]
    for k in range(len(sizes)):
        copy_bytes(targets[k] + i * sizes[k], sources[i, k], sizes[k])
    counts = _counts(warnings[i])
    for k in range(_FIRST_WARNING, _LAST_WARNING):
        if counts[_WARNING_STRIDE * k] > 0:
            diverged[i] = True


@compiled(cache=True, nogil=True)
def _step(rows, model, datas, law, memory, controls, n, forces, functions, kept):
    """Advance some simulations, one after the other.

    Args:
        datas: addresses of each MjData, of the fields that the law reads, and of warnings.
        law: addresses of the law and of its scratch space.
        memory: the law's memory, (n, k).
        controls: (n, nu).
        forces: whether to compute forces of the new state.
        functions: addresses of the engine's functions.
        kept: for simulations of a batch: states as bits, those at the end of the last call, whether
            an episode has begun since, outputs and their targets, diverged flags; and varied
            fields, their targets in the model, and their sizes.
    """
    addresses, fields, warnings = datas
    function, work = law
    state, known, begun, outputs, diverged, varied, settings, widths = kept
    for i in rows:
        data = addresses[i]
        for k in range(len(widths)):
            copy_bytes(settings[k], varied[k] + i * widths[k], widths[k])
        if state.size:
            _take_over(i, model, data, state, known, begun, functions)
        table, entries = fields[i].ctypes.data, memory[i].ctypes.data
        copy_bytes(fields[i, _CTRL], controls[i].ctypes.data, 8 * controls.shape[1])
        fine = True
        for step in range(n):
            if not succeeds(function, (0, table, entries, work)):
                fine = False
                break
            call(functions[STEP2], (model, data))
            call(functions[STEP1], (model, data))
            if forces and step == n - 1:
                call(functions[FORWARD_SKIP], (model, data, np.int32(_VELOCITIES), np.int32(0)))
            if not succeeds(function, (1, table, entries, work)):
                fine = False
                break
        if not fine:  # a divergence, as with controls that are not finite
            _counts(warnings[i])[_WARNING_STRIDE * _BAD_CONTROL] += 1
        if state.size:
            _hand_back(i, model, data, state, known, functions, outputs, warnings, diverged)


def _address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def _addresses(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, dtype=np.int64)


def law_fields(data: mujoco.MjData, names: Sequence[str]) -> list[int]:
    """Addresses of fields of MjData."""
    return [_address(getattr(data, name)) for name in names]


def _places(
    datas: Sequence[mujoco.MjData], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Addresses of simulations, of the fields that a law reads, and of warnings."""
    return (
        np.array([data._address for data in datas]),
        _addresses([law_fields(data, names) for data in datas]),
        np.array([_address(data.warning.number) for data in datas]),
    )


# Compile now, or read numba's cache, where a failure can be handled, and not within a step.
_step(
    _NONE, 0, (_NONE, _NO_ROWS, _NONE), (0, 0), _NO_NUMBERS, _NO_NUMBERS, 0, False, _NONE,
    _IN_PLACE,
)  # fmt: skip


class Law(abc.ABC):
    """A law as the address of a compiled function, see `mjgym.sim.compiled.CompiledLaw`.

    The function takes four integers and returns 1; a 0 ends the episode as a divergence. The
    integers are the phase (0 before a physics step, when it writes `ctrl`; 1 after it, when it
    updates its memory), then addresses: of a table of the addresses of `fields`, of the
    simulation's memory, and of `work` scratch numbers.

    Attributes:
        fields: names of the fields of MjData that it reads, "ctrl" first.
        work: size of its scratch space, in numbers.
    """

    fields: tuple[str, ...]
    address: int
    work: int

    @abc.abstractmethod
    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls (*lead, nu), of which the law overwrites its part, and memory (n, k) float64."""

    @abc.abstractmethod
    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """Entries of the task's memory that the law has changed."""

    def single(self, model: mujoco.MjModel, data: mujoco.MjData) -> "CompiledSingle":
        """The law in one simulation."""
        return CompiledSingle(self, model, data)

    def batch(self, *arguments: Any) -> "CompiledBatch":
        """The law in the simulations of a batch, see `mjgym.sim.compiled.CompiledLaw.batch`."""
        return CompiledBatch(self, *arguments)


class CompiledSingle:
    """One simulation, stepped in place.

    Args:
        data: the simulation's MjData.
    """

    def __init__(self, law: Law, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._kept = model, data, law  # keeps the addresses valid
        self._model = model._address
        self._data = _places([data], law.fields)
        self._work = np.zeros(law.work)
        self._law = law.address, _address(self._work)

    def advance(self, control: np.ndarray, memory: np.ndarray, n: int, *, forces: bool) -> None:
        """Make n physics steps from computed positions and velocities, as `Simulation.step`.

        `control` is (nu,); the law's memory, (1, k), is updated in place.
        """
        with quiet():
            _step(
                _ONE, self._model, self._data, self._law, memory, control[None], n, forces,
                engine(), _IN_PLACE,
            )  # fmt: skip


class CompiledBatch:
    """The simulations of a batch, stepped on one MjData each.

    Arguments are the law, and those of `mjgym.sim.compiled.CompiledLaw.batch`.
    """

    def __init__(
        self,
        law: Law,
        model: mujoco.MjModel,
        kept: np.ndarray,
        state: np.ndarray,
        outputs: Mapping[str, np.ndarray],
        fields: Mapping[str, np.ndarray],
        threads: int,
    ) -> None:
        n = len(state)
        count = max(1, min(threads, n))
        self._law, self._fields, self._kept, self._whole = law, fields, kept, state
        self._state, self._known = state.view(np.int64), np.zeros(state.shape, dtype=np.int64)
        self._begun = np.ones(n, dtype=np.bool_)
        self.diverged = np.zeros(n, dtype=np.bool_)
        self._own = {name: self._of_kept(name, x) for name, x in fields.items()}
        # Each thread writes varied fields into its own model.
        self._models = [copy.copy(model) if fields else model for _ in range(count)]
        self._settings = [
            _addresses([[_address(episode_field(each, name)) for name in self._own]])[0]
            for each in self._models
        ]
        self._varied = _addresses([[_address(x) for x in self._own.values()]])[0]
        self._widths = np.array([x[0].nbytes for x in self._own.values()], dtype=np.int64)
        self._datas = [mujoco.MjData(model) for _ in range(n)]
        self._data = _places(self._datas, law.fields)
        self._work = np.zeros((count, law.work))
        self._others = (
            concurrent.futures.ThreadPoolExecutor(count - 1, "mjgym-law") if count > 1 else None
        )
        self.note(outputs)

    def _of_kept(self, name: str, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values[:, self._kept] if is_of_geoms(name) else values)

    def note(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Set the output arrays, by field of MjData."""
        self.noted = len(outputs)
        self._outputs = tuple(outputs.values())  # keeps the addresses valid
        self._targets = np.array([_address(x) for x in self._outputs], dtype=np.int64)
        self._sizes = np.array([x[0].nbytes for x in self._outputs], dtype=np.int64)
        self._sources = _addresses(
            [[_address(getattr(data, name)) for name in outputs] for data in self._datas]
        )

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and varied fields of some simulations."""
        self._begun[ids] = True
        self.diverged[ids] = False

    def advance(
        self, ids: np.ndarray, controls: np.ndarray, memory: np.ndarray, n: int, *, forces: bool
    ) -> None:
        """Make n physics steps in some simulations, as `Simulation.step`.

        `controls` (n, nu) and the law's memory (n, k), updated in place, are those of all
        simulations.
        """
        begun = ids[self._begun[ids]]
        if begun.size:
            for name, own in self._own.items():
                values = self._fields[name][begun]
                own[begun] = values[:, self._kept] if is_of_geoms(name) else values

        def work(k: int) -> None:
            outputs = self._sources, self._targets, self._sizes
            law = self._law.address, _address(self._work[k])
            kept = (
                self._state, self._known, self._begun, outputs, self.diverged, self._varied,
                self._settings[k], self._widths,
            )  # fmt: skip
            for part in parts:
                _step(
                    part, self._models[k]._address, self._data, law, memory, controls, n, forces,
                    engine(), kept,
                )  # fmt: skip

        # Threads take parts from a queue, since parts with more contacts take longer.
        count = len(self._models)
        parts = iter(np.array_split(ids, min(count * PARTS, max(1, len(ids)))))
        with quiet():
            running = [] if self._others is None else [
                self._others.submit(work, k) for k in range(1, count)
            ]  # fmt: skip
            try:
                work(0)
            finally:
                concurrent.futures.wait(running)
        for each in running:
            each.result()

    def close(self) -> None:
        """Stop the threads."""
        if self._others is not None:
            self._others.shutdown()
