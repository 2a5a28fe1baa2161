"""The hooks of a control step, recorded on symbols."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.engine import ASSET_FIELDS, STATE_FIELDS, get_field
from mjgym.sim.model_writes import field_names, noted, undone
from mjgym.sim.single import Single
from mjgym.sim.views import Named, View
from mjgym_fast.machine_code import (
    BAD_REWARD,
    BETWEEN,
    BITS,
    NOT_FINITE,
    TRUE,
    Function,
    Result,
)
from mjgym_fast.symbols import NAMESPACE, converted, dtype_of, filled, symbols
from mjgym_fast.trace import (
    FIELD,
    FLOAT,
    SIZE,
    TRUTH,
    TYPES,
    Outside,
    Trace,
    UntraceableError,
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


class TracedView(View):
    """A view whose arrays hold symbols of a simulation's numbers.

    Args:
        sample: a simulation at the model's defaults.
        between: whether only what is current between physics steps may be read.
    """

    def __init__(self, sample: Single, recording: "Recording", *, between: bool) -> None:
        super().__init__((), NAMESPACE)  # type: ignore[arg-type]
        data, model, varied = sample.data, sample.model, sample.varied
        fields = {name: getattr(data, name) for name in mujoco.batch.DATA_FIELDS - {"time"}}
        fields |= {"time": np.zeros(()), **{name: get_field(model, name) for name in varied}}
        self.__dict__.update(
            model=model, _sample=sample.view, _data=data, _varied=varied, _between=between,
            _fields={name: x for name, x in fields.items() if isinstance(x, np.ndarray)},
            _stale=frozenset(), _trace=(trace := Trace(recording.outside)),
        )  # fmt: skip
        self.memory = {
            name: inputs(trace, "%memory", offset, kind.shape, kind.base)
            for name, (kind, offset) in entries_of(recording.memory).items()
        }

    def _field(self, name: str) -> Array:
        known = name if name in self._fields else None
        values = self._fields[name] if known else getattr(self._sample, name)
        return self._symbols(name, values, known, fixed=not hasattr(self._data, name))

    def _element(self, kind: str, name: str) -> Named:
        element, fixed = getattr(self._sample, kind)(name), getattr(self.model, kind)(name)

        def fetch(attribute: str) -> Array:
            values = getattr(element, attribute)
            shares = (k for k, x in self._fields.items() if np.may_share_memory(x, values))
            described = f"{attribute} of {kind} {name!r}"
            known = next(shares, None)
            return self._symbols(described, values, known, fixed=hasattr(fixed, attribute))

        return Named(fetch)

    def _symbols(self, name: str, values: Any, known: str | None, *, fixed: bool) -> Any:
        """Symbols of the numbers of an array, or the array if nothing changes them.

        Args:
            known: the field that they belong to.
        """
        x = np.asarray(values)
        if known is None and fixed and x.dtype.kind in "fiub":
            return values
        if known is None or x.dtype != float:
            # A count of contacts, an address, a field that varies and is not of float64.
            raise UntraceableError(f"reads {name}, which is no number of its own")
        field = self._fields[known]
        offset = x.ctypes.data - field.ctypes.data
        places = np.ndarray(x.shape, np.int64, np.arange(field.size), offset, x.strides)
        return self._numbers(name, known, places)

    def _numbers(self, name: str, known: str, places: np.ndarray) -> Any:
        """The numbers at places of a field."""
        if self._between and known not in BETWEEN_STEPS and known not in self._varied:
            raise UntraceableError(f"reads {name}, which is no position, velocity or state")
        if known in self._stale:
            raise UntraceableError(f"reads {known}, which `before_step` writes")
        trace: Trace = self._trace
        loads = [trace.load(FIELD + known, SIZE * i) for i in places.reshape(-1).tolist()]
        return _read_only(filled(loads, places.shape))


class StartView(TracedView):
    """A view in which `initialize` writes symbols, over numbers of the model's defaults.

    Attributes:
        cells: the fields that it has looked up, one number after another, by name.
    """

    cells: dict[str, Any]

    def __init__(self, sample: Single, recording: "Recording") -> None:
        super().__init__(sample, recording, between=True)
        self.__dict__.update(cells={}, kept={}, memory={})

    def _symbols(self, name: str, values: Any, known: str | None, *, fixed: bool) -> Any:
        if callable(values):
            raise UntraceableError(f"calls {name}")
        found = super()._symbols(name, values, known, fixed=fixed)
        return found if known else _read_only(np.array(found))  # of all simulations

    def _numbers(self, name: str, known: str, places: np.ndarray) -> Any:
        if known not in STATE_FIELDS and known not in self._varied:
            raise UntraceableError(f"reads {name}, which follows from the state")
        if known not in self.cells:
            self.cells[known] = symbols(np.ravel(self._fields[known]).tolist())
        first = places.flat[0] if places.size else 0
        return self.cells[known][first : first + places.size].reshape(places.shape)


class NotedDraws:
    """Stands for a random generator and notes its draws.

    Numbers of other distributions follow from the plain ones as in NumPy, so all that a start draws
    from one is drawn at once.

    Attributes:
        draws: methods in their order, with how many numbers each draws.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.draws: list[tuple[str, int]] = []

    def __getattr__(self, method: str) -> Any:
        raise UntraceableError(f"draws by {method}")

    def _draw(self, method: str, size: Any, *factor_and_start: Any) -> Any:
        limits = [NAMESPACE.asarray(x) for x in factor_and_start]
        shape = (
            np.broadcast_shapes(*map(np.shape, limits)) if size is None else np.empty(size).shape
        )
        offset = SIZE * sum(count for _, count in self.draws)
        drawn = inputs(self._trace, "%action", offset, shape).copy()
        before = self.draws.pop()[1] if self.draws and self.draws[-1][0] == method else 0
        self.draws.append((method, before + drawn.size))
        for operate, limit in zip((np.multiply, np.add), limits, strict=False):
            drawn = operate(limit, drawn)
        return drawn

    def random(self, size: Any = None) -> Any:
        return self._draw("random", size)

    def standard_normal(self, size: Any = None) -> Any:
        return self._draw("standard_normal", size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._draw("random", size, NAMESPACE.asarray(high) - NAMESPACE.asarray(low), low)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw("standard_normal", size, scale, loc)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw("standard_exponential", size, scale)


def entries_of(memory: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """The entries of a structured dtype: dtype and offset by name."""
    return {name: entry[:2] for name, entry in (memory.fields or {}).items()}


def inputs(
    trace: Trace, array: str, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any] = FLOAT
) -> Any:
    """Symbols of an array's numbers, from an offset on."""
    if dtype not in TYPES:
        raise UntraceableError(f"its memory has numbers of {dtype}")
    offsets = (offset + dtype.itemsize * i for i in range(math.prod(shape)))
    numbers = [trace.load(array, place, dtype=dtype) for place in offsets]
    return _read_only(filled(numbers, shape, dtype))


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


_NO_RESULTS = np.dtype([("none", FLOAT)])


@dataclass
class Recording:
    """The hooks of a control step as traces.

    Attributes:
        dtype: dtype of the observation.
        memory: the memory.
        functions: the functions that compute them, by name.
        outside: what these refer to.
        hooks: names of the hooks that are recorded.
        reasons: why others are not, by hook.
        results: of the hooks after the physics: the reward's terms ("terms/<name>"), the reward and
            the flags.
        shown: size of the observation.
        forces_always: whether forces are computed in every control step.
        exact: whether all sums between physics steps are in NumPy's order.
        draws: what a start draws, if `initialize` is recorded, as in `NotedDraws`.
    """

    dtype: np.dtype[Any]
    memory: np.dtype[Any]
    functions: dict[str, Function] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    hooks: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    results: np.dtype[Any] = _NO_RESULTS
    shown: int = 0
    forces_always: bool = False
    exact: bool = True
    draws: Sequence[tuple[str, int]] = ()


class Recorder:
    """Records a task's hooks, then runs them on numbers in the same way.

    Hooks that cannot be recorded are left out.

    Args:
        sample: a simulation of the task's model, at its defaults, after `forward`.
        memory: the task's memory there.
        goals: goals that determine reward and success and are observed, or None.
        dtype: dtype of the observation.
        left_out: reasons why some hooks are not to be recorded.

    Attributes:
        actions: the action, or controls instead: symbols or numbers, as the arrays of the view.

    Raises:
        UntraceableError: the memory has numbers of another dtype.
    """

    actions: Any

    def __init__(
        self,
        task: Any,
        sample: Single,
        memory: Mapping[str, Array],
        goals: Any,
        dtype: str,
        left_out: Mapping[str, str],
    ) -> None:
        entries = sample.view.owned(memory).items()
        cells = np.dtype([(name, x.dtype, x.shape) for name, x in entries], align=True)
        recording = Recording(np.dtype(dtype), cells, reasons=dict(left_out))
        self.task, self.recording, self._sample, self._goals = task, recording, sample, goals
        self._often, self._records = bool(task.control_every_substep), True
        self._width = len(task.actions(sample.model))
        for name in ("before", *BETWEEN, "forces", "after", "observation", "start"):
            self._record(name)
        recording.hooks -= recording.reasons.keys()
        self._records = False

    def _record(self, name: str) -> None:
        """Record a function, anew without what fails."""
        recording, known = self.recording, len(self.recording.reasons)
        view = TracedView(self._sample, recording, between=name in ("before", "control"))
        if name == "start":
            view = StartView(self._sample, recording)
        trace, width = view._trace, max(self._sample.model.nu, self._width)
        self.actions = inputs(trace, "%action", 0, (width,))
        results = getattr(self, name)(view)
        if len(recording.reasons) > known:
            self._record(name)
        elif results:
            recording.functions[name] = Function(name, results, trace)
            recording.exact &= trace.exact or name not in BETWEEN
        trace.clear()

    def forces(self, view: TracedView) -> list[Result]:
        """Run `current_forces`."""
        due = self._try("current_forces", lambda: self.task.current_forces(view))
        self.recording.forces_always = due is True
        return [] if due is None or isinstance(due, bool) else [_bit("current_forces", TRUE, due)]

    def start(self, view: StartView) -> list[Result]:
        """Run `initialize`."""
        rng = NotedDraws(view._trace)

        def work() -> list[Result]:
            if self.task.kept:
                raise UntraceableError("depends on the episode before")
            if ASSET_FIELDS.intersection(self._sample.varied):
                raise UntraceableError("writes assets")
            before = noted(view.model, field_names())
            try:
                self.task.initialize(view, rng)
            finally:
                written = undone(view.model, before)
            if written:
                raise UntraceableError(f"writes {', '.join(written)} of the model")
            if not (rng.draws and view.cells):  # it may be told from elsewhere what to write
                raise UntraceableError("draws nothing that it writes")
            return self._fields("initialize", view.cells)

        self.recording.draws = rng.draws
        return self._try("initialize", work) or []

    def _try(self, hook: str, work: Callable[[], Any]) -> Any:
        """The result of a hook; None if it is left out."""
        recording = self.recording
        if hook in recording.reasons:
            return None
        try:
            result = work()
        except Exception as error:  # hooks may do anything with symbols
            if not self._records:
                raise
            text = " ".join(f"{type(error).__name__}: {error}".split())
            if isinstance(error, UntraceableError):
                text = str(error)
            elif "'Symbol'" in text:
                text = "takes numbers out of arrays, as float() and math's functions do"
            recording.reasons[hook] = text
            return None
        recording.hooks.add(hook)
        return result

    def _array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """A hook's result as an array of a dtype."""
        array = NAMESPACE.asarray(x)
        return symbols(converted(array, dtype), dtype) if self._records else array.astype(dtype)

    def before(self, view: Any) -> list[Result]:
        """Run `before_step`, and `control` unless that runs before each physics step."""
        reasons = self.recording.reasons
        before = self._try("before_step", lambda: self._written(view))
        if self._often:
            return before or []
        if before is None:  # what it would have seen is in the memory
            reasons.setdefault("control", "runs after `before_step`")
        controls = self._controls(view)
        if not controls:  # they are handed in as actions
            controls = self._fields("control", {"ctrl": self.actions[: self._sample.model.nu]})
            if before:
                reasons["before_step"] = "runs before `control`"
        return [*(before or ()), *controls]

    def control(self, view: Any) -> list[Result]:
        """Run `control` before a physics step."""
        return self._controls(view) if self._often else []

    def substep(self, view: Any) -> list[Result]:
        """Run `substep`."""
        return self._change("substep", view)

    def after(self, view: Any) -> list[Result]:
        """Run the hooks after the physics, which see the memory of the step before."""
        task, goals, recording = self.task, self._goals, self.recording
        terms = self._try("terms", lambda: task.terms(view))
        if terms is None and goals is None:
            recording.reasons.setdefault("reward", "is of terms in NumPy")
        hooks = {
            "reward": lambda: goals.reward(view) if goals else task.reward(terms),
            "terminated": lambda: task.terminated(view),
            "truncated": lambda: task.truncated(view),
            "success": lambda: (goals or task).success(view),
        }
        arrays = {f"terms/{name}": self._array(x, FLOAT) for name, x in (terms or {}).items()}
        for hook, work in hooks.items():
            if (value := self._try(hook, work)) is not None:
                arrays[hook] = self._array(value, FLOAT if hook == "reward" else TRUTH)
        if arrays:
            cells = [(name, x.dtype, x.shape) for name, x in arrays.items()]
            recording.results = np.dtype(cells, align=True)
        places = entries_of(recording.results)
        results = [
            Result(name.partition("/")[0], "%results", places[name][1], x, x.dtype)
            for name, x in arrays.items()
        ]
        if "reward" in arrays:
            results.append(_bit("reward", BAD_REWARD, _not_finite(arrays["reward"])))
        for hook in ("terms", *hooks):
            if hook in recording.reasons:
                recording.reasons.setdefault("update", f"runs after `{hook}`")
        return results + self._change("update", view)

    def observation(self, view: Any) -> list[Result]:
        """Run `observation`, laying out its entries one after the other, player by player."""
        recording = self.recording
        if "update" in recording.reasons:
            recording.reasons.setdefault("observation", "runs after `update`")
        shown = self._try("observation", lambda: self._shown(view))
        if shown is None:
            return []
        recording.shown = shown.size
        return [
            Result("observation", "%shown", 0, shown, recording.dtype),
            _bit("observation", NOT_FINITE, _not_finite(shown)),
        ]

    def _shown(self, view: Any) -> Any:
        entries, players = self.task.observation(view), len(self.task.players) or 1
        if self._goals is not None:
            shown = {k: x for k, x in entries.items() if k not in self._goals.task.shows_goal}
            entries = {**shown, **self._goals.entries(view)}
        rows = [
            self._array(self._array(x, dtype_of(x)), self.recording.dtype).reshape(players, -1)
            for x in entries.values()
        ]
        return np.concatenate(rows, axis=-1)

    def _fields(self, hook: str, values: Mapping[str, Any]) -> list[Result]:
        return [Result(hook, FIELD + name, 0, self._array(x, FLOAT)) for name, x in values.items()]

    def _controls(self, view: Any) -> list[Result]:
        control = self._try("control", lambda: self.task.control(view, self._action()))
        return [] if control is None else self._fields("control", {"ctrl": control})

    def _action(self) -> Any:
        return self.actions[: self._width]

    def _written(self, view: Any) -> list[Result]:
        """Results of `before_step`, which may also write the state."""
        entries = self.task.before_step(view, self._action())
        known = entries_of(self.recording.memory)
        fields = {k: x for k, x in entries.items() if k in STATE_FIELDS and k not in known}
        if fields and self._often:  # it would see what follows from the state before
            raise UntraceableError(f"writes {', '.join(fields)} before a control")
        moves: Any = 0
        for name, value in fields.items():
            old = getattr(view, name)
            fields[name] = np.broadcast_to(self._array(value, FLOAT), old.shape)
            moves = moves + np.any(fields[name] != old)
        bits = [_bit("before_step", TRUE, moves > 0)] if fields else []
        view.__dict__["_stale"] = frozenset(fields)
        others = {name: value for name, value in entries.items() if name not in fields}
        changed = self._changed("before_step", view, others)
        return self._fields("before_step", fields) + changed + bits

    def _change(self, hook: str, view: Any) -> list[Result]:
        """Results of a hook that writes into the memory."""
        work = getattr(self.task, hook)
        return self._try(hook, lambda: self._changed(hook, view, work(view))) or []

    def _changed(self, hook: str, view: Any, entries: Mapping[str, Any]) -> list[Result]:
        """Results that write entries of the memory, which the view shows from then on."""
        results, known = [], entries_of(self.recording.memory)
        for name, value in entries.items():
            if name not in known:
                raise UntraceableError(f"writes {name}")
            kind, offset = known[name]
            array = self._array(value, kind.base)
            view.memory = {**view.memory, name: array}
            whole = np.broadcast_to(array, kind.shape)
            results.append(Result(hook, "%memory", offset, whole, kind.base))
        return results


def _bit(hook: str, bit: int, condition: Any) -> Result:
    return Result(hook, BITS, bit, converted(condition, TRUTH), TRUTH)


def _not_finite(numbers: Any) -> Any:
    return np.isnan(np.sum(numbers * 0.0))
