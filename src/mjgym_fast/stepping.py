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
from mjgym_fast.compiled_loop import SLOTS
from mjgym_fast.errors import PLACE, said
from mjgym_fast.machine_code import NO_STATE, NOT_FINITE, SIZE
from mjgym_fast.tracing import Entry
from mjgym_fast.workers import Workers

PARTS_PER_THREAD = 8
TERMS = "terms/"
OTHERS = Outcome._fields[1:5]
STEPPING, SUBSTEPS, SHOWN = (SLOTS[name] for name in ("stepping", "substeps", "shown"))

Hook = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6, ctypes.c_int64)
"""A compiled hook: see `mjgym_fast.machine_code.ARGUMENTS`."""
_Alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# Half the time of the named tuple's constructor.
_outcome_of: Callable[[tuple[Any, ...]], Outcome] = functools.partial(tuple.__new__, Outcome)


def address(array: np.ndarray) -> int:
    """The address of an array's numbers."""
    return int(array.ctypes.data)


def _row(array: np.ndarray, i: int) -> int:
    return address(array) + i * array.strides[0]


def address_of(data: mujoco.MjData, name: str) -> int:
    """The address of a field of MjData; the time, a number, is before the energy."""
    return address(data.energy) - SIZE if name == "time" else address(getattr(data, name))


def _addresses(rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.int64)


def field_addresses(data: mujoco.MjData, model: mujoco.MjModel, names: Sequence[str]) -> np.ndarray:
    """Addresses of fields of a simulation, those of its model included."""
    return _addresses(
        [
            address_of(data, name) if hasattr(data, name) else address(get_field(model, name))
            for name in names
        ]
    )


class Stepper:
    """Simulations that step together, see `mjgym.sim.compiled.Stepper`.

    Args:
        step: the compiled step.
        n: number of simulations.
        lead: () for a single one, (n,) for a batch.
        workers: number of threads.

    Attributes:
        memory: the task's memory, (n, ...), in numbers of 8 bytes.
        entries: its entries by name, as views of it.
        action: actions, or controls, (n, *times, ...).
        results: what the hooks after the physics give, (..., n, *times).
        work: scratch space of each thread.
        starts: whether it can write starts.
    """

    def __init__(self, step: Any, n: int, lead: tuple[int, ...], workers: int) -> None:
        self._compiled, self._lead = step, lead  # keeps the code alive
        self._context = np.zeros(len(SLOTS), dtype=np.int64)
        self._at = address(self._context)
        self._kept: dict[str, Any] = {}
        recording = step.recording
        slots = max(1, sum(entry.size for entry in recording.memory.values()))
        self.memory = np.zeros((n, slots))
        self.entries = {name: self.part(entry) for name, entry in recording.memory.items()}
        self._views = dict(self.entries)
        self._spec = recording.results
        self._terms = {
            name.removeprefix(TERMS): entry
            for name, entry in self._spec.items()
            if name.startswith(TERMS)
        }
        self._has_terms = "terms" in recording.hooks
        self._others = [self._spec.get(name) for name in OTHERS]
        self._lay_out(())
        self.work = np.zeros((workers, max(1, step.work)))
        self._places = np.zeros((workers, PLACE), dtype=np.uint8)
        self.starts = "initialize" in step.hooks
        if self.starts:
            self._start = Hook(step.address("start"))
            self._drawn = np.zeros(max(1, sum(x.count for x in recording.draws)))
            self._draws = [
                (x.method, self._drawn[x.first : x.first + x.count]) for x in recording.draws
            ]
            self._start_arguments = 0, address(self._drawn), 0, 0, address(self.work), 1
        self._set(
            width=SIZE * len(step.fields), memories=SIZE * slots, works=self.work[0].nbytes,
            actions=SIZE * step.width, shows=recording.shown * recording.dtype.itemsize,
            memory=self.memory, work=self.work, places=self._places,
        )  # fmt: skip

    def _set(self, **values: Any) -> None:
        """Set entries of the context: numbers, or the addresses of arrays, which are kept."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                self._kept[name] = value
            number = address(value) if isinstance(value, np.ndarray) else value
            self._context[SLOTS[name]] = number

    def _lay_out(self, times: tuple[int, ...]) -> None:
        """Make room for actions and results of one control step, (), or of (T,)."""
        lead = *np.shape(self.memory)[:1], *times
        count = max(1, sum(entry.size for entry in self._spec.values()))
        self._times, self.results = times, np.zeros((count, *lead))
        self.action = np.zeros((*lead, self._compiled.width))
        self._actions = self.action if self._lead else self.action[0]
        self._shape = self._actions.shape
        self._bad = np.zeros(lead, dtype=np.uint8)
        self._set(
            n=self._bad.size, times=math.prod(times), action=self.action, results=self.results,
            bad=self._bad,
        )  # fmt: skip

    def _warn(self) -> None:
        for message in said(self._places):
            warn_of_error(message)

    def part(self, entry: Entry) -> np.ndarray:
        """An entry of the memory as a view."""
        step = SIZE // entry.dtype.itemsize
        places = slice(entry.first * step, (entry.first + entry.size) * step, step)
        cells = self.memory.view(entry.dtype)[:, places]
        part = cells.reshape(len(cells), *entry.shape)
        return part if self._lead else part[0, ...]

    def begin(self, ids: Sequence[int], generator: Generator) -> None:
        """Write starts of some simulations, whose states and varied fields are the defaults."""
        first, width = self._context[[SLOTS["arrays"], SLOTS["width"]]].tolist()
        for i in ids:
            rng = generator(i)
            for method, numbers in self._draws:
                getattr(rng, method)(out=numbers)
            self._start(first + i * width, *self._start_arguments)

    def _begin(self, view: View, action: Array, n: int, target: int) -> None:
        if view.memory is not self._views:  # hooks in NumPy, starts and snapshots replace it
            for name, entry in self.entries.items():
                if view.memory[name] is not entry:
                    entry[...] = view.memory[name]
            self._views = view.memory = dict(self.entries)
        if action.shape != self._shape:
            raise ValueError(f"control: expected shape {self._shape}, got {action.shape}")
        self._actions[...] = action
        context = self._context
        context[SUBSTEPS], context[SHOWN] = n, target


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
        self.fields = field_addresses(data, model, step.fields)
        self._numbers = self.results[:, 0]
        self._scalar = all(not entry.shape for entry in self._spec.values())
        self._choose = operator.itemgetter(*[-1 if x is None else x.first for x in self._others])
        self._kept["simulations"] = model, data
        self._set(
            models=_addresses([model._address]), datas=_addresses([data._address]),
            warnings=_addresses([address(data.warning.number)]),
            fields=self.fields, arrays=self.fields,
        )  # fmt: skip

    def advance(
        self, view: View, action: Array, where: Array | None, n: int, target: int
    ) -> Outcome:
        """Make a control step of n physics steps, or only observe."""
        self._begin(view, action, n, target)
        self._context[STEPPING] = where is None or bool(where)
        self._alone(self._at)
        if self._scalar:
            values = self._numbers.tolist()
            terms = dict(zip(self._terms, values))  # noqa: B905  (`strict` takes half the time)
            values.append(None)
            reward, ends, cuts, success = self._choose(values)
        else:
            terms = {name: self._result(entry) for name, entry in self._terms.items()}
            reward, ends, cuts, success = map(self._result, self._others)
        if ends is not None:
            ends = ends != 0
        if cuts is not None:
            cuts = cuts != 0
        if success is not None:
            success = success != 0
        bits = self._bad.item()
        if bits:
            self._warn()
        diverged = np.True_ if bits & NO_STATE else None
        not_finite = np.True_ if bits & NOT_FINITE else None
        shown = terms if self._has_terms else None
        return _outcome_of((shown, reward, ends, cuts, success, diverged, not_finite))

    def _result(self, x: Entry | None) -> Array | None:
        if x is None:
            return None
        return self._numbers[x.first : x.first + x.size].reshape(x.shape).copy()


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
        self._fields, self._geoms, self._arrays = fields, kept, {**arrays, **fields}
        self._begun = np.ones(n, dtype=np.bool_)
        self._rows = np.arange(n)
        self._own = {name: self._of_kept(name, x) for name, x in fields.items()}
        self._shares = step.order.shares
        self._datas = [mujoco.MjData(models[0]) for _ in range(count if self._shares else n)]
        own = len(models) > 1
        written = {} if own else self._own
        if not own:  # each thread writes varied fields into its own model
            models = [copy.copy(models[0]) if fields else models[0] for _ in range(count)]
        self._kept["simulations"] = models
        settings = [[address(episode_field(m, name)) for name in written] for m in models]
        self._set(
            models=_addresses([m._address for m in models]), own=own,
            datas=_addresses([data._address for data in self._datas]),
            warnings=_addresses([address(data.warning.number) for data in self._datas]),
            fields=_addresses(
                [[self._place(i, x) for x in step.fields] for i in range(len(self._datas))]
            ),
            state=state, known=np.zeros(state.shape), states=state[0].nbytes, begun=self._begun,
            varied=len(written), settings=_addresses(settings), rows=self._rows,
            values=_addresses([address(x) for x in self._own.values()]),
            widths=_addresses([x[0].nbytes for x in self._own.values()]),
        )  # fmt: skip
        self._workers = Workers(step.address("run"), self._at, count)
        self.note(outputs)

    def _place(self, i: int, name: str) -> int:
        """Address of a field that hooks read in addition to MjData i."""
        if name not in self._fields:
            return address_of(self._datas[i], name)
        return 0 if self._shares else _row(self._fields[name], i)  # not read where threads share

    def _of_kept(self, name: str, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values[:, self._geoms] if is_of_geoms(name) else values)

    def note(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Set the output arrays, by field of MjData."""
        self.noted = len(outputs)
        sources = [[address_of(data, name) for name in outputs] for data in self._datas]
        self._arrays |= outputs
        known = [self._arrays.get(name) for name in self._compiled.fields]
        rows = [[0 if x is None else _row(x, i) for x in known] for i in range(len(self.memory))]
        self._set(
            outputs=len(outputs), sources=_addresses(sources), arrays=_addresses(rows),
            targets=_addresses([address(x) for x in outputs.values()]),
            sizes=_addresses([x[0].nbytes for x in outputs.values()]),
        )  # fmt: skip

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and varied fields of some simulations."""
        self._begun[ids] = True

    def advance(
        self, view: View, action: Array, where: Array | None, n: int, target: int
    ) -> Outcome:
        """Make control steps of n physics steps in some simulations; observe all."""
        if action.shape[1:-1] != self._times:
            self._lay_out(action.shape[1:-1])
        self._begin(view, action, n, target)
        count = stepping = len(self.memory)
        if where is None:
            self._rows[:] = np.arange(count)
            begun = np.flatnonzero(self._begun)
        else:
            stepped = np.flatnonzero(where)
            stepping = len(stepped)
            self._rows[:stepping] = stepped
            self._rows[stepping:] = np.flatnonzero(~where)
            begun = stepped[self._begun[stepped]]
            if not target:
                count = stepping
        if begun.size:
            for name, own in self._own.items():
                own[begun] = self._of_kept(name, self._fields[name][begun])
            if self._shares:
                self._begun[begun] = False
        # Threads take parts from a queue, since parts with more contacts take longer.
        parts = count if self._times else self._count * PARTS_PER_THREAD
        stays = bool(self._times) and not (self._fields or self._compiled.order.lags)
        self._set(
            next=0, chunk=max(1, -(-count // parts)), count=count, stepping=stepping, stays=stays
        )
        with quiet():
            self._workers()
        if stays:  # an MjData has been through other simulations
            self._begun[:] = True
        terms = {name: self._result(entry) for name, entry in self._terms.items()}
        bad: list[Array | None] = [None, None]
        if np.count_nonzero(self._bad):
            self._warn()
            masks = [(self._bad & bits) != 0 for bits in (NO_STATE, NOT_FINITE)]
            bad = [mask if mask.any() else None for mask in masks]
        reward, *flags = map(self._result, self._others)
        flags = [None if x is None else x != 0 for x in flags]
        return _outcome_of((terms if self._has_terms else None, reward, *flags, *bad))

    def _result(self, x: Entry | None) -> Array | None:
        if x is None:
            return None
        if not x.shape:
            return self.results[x.first]
        cells = np.moveaxis(self.results[x.first : x.first + x.size], 0, -1)
        return cells.reshape(*self._bad.shape, *x.shape)

    def close(self) -> None:
        """Stop the threads, and let go of the batch's arrays."""
        self._workers.close()
        self._kept.clear()
        for arrays in (self._arrays, self._own):
            arrays.clear()
        self._fields = {}
