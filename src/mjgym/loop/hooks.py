"""The hooks that run for all simulations at once: how to call each, and how to check its result.

`HOOKS` is the one list of them. The episode loop, `mjgym check` and the tests of array libraries
use it.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mjgym.arrays import Array
from mjgym.sim import Single, View
from mjgym.sim.derived_views import RepeatedView
from mjgym.sim.engine import STATE_FIELDS
from mjgym.task import Arrays, GoalTask, Task
from mjgym.task.models import CACHE_SIZE, compile_model
from mjgym.util.suggestions import did_you_mean, or_else

Shapes = Mapping[str, tuple[int, ...] | None]


class Expected:
    """Checks shape and kind of hooks' results; errors name the hook.

    Args:
        view: view that hooks are called with; must hold the memory when results refer to it.
        shown: shapes of the observation's entries; None if they are not known.
    """

    def __init__(self, task: Task, view: View, nu: int, shown: Shapes | None = None) -> None:
        self._task = task
        self._view = view
        self._nu = nu
        self._lead = view.lead
        self._shown = shown or {}
        self._goal: tuple[int, ...] = ()  # shape of the goals that have been achieved
        self._each = (*view.lead, *((len(task.players),) if task.players else ()))

    def memory(self, hook: str, value: Any) -> None:
        self._entries(hook, value, self._lead)

    def observation(self, hook: str, value: Any) -> None:
        """A dict of arrays of leading shape lead, then the axis of players."""
        shown = shapes(self._entries(hook, value, self._each))
        if self._shown not in ({}, shown):
            message = f" expected entries of shapes {self._shown}, got {shown}"
            raise self._error(ValueError, hook, message)

    def fields(self, hook: str, value: Any) -> None:
        """Entries of the memory, or of the state, in their shapes."""
        memory = self._view.memory
        for name, entry in self._entries(hook, value, ()).items():
            if name in memory:
                self._kept(hook, entry, name)
            elif name in STATE_FIELDS:
                self._shape(hook, entry, _shape(getattr(self._view, name)) or (), name)
            else:
                hint = did_you_mean(name, [*memory, *STATE_FIELDS])
                message = f" {name!r} is neither in memory() nor part of the state{hint}"
                raise self._error(ValueError, hook, message)

    def parts_of_memory(self, hook: str, value: Any) -> None:
        """Entries of the memory, in their shapes."""
        memory = self._view.memory
        for name, entry in self._entries(hook, value, self._lead).items():
            if name not in memory:
                known = list(memory)
                hint = or_else(name, known) if known else "; it has no entries"
                raise self._error(ValueError, hook, f" memory() has no {name!r}{hint}")
            self._kept(hook, entry, name)

    def control(self, hook: str, value: Any) -> None:
        self._shape(hook, value, (*self._lead, self._nu))

    def terms(self, hook: str, value: Any) -> None:
        for name, term in self._entries(hook, value, ()).items():
            self._number(hook, term, self._each, name)

    def reward(self, hook: str, value: Any) -> None:
        self._number(hook, value, self._each)

    def flag(self, hook: str, value: Any) -> None:
        """A bool per simulation, or a plain one for all."""
        self._number(hook, value, self._lead)
        if _generality(value):
            raise self._error(TypeError, hook, f" expected bool, got {_kind(value)}")

    def optional_flag(self, hook: str, value: Any) -> None:
        """A flag, or None."""
        if value is not None:
            self.flag(hook, value)

    def goal(self, hook: str, value: Any) -> None:
        """A goal vector per simulation."""
        shape = _shape(value)
        if shape is None or len(shape) != len(self._lead) + 1 or shape[:-1] != self._lead:
            got = repr(value) if shape is None else f"shape {shape}"
            raise self._error(ValueError, hook, f" expected shape {(*self._lead, 'k')}, got {got}")
        if shape != (self._goal or shape):
            message = f" expected shape {self._goal}, as of achieved(), got {shape}"
            raise self._error(ValueError, hook, message)
        self._goal = shape

    def _entries(self, hook: str, value: Any, lead: tuple[int, ...]) -> Arrays:
        if not isinstance(value, Mapping):
            raise self._error(TypeError, hook, f" expected a dict of arrays, got {value!r}")
        for name, entry in value.items():
            shape = _shape(entry)
            if shape is None:
                raise self._error(TypeError, hook, f" {name!r} is no array: {entry!r}")
            if shape[: len(lead)] != lead:
                begin = "v.lead" if lead == self._lead else "v.lead and the players"
                raise self._error(
                    ValueError, hook, f" {name!r} has shape {shape}, but must begin with {begin},"
                    f" {lead}"
                )  # fmt: skip
        return dict(value)

    def _number(self, hook: str, value: Any, wanted: tuple[int, ...], name: str = "") -> None:
        if type(value) not in (int, float, bool):  # a NumPy scalar would be a mean over simulations
            if _shape(value) is None:
                got = f"{_prefix(name)} expected numbers, got {value!r}"
                raise self._error(TypeError, hook, got)
            self._shape(hook, value, wanted, name)

    def _kept(self, hook: str, entry: Any, name: str) -> None:
        whole = self._view.memory[name]
        self._shape(hook, entry, _shape(whole) or (), name)
        if _generality(entry) > _generality(whole):
            message = f" {name!r} is of {_kind(entry)}, but memory() begins it as {_kind(whole)}"
            raise self._error(TypeError, hook, message)

    def _shape(self, hook: str, value: Any, wanted: tuple[int, ...], name: str = "") -> None:
        shape = _shape(value)
        if shape != wanted:
            got = repr(value) if shape is None else f"shape {shape}"
            raise self._error(
                ValueError, hook, f"{_prefix(name)} expected shape {wanted}, got {got}"
            )

    def _error(self, kind: type[Exception], hook: str, message: str) -> Exception:
        place = place_of(self._task, hook)
        return kind(f"{type(self._task).__name__}.{hook}():{message}{place and f' ({place})'}")


def _prefix(name: str) -> str:
    return f" {name!r}:" if name else ""


def _shape(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, int | float):
        return ()
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)


def shapes(entries: Mapping[str, Any]) -> Shapes:
    """The shape of each entry; () for numbers."""
    return {name: _shape(value) for name, value in entries.items()}


def _kind(value: Any) -> str:
    return type(value).__name__ if isinstance(value, int | float) else str(value.dtype)


def _generality(value: Any) -> int:
    """0 for bools, 1 for whole numbers, 2 for others; the lower ones convert to the higher."""
    return next((i for i, kind in enumerate(("bool", "int")) if kind in _kind(value)), 2)


def place_of(task: Task, hook: str) -> str:
    """File and line of a task's hook, "cart.py:12"; "" if unknown."""
    code = getattr(getattr(type(task), hook), "__code__", None)
    return "" if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


@dataclass(frozen=True)
class Hook:
    """A method of `Task` that runs for all simulations at once."""

    name: str
    # Its arguments: the view, the view and an action, the reward's terms, or achieved and desired
    # goals, optionally with a step's info
    takes: Literal["view", "action", "terms", "goals", "goals and info"]
    returns: Callable[[Expected, str, Any], None]  # raises unless the result is valid

    def __call__(self, task: Task, view: View, action: Array) -> Any:
        """Call a task's hook."""
        method = getattr(task, self.name)
        if self.takes == "action":
            return method(view, action)
        if isinstance(task, GoalTask) and self.takes.startswith("goals"):
            goals = task.achieved(view), task.desired(view)
            return method(*goals) if self.takes == "goals" else method(*goals, {})
        return method(task.terms(view) if self.takes == "terms" else view)

    def is_defined(self, task: Task) -> bool:
        return getattr(type(task), self.name) is not getattr(Task, self.name, None)


_HOOKS = (
    Hook("memory", "view", Expected.memory),
    Hook("before_step", "action", Expected.fields),
    Hook("control", "action", Expected.control),
    Hook("substep", "view", Expected.parts_of_memory),
    Hook("current_forces", "view", Expected.flag),
    Hook("terms", "view", Expected.terms),
    Hook("reward", "terms", Expected.reward),
    Hook("terminated", "view", Expected.flag),
    Hook("truncated", "view", Expected.flag),
    Hook("success", "view", Expected.optional_flag),
    Hook("update", "view", Expected.parts_of_memory),
    Hook("observation", "view", Expected.observation),
)
_GOAL_HOOKS = (
    Hook("achieved", "view", Expected.goal),
    Hook("desired", "view", Expected.goal),
    Hook("reached", "goals", Expected.flag),
    Hook("compute_reward", "goals and info", Expected.reward),
)
HOOKS = {hook.name: hook for hook in (*_HOOKS, *_GOAL_HOOKS)}
"""All hooks by name: `memory`, which begins an episode, then in the order of a control step.

Those of a `GoalTask` come last.
"""


def hooks_of(task: Task) -> tuple[Hook, ...]:
    memory, *rest = _HOOKS  # goals may need the memory, and success needs goals
    return (memory, *_GOAL_HOOKS, *rest) if isinstance(task, GoalTask) else _HOOKS


def defined_hooks(task: Task) -> frozenset[str]:
    """List the names of the hooks that a task overrides; the others need not be called."""
    return frozenset(hook.name for hook in hooks_of(task) if hook.is_defined(task))


def run_hooks(task: Task, view: View, action: Array) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        return {hook.name: hook(task, view, action) for hook in hooks_of(task)}


def bind_and_validate(task: Task, view: View, nu: int, actions: int) -> dict[str, Any]:
    """Run every hook once, refuse results of the wrong kind or shape, and return them by hook.

    A batch computes only arrays that have been accessed before. The view gets the memory.

    Args:
        view: view of simulations after `forward`.
    """
    expected = Expected(task, view, nu)
    action = view.xp.zeros((*view.lead, actions))
    results: dict[str, Any] = {}
    with np.errstate(all="ignore"):  # arrays first bound here are still zero
        for hook in hooks_of(task):
            try:
                result = results[hook.name] = hook(task, view, action)
            except Exception as error:
                error.add_note(_note(task, hook.name, view))
                raise
            hook.returns(expected, hook.name, result)
            if hook.name == "memory":
                view.memory = view.owned(result)
    return results


def name_culprit(error: Exception, task: Task, view: View, action: Array, shown: Shapes) -> None:
    """Name the hook whose result has made a step fail, if its shape or kind has changed.

    Args:
        error: gets a note on a hook that raises.
        shown: shapes of the observation's entries.
    """
    expected = Expected(task, view, view.model.nu, shown)
    with np.errstate(all="ignore"):
        for hook in hooks_of(task)[1:]:  # all but `memory`
            try:
                result = hook(task, view, action)
            except Exception:
                error.add_note(_note(task, hook.name, view))
                return
            hook.returns(expected, hook.name, result)


def _note(task: Task, hook: str, view: View) -> str:
    place = place_of(task, hook)
    note = f"in {type(task).__name__}.{hook}(){place and f' ({place})'}"
    if not view.lead:
        return note
    return f"{note}, called for {view.lead[0]} simulations at once: index from the right, x[..., i]"


def probe(task: Task) -> None:
    """Refuse a task with hooks that mix simulations.

    Hooks run once, on read-only copies of the model's defaults, as many as no axis of the model is
    long: a hook that indexes from the left returns a wrong shape, even if it would not in a batch
    of three or four.
    """
    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        _probe(task)
    else:
        _probe_once(task)


def _probe(task: Task) -> None:
    model = compile_model(task)
    single = Single(model, task.varies)
    single.forward()
    lengths = {1, 2, 3, 4, 6, 9}  # of scalars, vectors, quaternions, twists and matrices
    for source in (model, single.data):
        for name in dir(source):
            if not name.startswith("_") and isinstance(x := getattr(source, name), np.ndarray):
                lengths.update(x.shape)
    count = next(n for n in range(FEWEST, FEWEST + len(lengths) + 1) if n not in lengths)
    view = RepeatedView(single.view, count)
    try:
        bind_and_validate(task, view, model.nu, len(task.actions(model)))
    except Exception as error:
        error.add_note(f"(tried on {count} copies of the model's defaults, which are read-only)")
        raise


FEWEST = 11  # copies of a simulation that hooks are tried on
_probe_once = functools.lru_cache(CACHE_SIZE)(_probe)
