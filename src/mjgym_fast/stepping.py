"""Simulations that make compiled control steps."""

import copy
import ctypes
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.batched_views import is_of_geoms
from mjgym.sim.compiled import Generator, Outcome
from mjgym.sim.engine import episode_field, get_field, quiet, warn_of_error
from mjgym.sim.views import View
from mjgym_fast.compiled_loop import ROWED, Context
from mjgym_fast.errors import PLACE, said
from mjgym_fast.machine_code import NO_STATE, NOT_FINITE
from mjgym_fast.trace import SIZE
from mjgym_fast.tracing import entries_of
from mjgym_fast.workers import Workers

PARTS_PER_THREAD = 8
TERMS = "terms/"
OTHERS = Outcome._fields[1:5]
NOTHING = (None,)

Hook = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6)
"""A compiled hook: see `mjgym_fast.machine_code.ARGUMENTS`."""
_Alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# Half the time of the named tuple's constructor.
_outcome_of: Callable[[tuple[Any, ...]], Outcome] = functools.partial(tuple.__new__, Outcome)


def address(array: np.ndarray, row: int = 0) -> int:
    """The address of an array's numbers, from a row on."""
    return int(array.ctypes.data) + (row and row * array.strides[0])


def field_address(data: mujoco.MjData, model: mujoco.MjModel, name: str) -> int:
    """The address of a field of a simulation or its model; the time is before the energy."""
    if name == "time":
        return address(data.energy) - SIZE
    return address(getattr(data, name) if hasattr(data, name) else get_field(model, name))


class Stepper:
    """Simulations that step together, see `mjgym.sim.compiled.Stepper`.

    Args:
        step: the compiled step.
        n: number of simulations.
        lead: () for a single one, (n,) for a batch.
        workers: number of threads.

    Attributes:
        memory: the task's memory, (n,), structured.
        entries: its entries by name, as views of it.
        action: actions, or controls, (n, *times, ...).
        results: what the hooks after the physics give, (n, *times), structured.
        work: scratch space of each thread.
        starts: whether it can write starts.
    """

    def __init__(self, step: Any, n: int, lead: tuple[int, ...], workers: int) -> None:
        self._compiled, self._lead = step, lead  # keeps the code alive
        self._context = Context()
        self._at = ctypes.addressof(self._context)
        self._kept: dict[str, Any] = {}
        recording = step.recording
        self.memory = np.zeros(n, recording.memory)
        rows = self.memory if lead else self.memory[0, ...]
        self.entries = {name: rows[name] for name in entries_of(recording.memory)}
        self._views = dict(self.entries)
        names = entries_of(recording.results)
        self._terms = {x.removeprefix(TERMS): x for x in names if x.startswith(TERMS)}
        self._has_terms = "terms" in recording.hooks
        self._lay_out(())
        self._stepped = np.ones(n, dtype=np.bool_)
        self.work = np.zeros((workers, max(1, step.work)))
        self._places = np.zeros((workers, PLACE), dtype=np.uint8)
        self.starts = "initialize" in step.hooks
        if self.starts:
            self._start = Hook(step.address("start"))
            methods, counts = zip(*recording.draws, strict=True)
            self._drawn = np.zeros(sum(counts))
            arrays = np.split(self._drawn, np.cumsum(counts)[:-1])
            self._draws = list(zip(methods, arrays, strict=True))
            self._start_arguments = 0, address(self._drawn), 0, 0, address(self.work)
        self._set(memory=self.memory, work=self.work, places=self._places, stepped=self._stepped)
        self._context.count = n
        self._context.shown_step = recording.shown * recording.dtype.itemsize

    def _set(self, **values: Any) -> None:
        """Set arrays, or lists of numbers, in the context, which are kept alive."""
        for name, value in values.items():
            array = self._kept[name] = np.asarray(value)
            setattr(self._context, name, address(array))
            if name in ROWED:
                setattr(self._context, f"{name}_step", array.strides[0])

    def _set_copied(
        self, name: str, cells: list[list[int]], arrays: Mapping[str, np.ndarray]
    ) -> None:
        """Set what is copied between addresses in models or each MjData, and these arrays."""
        setattr(self._context, name, len(arrays))
        sizes, starts = [x[0].nbytes for x in arrays.values()], map(address, arrays.values())
        self._set(**{f"{name}_cells": cells, f"{name}_arrays": [*starts], f"{name}_sizes": sizes})

    def _lay_out(self, times: tuple[int, ...]) -> None:
        """Make room for actions and results of one control step, (), or of (T,)."""
        lead = *np.shape(self.memory)[:1], *times
        self._times, self.results = times, np.zeros(lead, self._compiled.recording.results)
        self.action = np.zeros((*lead, self._compiled.width))
        self._actions = self.action if self._lead else self.action[0]
        self._shape = self._actions.shape
        self._bad = np.zeros(lead, dtype=np.uint8)
        rows = self.action.reshape(math.prod(lead), self._compiled.width)
        self._set(action=rows, results=self.results.reshape(-1), bad=self._bad)
        self._context.times = math.prod(times)

    def _warn(self) -> None:
        for message in said(self._places):
            warn_of_error(message)

    def begin(self, ids: Sequence[int], generator: Generator) -> None:
        """Write starts of some simulations, whose states and varied fields are the defaults."""
        context = self._context
        for i in ids:
            rng = generator(i)
            for method, numbers in self._draws:
                getattr(rng, method)(out=numbers)
            fields = context.arrays + i * context.arrays_step
            self._start(fields, *self._start_arguments)

    def _begin(self, view: View, action: Array, where: Array | None, n: int, target: int) -> None:
        if view.memory is not self._views:  # hooks in NumPy, starts and snapshots replace it
            for name, entry in self.entries.items():
                if view.memory[name] is not entry:
                    entry[...] = view.memory[name]
            self._views = view.memory = dict(self.entries)
        if action.shape != self._shape:
            raise ValueError(f"control: expected shape {self._shape}, got {action.shape}")
        self._actions[...] = action
        if where is None:
            self._stepped.fill(True)
        else:
            self._stepped[:] = where
        self._context.substeps, self._context.shown = n, target


class SingleStepper(Stepper):
    """One simulation, stepped in place.

    Args:
        data: the simulation's MjData.

    Attributes:
        fields: addresses of the fields that the hooks read and write.
    """

    def __init__(self, step: Any, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(step, 1, (), 1)
        self._alone = _Alone(step.address("alone"))
        self.fields = np.array([field_address(data, model, x) for x in step.fields], dtype=np.int64)
        results = entries_of(step.recording.results)
        self._scalar = not any(kind.shape for kind, _ in results.values())
        names = *results, *OTHERS  # for those that are not computed, NOTHING follows
        self._choose = operator.itemgetter(*[min(names.index(x), len(results)) for x in OTHERS])
        self._kept["simulations"] = model, data
        self._set(
            models=[model._address], datas=[data._address],
            warnings=[address(data.warning.number)], fields=self.fields, arrays=self.fields,
        )  # fmt: skip

    def advance(
        self, view: View, action: Array, where: Array | None, n: int, target: int
    ) -> Outcome:
        """Make a control step of n physics steps, or only observe."""
        self._begin(view, action, where, n, target)
        self._alone(self._at)
        values = (self.results if self._scalar else self.results.copy()).item() + NOTHING
        terms = dict(zip(self._terms, values))  # noqa: B905  (`strict` takes half the time)
        bits = self._bad.item()
        if bits:
            self._warn()
        diverged = np.True_ if bits & NO_STATE else None
        not_finite = np.True_ if bits & NOT_FINITE else None
        shown = terms if self._has_terms else None
        reward, ends, cuts, success = self._choose(values)  # sooner than by an asterisk
        return _outcome_of((shown, reward, ends, cuts, success, diverged, not_finite))


class BatchStepper(Stepper):
    """The simulations of a batch, stepped on one MjData each.

    Arguments are the step, and those of `mjgym.sim.compiled.CompiledStep.batch`.
    """

    def __init__(
        self,
        step: Any,
        models: Sequence[mujoco.MjModel],
        kept: np.ndarray,
        state: np.ndarray,
        outputs: Mapping[str, np.ndarray],
        fields: Mapping[str, np.ndarray],
        arrays: Mapping[str, np.ndarray],
        threads: int,
    ) -> None:
        n = len(state)
        count = max(1, min(threads, n))
        super().__init__(step, n, (n,), count)
        self._count = count
        self._model, self._geoms = models[0], kept
        self._fields, self._arrays = fields, {**arrays, **fields}
        self._begun = np.ones(n, dtype=np.bool_)
        self._own = {name: self._of_kept(name, x) for name, x in fields.items()}
        self._shares = step.shares
        self._datas = [mujoco.MjData(models[0]) for _ in range(count if self._shares else n)]
        own = len(models) > 1
        written = {} if own else self._own
        if not own:  # each thread writes varied fields into its own model
            models = [copy.copy(models[0]) if fields else models[0] for _ in range(count)]
        self._kept["simulations"] = models
        self._set(
            models=[m._address for m in models], datas=[data._address for data in self._datas],
            warnings=[address(data.warning.number) for data in self._datas],
            fields=[[self._place(i, x) for x in step.fields] for i in range(len(self._datas))],
            state=state, known=np.zeros(state.shape), begun=self._begun,
        )  # fmt: skip
        cells = [[address(episode_field(m, name)) for name in written] for m in models]
        self._set_copied("varied", cells, written)
        self._context.own = own
        self._workers = Workers(step.address("run"), self._at, count)
        self.note(outputs)

    def _place(self, i: int, name: str) -> int:
        """Address of a field that hooks read in addition to MjData i."""
        if name not in self._fields:
            return field_address(self._datas[i], self._model, name)
        return 0 if self._shares else address(self._fields[name], i)  # else not read

    def _of_kept(self, name: str, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values[:, self._geoms] if is_of_geoms(name) else values)

    def note(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Set the output arrays, by field of MjData."""
        self.noted = len(outputs)
        cells = [
            [field_address(data, self._model, name) for name in outputs] for data in self._datas
        ]
        self._set_copied("outputs", cells, outputs)
        self._arrays |= outputs
        known = [self._arrays.get(name) for name in self._compiled.fields]
        rows = range(len(self.memory))
        self._set(arrays=[[0 if x is None else address(x, i) for x in known] for i in rows])

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and varied fields of some simulations."""
        self._begun[ids] = True

    def advance(
        self, view: View, action: Array, where: Array | None, n: int, target: int
    ) -> Outcome:
        """Make control steps of n physics steps in some simulations; observe all."""
        if action.shape[1:-1] != self._times:
            self._lay_out(action.shape[1:-1])
        self._begin(view, action, where, n, target)
        begun = np.flatnonzero(self._begun & self._stepped)
        if begun.size:
            for name, own in self._own.items():
                own[begun] = self._of_kept(name, self._fields[name][begun])
            if self._shares:
                self._begun[begun] = False
        # Threads take parts from a queue, since parts with more contacts take longer.
        context = self._context
        pieces = context.count if self._times else self._count * PARTS_PER_THREAD
        stays = bool(self._times) and not (self._fields or self._compiled.lags)
        context.next, context.chunk, context.stays = 0, max(1, -(-context.count // pieces)), stays
        with quiet():
            self._workers()
        if stays:  # an MjData has been through other simulations
            self._begun[:] = True
        bad: list[Array | None] = [None, None]
        if np.count_nonzero(self._bad):
            self._warn()
            masks = [(self._bad & bits) != 0 for bits in (NO_STATE, NOT_FINITE)]
            bad = [mask if mask.any() else None for mask in masks]
        terms = {name: self._result(full) for name, full in self._terms.items()}
        shown = terms if self._has_terms else None
        return _outcome_of((shown, *map(self._result, OTHERS), *bad))

    def _result(self, name: str) -> Array | None:
        return self.results[name].copy() if name in self.results.dtype.names else None

    def close(self) -> None:
        """Stop the threads, and let go of the batch's arrays."""
        self._workers.close()
        self._kept.clear()
        for arrays in (self._arrays, self._own):
            arrays.clear()
        self._fields = {}
