"""The hooks of a control step, recorded on symbols."""

import copy
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.engine import STATE_FIELDS, get_field
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import Named, View
from mjgym_fast.machine_code import BAD_REWARD, NOT_FINITE, Outputs, Place
from mjgym_fast.symbols import (
    DTYPES,
    FLOAT,
    NAMESPACE,
    SINGLE,
    TRUTH,
    Symbol,
    Trace,
    UntraceableError,
    cast,
    converted,
    dtype_of,
    symbols,
)

BETWEEN_STEPS = frozenset(
    (
        *("time", "qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied"),
        *("mocap_pos", "mocap_quat", "userdata"),
        *("xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat"),
        *("site_xpos", "site_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir"),
        *("subtree_com", "cdof", "cinert", "crb", "M", "ten_length", "actuator_length"),
        *("cvel", "cdof_dot", "ten_velocity", "actuator_velocity", "qfrc_bias", "qfrc_passive"),
    )
)
"""The state, and fields that `mj_step1` computes; others are out of date after a reset."""
_CODE = 2.0**40  # numbers of field i of the coded simulation are from i times this


class Coded:
    """A simulation whose numbers tell their places."""

    def __init__(self, model: mujoco.MjModel, varied: Iterable[str]) -> None:
        self.varied = varied = tuple(varied)
        data, model = mujoco.MjData(model), copy.copy(model) if varied else model
        self.fields: list[str] = ["time"]
        self._without_codes: list[np.ndarray] = []
        data.time = _CODE
        for name in sorted(mujoco.batch.DATA_FIELDS - {"time"}):
            self._code(name, getattr(data, name))
        for name in varied:
            self._code(name, get_field(model, name))
        self.view = SingleView(model, data)

    def _code(self, name: str, values: Any) -> None:
        if isinstance(values, np.ndarray) and values.dtype == float:
            self.fields.append(name)
            codes = len(self.fields) * _CODE + np.arange(values.size)
            values[...] = codes.reshape(values.shape)
        elif name in self.varied and isinstance(values, np.ndarray):
            self._without_codes.append(values)

    def varies(self, values: np.ndarray) -> bool:
        """True if an array belongs to a varied field whose numbers have no codes."""
        return any(np.shares_memory(values, field) for field in self._without_codes)


class TracedView(View):
    """A view whose arrays hold symbols of a simulation's numbers.

    Args:
        coded: a simulation of the same model.
        sample: a simulation at the model's defaults, for fields of the model that never vary.
        between: whether only what is current between physics steps may be read.
    """

    def __init__(
        self,
        coded: Coded,
        sample: Single,
        trace: Trace,
        memory: Mapping[str, Array],
        *,
        between: bool = False,
    ) -> None:
        super().__init__((), NAMESPACE)  # type: ignore[arg-type]
        self.__dict__.update(
            model=sample.model,
            _coded=coded,
            _sample=sample.view,
            _trace=trace,
            _between=between,
            _stale=frozenset(),
        )
        self.memory = {name: inputs(trace, "memory", name, x) for name, x in memory.items()}

    def _field(self, name: str) -> Array:
        return self._symbols(name, getattr(self._coded.view, name), name)

    def _element(self, kind: str, name: str) -> Named:
        coded, plain = getattr(self._coded.view, kind)(name), getattr(self._sample, kind)(name)
        return Named(
            lambda x: self._symbols(f"{x} of {kind} {name!r}", getattr(coded, x), getattr(plain, x))
        )

    def _symbols(self, name: str, values: Any, plain: Any) -> Any:
        """Symbols of the numbers whose codes an array of the coded simulation holds."""
        codes = np.asarray(values)
        if codes.dtype != float or (codes < _CODE).any():
            if isinstance(plain, str):
                plain = None if name in mujoco.batch.DATA_FIELDS else getattr(self._sample, name)
            if plain is None or np.asarray(plain).dtype.kind not in "fiub":
                raise UntraceableError(f"reads {name}")
            if codes.dtype == float and (codes >= _CODE).any():
                raise UntraceableError(f"reads {name}")
            if self._coded.varies(codes):
                raise UntraceableError(f"reads {name}, which varies and is not of float64")
            if not np.array_equal(codes, plain):  # a count of contacts, an address
                raise UntraceableError(f"reads {name}, which is no number of its own")
            return plain

        def symbol(code: float) -> Symbol:
            field, index = divmod(code, _CODE)
            known: str = self._coded.fields[int(field) - 1]
            if self._between and known not in BETWEEN_STEPS and known not in self._coded.varied:
                raise UntraceableError(f"reads {name}, which is no position, velocity or state")
            if known in self._stale:
                raise UntraceableError(f"reads {known}, which `before_step` writes")
            trace: Trace = self._trace
            return trace.symbol("input", "field", known, int(index))

        return symbols(np.frompyfunc(symbol, 1, 1)(codes))


def inputs(trace: Trace, kind: str, name: str, like: Array) -> Any:
    """Symbols of an array's numbers."""
    if like.dtype not in DTYPES:
        raise UntraceableError(f"has {kind} {name!r} of {like.dtype}")
    flat = [trace.symbol("input", kind, name, i, dtype=like.dtype) for i in range(like.size)]
    array = np.empty(like.size, dtype=object)
    array[:] = flat
    return symbols(array.reshape(like.shape), like.dtype)


AFTER = ("terms", "reward", "terminated", "truncated", "success", "update")
"""Hooks after the physics, which see the memory of the step before."""


@dataclass(frozen=True)
class Entry:
    """Place of an array in a simulation's numbers: its first one, its shape and its dtype."""

    first: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = FLOAT

    @property
    def size(self) -> int:
        """Number of its numbers."""
        return int(np.prod(self.shape))


@dataclass
class Recording:
    """The hooks of a control step as traces.

    Attributes:
        functions: what each compiled function computes, by its name.
        hooks: names of the hooks that are recorded.
        reasons: why others are not, by hook.
        memory: the memory's entries by name.
        results: entries of the reward's terms ("terms/<name>"), the reward and the flags.
        shown: size of the observation.
        single: whether it is of float32.
        forces_always: whether forces are computed in every control step.
        exact: whether all sums between physics steps are in NumPy's order.
        tables: constants that the code refers to by address.
    """

    functions: dict[str, Outputs] = field(default_factory=dict)
    hooks: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    memory: dict[str, Entry] = field(default_factory=dict)
    results: dict[str, Entry] = field(default_factory=dict)
    shown: int = 0
    single: bool = False
    forces_always: bool = False
    exact: bool = True
    tables: list[Any] = field(default_factory=list)

    def inputs(self) -> set[tuple[Any, ...]]:
        """The inputs of all functions, as kind, name and index."""
        return {
            symbol.inputs
            for outputs in self.functions.values()
            for symbol in outputs.symbols
            if symbol.operation == "input"
        }


class Recorder:
    """Records the hooks of a task, one by one; what fails is left out.

    Args:
        task: the task.
        sample: a simulation of its model, at its defaults, after `forward`.
        memory: the task's memory there.
        goals: goals that determine reward and success and are observed, or None.
        dtype: dtype of the observation.
        left_out: reasons why some hooks are not to be recorded.
    """

    def __init__(
        self,
        task: Any,
        sample: Single,
        memory: Mapping[str, Array],
        goals: Any,
        dtype: str,
        left_out: Mapping[str, str],
    ) -> None:
        self._task, self._sample, self._goals, self._dtype = task, sample, goals, np.dtype(dtype)
        self._coded = Coded(sample.model, sample.varied)
        self._memory = sample.view.owned(memory)
        self.recording = Recording(reasons=dict(left_out), single=self._dtype == SINGLE)
        first = 0
        for name, x in self._memory.items():
            self.recording.memory[name] = Entry(first, x.shape, x.dtype)
            first += x.size
        self._often = bool(task.control_every_substep)
        self._record()

    def _view(self, *, between: bool = False) -> TracedView:
        trace = Trace()
        self.recording.tables.append(trace.tables)
        return TracedView(self._coded, self._sample, trace, self._memory, between=between)

    def _try(self, hook: str, work: Callable[[], Any]) -> Any:
        """The result of a hook on symbols; None if it cannot be recorded, or is left out."""
        if hook in self.recording.reasons:
            return None
        try:
            result = work()
        except UntraceableError as error:
            self.recording.reasons[hook] = str(error)
        except Exception as error:  # hooks may do anything with symbols
            text = " ".join(f"{type(error).__name__}: {error}".split())
            self.recording.reasons[hook] = text
        else:
            self.recording.hooks.add(hook)
            return result
        return None

    def _record(self) -> None:
        known = set(self.recording.reasons)
        self._record_before()
        if self.recording.reasons.keys() - known:  # what failed for one dtype is left out of both
            self._record_before()
        if self._often:
            self._record_between("control", lambda v: self._controls(v, v.action))
        self._record_between("substep", lambda v: self._changed(v, self._task.substep(v)))
        self._record_forces()
        self._record_after()
        self._record_observation()

    def _record_before(self) -> None:
        for name, dtype in (("before", FLOAT), ("before_single", SINGLE)):
            self._record_before_with(name, dtype)
        self.recording.hooks -= self.recording.reasons.keys()
        if _widens(self.recording.functions.get("before_single", Outputs())):
            self.recording.functions.pop("before_single", None)  # both are the same

    def _record_before_with(self, name: str, dtype: np.dtype[Any]) -> None:
        view, task, outputs = self._view(between=True), self._task, Outputs()
        size = len(task.actions(self._sample.model))

        action = inputs(view._trace, "action", "", np.zeros(size, dtype))
        before = self._try(
            "before_step", lambda: self._written(view, task.before_step(view, action), outputs)
        )
        if before is not None:
            outputs.values += before
        elif not self._often:  # what it would have seen is in the memory
            self.recording.reasons.setdefault("control", "runs after `before_step`")
        if not self._often:
            if (controls := self._try("control", lambda: self._controls(view, action))) is not None:
                outputs.values += controls
            else:  # controls are handed in as actions
                given = inputs(view._trace, "action", "", np.zeros(self._sample.model.nu))
                outputs.values += self._stored("ctrl", given)
                if before:
                    self.recording.reasons["before_step"] = "runs before `control`"
        self.recording.functions.pop(name, None)
        if outputs.values:
            self.recording.functions[name] = outputs

    def _record_between(self, hook: str, work: Callable[[Any], Any]) -> None:
        view = self._view(between=hook == "control")
        size = len(self._task.actions(self._sample.model))
        view.__dict__["action"] = inputs(view._trace, "action", "", np.zeros(size))
        values = self._try(hook, lambda: work(view))
        if values:
            self.recording.functions[hook] = Outputs(values)
            self.recording.exact &= view._trace.exact

    def _record_forces(self) -> None:
        due = self._try("current_forces", lambda: self._task.current_forces(self._view()))
        if isinstance(due, bool):
            self.recording.forces_always = due
        elif due is not None:
            self.recording.functions["forces"] = Outputs(condition=_condition(due))

    def _controls(self, view: TracedView, action: Any) -> list[Any]:
        control = self._task.control(view, action)
        return self._stored("ctrl", control)

    def _stored(self, name: str, values: Any) -> list[Any]:
        flat = converted(values, FLOAT).reshape(-1).tolist()
        return [((f"field {name}", i), x, FLOAT) for i, x in enumerate(flat)]

    def _written(self, view: TracedView, entries: Mapping[str, Any], outputs: Outputs) -> list[Any]:
        """Outputs of `before_step`, which may also write the state."""
        fields = {k: x for k, x in entries.items() if k in STATE_FIELDS and k not in self._memory}
        if fields and self._often:  # it would see what follows from the state before
            raise UntraceableError(f"writes {', '.join(fields)} before a control")
        values: list[Any] = []
        moves: Any = 0
        for name, value in fields.items():
            old = getattr(view, name)
            new = np.broadcast_to(converted(value, FLOAT), old.shape)
            moves = moves + np.any(symbols(new) != old)
            values += self._stored(name, symbols(new))
        if fields:
            outputs.condition = _condition(moves > 0)
            view.__dict__["_stale"] = frozenset(fields)
        return values + self._changed(
            view, {name: x for name, x in entries.items() if name not in fields}
        )

    def _changed(self, view: TracedView, entries: Mapping[str, Any]) -> list[Any]:
        """Outputs that write entries of the memory, which the view shows from then on."""
        written = []
        for name, value in entries.items():
            if name not in self._memory:
                raise UntraceableError(f"writes {name}")
            entry = self.recording.memory[name]
            numbers = converted(view.xp.asarray(value), entry.dtype)
            flat = np.broadcast_to(numbers, entry.shape).reshape(-1).tolist()
            view.memory = {**view.memory, name: symbols(numbers, entry.dtype)}
            written += [(("%memory", entry.first + i), x, entry.dtype) for i, x in enumerate(flat)]
        return written

    def _record_after(self) -> None:
        view, task, outputs = self._view(), self._task, Outputs()
        recording, goals = self.recording, self._goals
        terms = self._try("terms", lambda: task.terms(view))
        kinds: dict[str, Any] = {f"terms/{name}": x for name, x in (terms or {}).items()}
        if goals is not None:
            kinds["reward"] = self._try("reward", lambda: goals.reward(view))
        elif terms is None:
            recording.reasons.setdefault("reward", "is of terms in NumPy")
        else:
            kinds["reward"] = self._try("reward", lambda: task.reward(terms))
        for hook in ("terminated", "truncated"):
            kinds[hook] = self._try(hook, functools.partial(getattr(task, hook), view))
        kinds["success"] = self._try("success", lambda: (goals or task).success(view))
        first = 0
        for name, value in kinds.items():
            if value is None:
                continue
            flat = converted(value, FLOAT)
            recording.results[name] = Entry(first, flat.shape)
            numbers = flat.reshape(-1).tolist()
            outputs.values += [(("%results", first + i), x, FLOAT) for i, x in enumerate(numbers)]
            if name == "reward":
                outputs.finite[BAD_REWARD] = numbers
            first += flat.size
        for hook in AFTER[:-1]:
            if hook in recording.reasons:
                recording.reasons.setdefault("update", f"runs after `{hook}`")
        changed = self._try("update", lambda: self._changed(view, task.update(view)))
        outputs.values += changed or []
        if outputs.values:
            recording.functions["after"] = outputs

    def _record_observation(self) -> None:
        if "update" in self.recording.reasons:
            self.recording.reasons.setdefault("observation", "runs after `update`")
        view = self._view()
        numbers = self._try("observation", lambda: self._shown(view))
        if numbers is None:
            return
        self.recording.shown = len(numbers)
        pointer = "%shown32" if self._dtype == SINGLE else "%shown"
        values = [((pointer, i), x, self._dtype) for i, x in enumerate(numbers)]
        self.recording.functions["observation"] = Outputs(values, {NOT_FINITE: numbers})

    def _shown(self, view: TracedView) -> list[Any]:
        """The numbers of an observation, player by player."""
        entries, players = self._task.observation(view), len(self._task.players)
        hidden = () if self._goals is None else self._goals.hidden
        shown = [x for name, x in entries.items() if name not in hidden]
        if self._goals is not None:
            shown += self._goals.entries(view).values()
        rows = [converted(x, dtype_of(x)).reshape(players or 1, -1) for x in shown]
        dtypes = [dtype_of(x) for x in shown]
        return [
            cast(cast(value, dtype), self._dtype)
            for player in range(players or 1)
            for row, dtype in zip(rows, dtypes, strict=True)
            for value in row[player].tolist()
        ]


def _condition(x: Any) -> Any:
    (condition,) = converted(x, TRUTH).reshape(-1).tolist()
    return condition


def _widens(outputs: Outputs) -> bool:
    """True if nothing is computed in float32, so that float64 actions give the same numbers."""
    single = [x for x in outputs.symbols if x.dtype == SINGLE]
    return all(x.operation == "input" for x in single)


def places(recording: Recording) -> tuple[tuple[str, ...], dict[Any, Place]]:
    """The fields that hooks read, "ctrl" first, and the places of all inputs."""
    read = recording.inputs()
    written = {
        place.removeprefix("field ")
        for outputs in recording.functions.values()
        for (place, _), *_ in outputs.values
        if place.startswith("field ")
    }
    known = written | {name for kind, name, _ in read if kind == "field"}
    fields = ("ctrl", *sorted(known - {"ctrl"}))
    found: dict[Any, Place] = {}
    for kind, name, index in read:
        if kind == "field":
            found[kind, name, index] = str(fields.index(name)), index
        elif kind == "memory":
            found[kind, name, index] = "%memory", recording.memory[name].first + index
        else:
            found[kind, name, index] = "%action", index
    return fields, found
