"""The hooks of a control step, recorded on symbols."""

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.engine import ASSET_FIELDS, STATE_FIELDS, get_field
from mjgym.sim.model_writes import field_names, noted, undone
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import Named, View
from mjgym_fast.machine_code import (
    BAD_REWARD,
    BETWEEN,
    FIELD,
    NOT_FINITE,
    TRUE,
    Outputs,
    Place,
    Result,
)
from mjgym_fast.symbols import (
    DTYPES,
    FLOAT,
    NAMESPACE,
    SINGLE,
    TRUTH,
    Symbol,
    Trace,
    UntraceableError,
    Writable,
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
    """A simulation whose numbers encode their own addresses."""

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
        self, coded: Coded, sample: Single, memory: Mapping[str, Array], *, between: bool
    ) -> None:
        super().__init__((), NAMESPACE)  # type: ignore[arg-type]
        self.__dict__.update(
            model=sample.model, _coded=coded, _sample=sample.view, _trace=(trace := Trace()),
            _between=between, _stale=frozenset(),
        )  # fmt: skip
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
            fixed = plain is not None and np.asarray(plain).dtype.kind in "fiub"
            if not fixed or self._coded.varies(codes) or not np.array_equal(codes, plain):
                # A count of contacts, an address, a field that varies and is not of float64.
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


class StartView(TracedView):
    """A view in which `initialize` writes symbols, over numbers of the model's defaults.

    Attributes:
        cells: the fields that it has looked up, one number after another, by name.
    """

    cells: dict[str, Any]

    def __init__(self, coded: Coded, sample: Single) -> None:
        super().__init__(coded, sample, {}, between=True)
        self.__dict__.update(cells={}, kept={})

    def _symbols(self, name: str, values: Any, plain: Any) -> Any:
        if callable(values):
            raise UntraceableError(f"calls {name}")
        codes = np.asarray(values)
        if codes.dtype == float and codes.size and codes.flat[0] >= _CODE:
            field, first = divmod(codes.flat[0], _CODE)
            known = self._coded.fields[int(field) - 1]
            if known in STATE_FIELDS or known in self._coded.varied:
                return self._cells(known, int(first), codes.size).reshape(codes.shape)
            raise UntraceableError(f"reads {name}, which follows from the state")
        constant = np.array(super()._symbols(name, values, plain))
        constant.flags.writeable = not constant.size  # it belongs to all simulations
        return constant

    def _cells(self, name: str, first: int, size: int) -> Any:
        if name not in self.cells:
            state = name in STATE_FIELDS
            values = getattr(self._sample, name) if state else get_field(self.model, name)
            self.cells[name] = symbols(np.ravel(values).tolist()).view(Writable)
        return self.cells[name][first : first + size]


@dataclass
class Draw:
    """Numbers that a random generator draws by one method into an array, and their place in it."""

    method: str
    first: int
    count: int = 0


class NotedDraws:
    """Stands for a random generator and notes its draws.

    Numbers of other distributions follow from the plain ones as in NumPy, so all that a start draws
    from one is drawn at once.

    Attributes:
        draws: in their order.
        count: the numbers that they have drawn.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.draws: list[Draw] = []
        self.count = 0

    def __getattr__(self, method: str) -> Any:
        raise UntraceableError(f"draws by {method}")

    def _draw(self, method: str, size: Any, *limits: Any) -> Any:
        shape = np.broadcast_shapes(*map(np.shape, limits)) if size is None else size
        like = np.empty(shape)
        drawn = inputs(self._trace, "action", "", like, self.count)
        if not self.draws or self.draws[-1].method != method:
            self.draws.append(Draw(method, self.count))
        self.draws[-1].count += like.size
        self.count += like.size
        return drawn.view(Writable)

    def random(self, size: Any = None) -> Any:
        return self._draw("random", size)

    def standard_normal(self, size: Any = None) -> Any:
        return self._draw("standard_normal", size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        low, high = NAMESPACE.asarray(low), NAMESPACE.asarray(high)
        return (low + (high - low) * self._draw("random", size, low, high)).view(Writable)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        loc, scale = NAMESPACE.asarray(loc), NAMESPACE.asarray(scale)
        return (loc + scale * self._draw("standard_normal", size, loc, scale)).view(Writable)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        scale = NAMESPACE.asarray(scale)
        return (scale * self._draw("standard_exponential", size, scale)).view(Writable)


def inputs(trace: Trace, kind: str, name: str, like: Array, first: int = 0) -> Any:
    """Symbols of an array's numbers."""
    if like.dtype not in DTYPES:
        raise UntraceableError(f"has {kind} {name!r} of {like.dtype}")
    places = range(first, first + like.size)
    array = np.empty(like.size, dtype=object)
    array[:] = [trace.symbol("input", kind, name, i, dtype=like.dtype) for i in places]
    return symbols(array.reshape(like.shape), like.dtype)


AFTER = ("terms", "reward", "terminated", "truncated", "success", "update")
"""Hooks after the physics, in their order."""


@dataclass(frozen=True)
class Entry:
    """Place of an array in a simulation's numbers: its first one, its shape and its dtype."""

    first: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = FLOAT

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))


@dataclass
class Recording:
    """The hooks of a control step as traces.

    Attributes:
        dtype: dtype of the observation.
        functions: what each compiled function computes, by its name.
        hooks: names of the hooks that are recorded.
        reasons: why others are not, by hook.
        memory: the memory's entries by name.
        results: entries of the reward's terms ("terms/<name>"), the reward and the flags.
        shown: size of the observation.
        forces_always: whether forces are computed in every control step.
        exact: whether all sums between physics steps are in NumPy's order.
        draws: what a start draws, if `initialize` is recorded.
    """

    dtype: np.dtype[Any]
    functions: dict[str, Outputs] = field(default_factory=dict)
    hooks: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    memory: dict[str, Entry] = field(default_factory=dict)
    results: dict[str, Entry] = field(default_factory=dict)
    shown: int = 0
    forces_always: bool = False
    exact: bool = True
    draws: Sequence[Draw] = ()


class Hooks:
    """Runs the hooks of a control step and notes what each writes.

    Subclasses say how a hook is tried, and what its arrays hold: symbols or numbers.

    Args:
        model: the task's model.
        goals: goals that determine reward and success and are observed, or None.
        recording: the places of memory and results, and which hooks are left out.
    """

    def __init__(self, task: Any, model: Any, goals: Any, recording: Recording) -> None:
        self._task, self._model, self._goals, self.recording = task, model, goals, recording
        self._often = bool(task.control_every_substep)

    def _try(self, hook: str, work: Callable[[], Any]) -> Any:
        """The result of a hook; None if it is left out."""
        raise NotImplementedError

    def _array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """A hook's result as an array of a dtype."""
        raise NotImplementedError

    def _action(self, view: Any, size: int) -> Any:
        """The first numbers of the action."""
        raise NotImplementedError

    def before(self, view: Any) -> Outputs:
        """Run `before_step`, and `control` unless that runs before each physics step."""
        task, outputs, reasons = self._task, Outputs(), self.recording.reasons
        action = self._action(view, len(task.actions(self._model)))
        before = self._try(
            "before_step", lambda: self._written(view, task.before_step(view, action), outputs)
        )
        if before is not None:
            outputs.results += before
        elif not self._often:  # what it would have seen is in the memory
            reasons.setdefault("control", "runs after `before_step`")
        if self._often:
            return outputs
        controls = self._try("control", lambda: self._controls(view, action))
        if controls is None:  # they are handed in as actions
            controls = self._fields("control", {"ctrl": self._action(view, self._model.nu)})
            if before:
                reasons["before_step"] = "runs before `control`"
        outputs.results += controls
        return outputs

    def control(self, view: Any) -> Outputs:
        """Run `control` before a physics step."""
        action = self._action(view, len(self._task.actions(self._model)))
        return Outputs(self._try("control", lambda: self._controls(view, action)) or [])

    def substep(self, view: Any) -> Outputs:
        """Run `substep`."""
        changed = self._try(
            "substep", lambda: self._changed("substep", view, self._task.substep(view))
        )
        return Outputs(changed or [])

    def after(self, view: Any) -> Outputs:
        """Run the hooks after the physics, which see the memory of the step before."""
        task, goals, recording, outputs = self._task, self._goals, self.recording, Outputs()
        terms = self._try("terms", lambda: task.terms(view))
        found: dict[str, Any] = {f"terms/{name}": x for name, x in (terms or {}).items()}
        if goals is not None:
            found["reward"] = self._try("reward", lambda: goals.reward(view))
        elif terms is None:
            recording.reasons.setdefault("reward", "is of terms in NumPy")
        else:
            found["reward"] = self._try("reward", lambda: task.reward(terms))
        for hook in ("terminated", "truncated"):
            found[hook] = self._try(hook, functools.partial(getattr(task, hook), view))
        found["success"] = self._try("success", lambda: (goals or task).success(view))
        first = 0
        for name, value in found.items():
            if value is None:
                continue
            numbers = self._array(value, FLOAT)
            recording.results[name] = Entry(first, numbers.shape)
            hook = name.partition("/")[0]
            outputs.results.append(Result(hook, "%results", first, numbers, FLOAT))
            if hook == "reward":
                outputs.bits[BAD_REWARD] = _not_finite(numbers)
            first += numbers.size
        for hook in AFTER[:-1]:
            if hook in recording.reasons:
                recording.reasons.setdefault("update", f"runs after `{hook}`")
        changed = self._try("update", lambda: self._changed("update", view, task.update(view)))
        outputs.results += changed or []
        return outputs

    def observation(self, view: Any) -> Outputs:
        """Run `observation`, laying out its entries one after the other, player by player."""
        if "update" in self.recording.reasons:
            self.recording.reasons.setdefault("observation", "runs after `update`")
        numbers = self._try("observation", lambda: self._shown(view))
        if numbers is None:
            return Outputs()
        dtype = self.recording.dtype
        self.recording.shown = numbers.size
        pointer = "%shown32" if dtype == SINGLE else "%shown"
        results = [Result("observation", pointer, 0, numbers, dtype)]
        return Outputs(results, {NOT_FINITE: _not_finite(numbers)})

    def _shown(self, view: Any) -> Any:
        entries, players = self._task.observation(view), len(self._task.players) or 1
        if self._goals is not None:
            shown = {k: x for k, x in entries.items() if k not in self._goals.task.shows_goal}
            entries = {**shown, **self._goals.entries(view)}
        rows = [
            self._array(self._array(x, dtype_of(x)), self.recording.dtype).reshape(players, -1)
            for x in entries.values()
        ]
        return np.concatenate(rows, axis=-1)

    def _controls(self, view: Any, action: Any) -> list[Result]:
        return self._fields("control", {"ctrl": self._task.control(view, action)})

    def _fields(self, hook: str, values: Mapping[str, Any]) -> list[Result]:
        return [
            Result(hook, FIELD + name, 0, self._array(x, FLOAT), FLOAT)
            for name, x in values.items()
        ]

    def _written(self, view: Any, entries: Mapping[str, Any], outputs: Outputs) -> list[Result]:
        """Results of `before_step`, which may also write the state."""
        memory = self.recording.memory
        fields = {k: x for k, x in entries.items() if k in STATE_FIELDS and k not in memory}
        if fields and self._often:  # it would see what follows from the state before
            raise UntraceableError(f"writes {', '.join(fields)} before a control")
        moves: Any = 0
        for name, value in fields.items():
            old = getattr(view, name)
            fields[name] = np.broadcast_to(self._array(value, FLOAT), old.shape)
            moves = moves + np.any(fields[name] != old)
        if fields:
            outputs.bits[TRUE] = _condition(moves > 0)
            view.__dict__["_stale"] = frozenset(fields)
        others = {name: value for name, value in entries.items() if name not in fields}
        return self._fields("before_step", fields) + self._changed("before_step", view, others)

    def _changed(self, hook: str, view: Any, entries: Mapping[str, Any]) -> list[Result]:
        """Results that write entries of the memory, which the view shows from then on."""
        results = []
        for name, value in entries.items():
            if (entry := self.recording.memory.get(name)) is None:
                raise UntraceableError(f"writes {name}")
            array = self._array(value, entry.dtype)
            view.memory = {**view.memory, name: array}
            whole = np.broadcast_to(array, entry.shape)
            results.append(Result(hook, "%memory", entry.first, whole, entry.dtype))
        return results


class Recorder(Hooks):
    """Records a task's hooks one by one; hooks that cannot be traced are left out.

    Args:
        sample: a simulation of its model, at its defaults, after `forward`.
        memory: the task's memory there.
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
        recording = Recording(np.dtype(dtype), reasons=dict(left_out))
        super().__init__(task, sample.model, goals, recording)
        self._sample, self._coded = sample, Coded(sample.model, sample.varied)
        self._memory = sample.view.owned(memory)
        first = 0
        for name, x in self._memory.items():
            recording.memory[name] = Entry(first, x.shape, x.dtype)
            first += x.size
        self._record()

    def _view(self, *, between: bool = False) -> TracedView:
        return TracedView(self._coded, self._sample, self._memory, between=between)

    def _try(self, hook: str, work: Callable[[], Any]) -> Any:
        recording = self.recording
        if hook in recording.reasons:
            return None
        try:
            result = work()
        except UntraceableError as error:
            recording.reasons[hook] = str(error)
        except Exception as error:  # hooks may do anything with symbols
            text = " ".join(f"{type(error).__name__}: {error}".split())
            outside = "takes numbers out of arrays, as float() and math's functions do"
            recording.reasons[hook] = outside if "'Symbol'" in text else text
        else:
            recording.hooks.add(hook)
            return result
        return None

    def _array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return symbols(converted(NAMESPACE.asarray(x), dtype), dtype)

    def _action(self, view: Any, size: int) -> Any:
        return inputs(view._trace, "action", "", np.zeros(size))

    def _record(self) -> None:
        recording, known = self.recording, set(self.recording.reasons)
        self._note("before", self.before, self._view(between=True))
        if recording.reasons.keys() - known:  # anew, without what has failed
            self._note("before", self.before, self._view(between=True))
        recording.hooks -= recording.reasons.keys()
        if self._often:
            self._note("control", self.control, self._view(between=True))
        self._note("substep", self.substep, self._view())
        due = self._try("current_forces", lambda: self._task.current_forces(self._view()))
        if isinstance(due, bool):
            recording.forces_always = due
        elif due is not None:
            recording.functions["forces"] = Outputs(bits={TRUE: _condition(due)})
        self._note("after", self.after, self._view())
        self._note("observation", self.observation, self._view())
        self._record_start()

    def _record_start(self) -> None:
        view = StartView(self._coded, self._sample)
        rng = NotedDraws(view._trace)

        def work() -> Outputs:
            if self._task.kept:
                raise UntraceableError("depends on the episode before")
            if ASSET_FIELDS.intersection(self._coded.varied):
                raise UntraceableError("writes assets")
            before = noted(self._model, field_names())
            try:
                self._task.initialize(view, rng)
            finally:
                written = undone(self._model, before)
            if written:
                raise UntraceableError(f"writes {', '.join(written)} of the model")
            if not rng.draws:  # it may be told from elsewhere what to write
                raise UntraceableError("draws nothing")
            return Outputs(self._fields("initialize", view.cells))

        outputs = self._try("initialize", work)
        if outputs is not None:
            self.recording.functions["start"], self.recording.draws = outputs, rng.draws

    def _note(self, name: str, work: Callable[[Any], Outputs], view: TracedView) -> None:
        self.recording.functions.pop(name, None)
        if (outputs := work(view)).results:
            self.recording.functions[name] = outputs
            if name in BETWEEN:
                self.recording.exact &= view._trace.exact


def _condition(x: Any) -> Any:
    (condition,) = converted(x, TRUTH).reshape(-1).tolist()
    return condition


def _not_finite(numbers: Any) -> Any:
    return _condition(np.isnan(np.sum(numbers * 0.0)))


def places(recording: Recording) -> tuple[tuple[str, ...], dict[Any, Place]]:
    """The fields that hooks read and write, "ctrl" first, and the places of all inputs."""
    functions = recording.functions.values()
    fields = {x.pointer for outputs in functions for x in outputs.results}
    found: dict[Any, Place] = {}
    for outputs in functions:
        for symbol in outputs.symbols:
            if symbol.operation != "input":
                continue
            kind, name, index = symbol.inputs
            if kind == "memory":
                found[symbol.inputs] = "%memory", recording.memory[name].first + index
            else:
                pointer = FIELD + name if kind == "field" else "%action"
                found[symbol.inputs] = pointer, index
                fields.add(pointer)
    names = {x.removeprefix(FIELD) for x in fields if x.startswith(FIELD)}
    return ("ctrl", *sorted(names - {"ctrl"})), found
