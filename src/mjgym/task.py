"""The contract between a task and the environments that run it, one at a time or many at once.

`mjgym guide writing_a_task` explains it, and `mjgym guide coming_from` says where the callbacks of
dm_control's composer have gone.
"""

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from mjgym.actions import Action, Model, controls
from mjgym.arrays import Array
from mjgym.docstrings import first_paragraph
from mjgym.mjcf import Spec
from mjgym.observables import Observable
from mjgym.sim.single import SingleView
from mjgym.sim.views import View

__all__ = [
    "Action",
    "Array",
    "Arrays",
    "Model",
    "Registration",
    "Signal",
    "Task",
    "on_register",
    "register",
    "registrations",
    "steps_in",
    "vector_names",
]

Arrays = dict[str, Array]

WHOLE = 1e-8  # how far a ratio of two times may be from a whole number


@dataclasses.dataclass(frozen=True)
class Signal:
    """What one entry of an observation holds, for people and for programs.

    From `Task.labels` it states only what is not to be derived: what is left empty, be it the name
    or the unit of a single number, is derived.

    Args:
        meaning: one phrase, e.g. "angle of each joint, from the hip to the ankle".
        names: one for each number of the entry, in their order, e.g. the joints' names.
        unit: of all numbers, or one for each; "1" for none.
        frame: the axes in which vectors are given: "world" or the name of a body, geom or site;
            empty where there is no choice of axes; one for all numbers or one for each.
        source: where the engine has it, e.g. "qpos" or "sensor velocimeter"; one for all numbers or
            one for each.
    """

    meaning: str = ""
    names: tuple[str, ...] = ()
    unit: str | tuple[str, ...] = ""
    frame: str | tuple[str, ...] = ""
    source: str | tuple[str, ...] = ""

    def __post_init__(self) -> None:
        for field in ("unit", "frame", "source"):
            value = getattr(self, field)
            if self.names and isinstance(value, tuple) and len(value) != len(self.names):
                raise ValueError(f"{field}: {len(value)} for {len(self.names)} names")


def steps_in(time_limit: float, control_timestep: float) -> int | None:
    """Control steps until a time limit (s); None if it is infinite."""
    if time_limit == float("inf"):
        return None
    # The first step whose time reaches the limit; rounding must not add one.
    return math.ceil(time_limit / control_timestep - WHOLE)


def vector_names(*names: str) -> tuple[str, ...]:
    """Names of the numbers of vectors: "ball" gives "ball x", "ball y", "ball z"."""
    return tuple(f"{name} {axis}" for name in names for axis in "xyz")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A control task: a model, how an episode starts, what is observed and what is rewarded.

    A task is a frozen dataclass. Its fields are its keyword arguments, and it has no other state:
    what an episode must remember goes through `memory`.

    `model`, `actions` and `initialize` are plain code for one simulation. All other hooks are pure
    functions of a `View` and run for one simulation (`v.lead == ()`) or for all sub-environments at
    once (`v.lead == (n,)`), on the arrays of any library: they index from the right (`x[..., 2]`,
    `axis=-1`), take functions from `v.xp`, and have neither a loop over environments nor an `if` on
    an array. They may return live arrays: the engine copies.

    Every task needs `model`, `initialize`, `observation`, `terms` and, unless it is their product,
    `reward`. The other hooks are there for what these cannot say, and cost nothing where they are
    not defined. Their order in a control step stands in `mjgym.episode`.
    """

    time_limit: float  # s, of an episode; inf for none
    control_timestep: float  # s, between two actions: a whole number of the model's own timestep

    control_every_substep: ClassVar[bool] = False
    """Compute `control` before each physics step instead of each control step."""

    versions: ClassVar[dict[int, str]] = {0: "the first version"}
    """What each version of the id changed."""

    def __init_subclass__(cls) -> None:
        """Let `time_limit = 10.0` in a class body give an inherited field its default."""
        super().__init_subclass__()
        bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
        inherited = {f.name: f for base in reversed(bases) for f in dataclasses.fields(base)}
        annotations = dict(inspect.get_annotations(cls))
        for name in inherited.keys() & vars(cls).keys():
            annotations.setdefault(name, inherited[name].type)
            if inherited[name].kw_only and not isinstance(vars(cls)[name], dataclasses.Field):
                # Without this the field would become the first positional argument.
                setattr(cls, name, dataclasses.field(default=vars(cls)[name], kw_only=True))
        cls.__annotations__ = annotations

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class whose fields are none of its own, because no dataclass was made of it."""
        if "__dataclass_params__" not in vars(cls) and inspect.get_annotations(cls):
            raise TypeError(
                f"{cls.__name__} has fields: put @dataclass(frozen=True) above the class"
            )
        return super().__new__(cls)

    def episode_steps(self) -> int | None:
        """Control steps in an episode, None for no limit."""
        return steps_in(self.time_limit, self.control_timestep)

    @property
    def varies(self) -> tuple[str, ...]:
        """Fields of MjModel that `initialize` writes to, e.g. `varies = ("geom_pos",)`.

        They start each episode at their defaults.
        """
        return ()

    @property
    def observables(self) -> Mapping[str, Observable]:
        """How entries of the observation are read, by name, where that is not plainly, and entries
        that have a source of their own; the keyword argument replaces them one by one."""
        return {}

    @property
    def viewpoint(self) -> str | int:
        """The camera that shows the task to people: in `mjgym view`, `mjgym record` and the
        gallery, where none is asked for. `render()` takes camera 0."""
        return 0

    @property
    def players(self) -> tuple[str, ...]:
        """Names of those who act in an episode together, where they are several.

        Then observations and rewards have an axis of players behind `v.lead`, and an action is
        theirs one after the other, each as long as the others'. How the episode ends is the same
        for all of them.
        """
        return ()

    def as_one_agent(self) -> "Task":
        """The task as `gymnasium.make` gives it: itself, unless it has players."""
        return self

    # What there is.

    def model(self) -> Spec:
        """The model; it depends on the fields alone, and equal tasks are compiled once.

        Where it reads a file that changes meanwhile, `mjgym.models.clear_cache()` forgets that.
        """
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def actions(self, model: Model) -> Sequence[Action]:
        """What the numbers of an action are; by default the actuators' controls in their ranges."""
        return controls(model)

    def observation(self, v: View) -> Arrays:
        """The observation's entries by name; their order is that of the flat observation."""
        raise NotImplementedError(f"{type(self).__name__} must define observation()")

    def labels(self, v: View) -> dict[str, Signal]:
        """What `mjgym.labels` cannot derive by itself of the entries of `observation`.

        Names, units, frames and sources come from running `observation` on labels, meanings from
        the docstring's paragraph "Observation: ...".
        """
        return {}

    def colours(self, v: View) -> Arrays:
        """Colours that show the episode's state, (..., 4) each, by "geom <name>", "site <name>"
        or "material <name>"; only asked for when something is drawn."""
        return {}

    def scripted_policy(self) -> Callable[[Any], Any] | None:
        """A policy by rules, from an observation of the environment or the batch to the action.

        It may remember what it has seen, and then has a method `restart` that begins anew. None
        where there is none.
        """
        return None

    # What begins an episode.

    def initialize(self, v: SingleView, rng: Any) -> None:
        """Write the start of one episode.

        Args:
            v: a scratch simulation at the model's defaults, writable (`v.qpos`, `v.qvel`, `v.act`,
                the fields in `varies`, ...), with `v.forward()` and `v.step(n)`; nothing has been
                computed of the defaults. The engine takes over what is written.
            rng: the sub-environment's `numpy.random.Generator`.
        """

    def memory(self, v: View) -> Arrays:
        """What the episode must remember, at its start: arrays that lead with `v.lead`."""
        return {}

    # What a control step does.

    def before_step(self, v: View, action: Array) -> Arrays:
        """What the task itself moves, and what it remembers of the action, once per control step.

        Returns:
            By name, whole: entries of the memory, and fields of MjData to write (`mocap_pos`,
            `qpos`, ...). What follows from those is computed with the first physics step.
        """
        return {}

    def control(self, v: View, action: Array) -> Array:
        """The actuators' controls, (..., nu), for an action; by default the action itself."""
        return action

    def substep(self, v: View) -> Arrays:
        """Entries of the memory after a physics step: what comes and goes in a control step."""
        return {}

    def current_forces(self, v: View) -> Array:
        """Whether sensors of forces and accelerations are of the end of this control step, bool.

        That takes one more computation of them. They are otherwise of the start of its last physics
        step, as in the published suite. A plain True is so for every step.
        """
        return False

    # What a control step is worth, seen with the memory of the step before.

    def terms(self, v: View) -> Arrays:
        """The factors of the reward by name, each of shape `v.lead`, or with players behind it."""
        raise NotImplementedError(f"{type(self).__name__} must define terms()")

    def reward(self, terms: Arrays) -> Array:
        """The reward, of the shape of its terms; by default their product."""
        product: Array = 1.0
        for term in terms.values():
            product = product * term
        return product

    def terminated(self, v: View) -> Array:
        """Whether the episode has come to an end that is part of the task, bool; default never."""
        return False

    def truncated(self, v: View) -> Array:
        """Whether the episode is cut off by what is no part of the task, bool; default never.

        The time limit is the environment's business.
        """
        return False

    def success(self, v: View) -> Array | None:
        """Whether the goal is reached, bool of shape `v.lead`; None if the task has no goal."""
        return None

    def update(self, v: View) -> Arrays:
        """Entries of the memory after a control step, for the observation and the next step.

        For example, `{"best": v.xp.maximum(v.memory["best"], height)}` lets the next reward pay
        for what is higher than ever, while this one still sees how high it has been before.
        """
        return {}


TaskType = TypeVar("TaskType", bound=type[Task])


@dataclasses.dataclass(frozen=True)
class Registration:
    """One id.

    Args:
        id: "<namespace>/<domain>-<task>-v<number>".
        task_class: the task's class.
        fields: the values of its fields that make this task.
        tags: words to find the id by.
        summary: what it asks for, one sentence.
        options: keyword arguments of environments that are others by default than usual.
    """

    id: str
    task_class: type[Task]
    fields: dict[str, Any]
    tags: frozenset[str]
    summary: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def _content(registration: Registration) -> tuple[Any, ...]:
    """What an id stands for, in words: equal for a class and its own reload."""
    cls = registration.task_class
    return cls.__module__, cls.__qualname__, repr(registration.fields), repr(registration.options)


_ID = re.compile(r"[\w.-]+/[\w.-]+-v\d+")

registrations: dict[str, Registration] = {}
"""Every registered task by id."""

on_register: list[Callable[[Registration], None]] = []
"""Called with each new registration before it is one; it is none if one of them raises."""


def register(
    id: str,
    summary: str = "",
    tags: tuple[str, ...] = (),
    *,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Callable[[TaskType], TaskType]:
    """Register a task under an id; stands above the class, once for each id.

    Args:
        id: "<namespace>/<domain>-<task>-v<number>".
        summary: what this id asks for, one sentence; the first of the class's docstring by default.
        tags: words to find the id by, see `mjgym.registry.ids`.
        options: keyword arguments of the environment that this id has other defaults for, e.g.
            `{"observation": "dict+pixels"}`.
        **fields: the values of the class's fields that make this task.

    Raises:
        ValueError: the id is malformed, or stands for another class, fields or options; a
            class that is defined anew under its own name, as by a reload, takes its place.
        TypeError: the class is no task, has no such field, no time limit or control timestep, has
            a field named as an argument of `gymnasium.make` or `make_vec`, or does not stand at the
            top of a module, where another process finds it; or an option is unknown.
    """
    if not _ID.fullmatch(id):
        raise ValueError(f"id: {id!r} is not of the form <namespace>/<domain>-<task>-v<number>")

    def decorate(task_class: TaskType) -> TaskType:
        if not (issubclass(task_class, Task) and dataclasses.is_dataclass(task_class)):
            raise TypeError(f"{id}: {task_class.__name__} is not a dataclass that extends Task")
        if "<locals>" in task_class.__qualname__:
            raise TypeError(
                f"{id}: {task_class.__name__} must stand at the top of a module, not in a function"
            )
        if "__dataclass_params__" not in vars(task_class) and inspect.get_annotations(task_class):
            raise TypeError(
                f"{id}: {task_class.__name__} has fields but is no dataclass of its own: put"
                " @dataclass(frozen=True) between @register and the class"
            )
        known = [f.name for f in dataclasses.fields(task_class)]
        unknown = [name for name in fields if name not in known]
        if unknown:
            raise TypeError(
                f"{id}: {task_class.__name__} has no field {unknown[0]!r}, only {known}"
            )
        for attribute in ("time_limit", "control_timestep"):
            if not hasattr(task_class, attribute):
                raise TypeError(f"{id}: {task_class.__name__} must set {attribute} (seconds)")
        sentence = summary or first_paragraph(task_class)
        registration = Registration(
            id, task_class, dict(fields), frozenset(tags), sentence, dict(options or {})
        )
        before = registrations.get(id)
        if before is not None and _content(before) != _content(registration):
            raise ValueError(
                f"{id} is registered already, for {before.task_class.__module__}:"
                f"{before.task_class.__qualname__} with {before.fields}; give this one another name"
                " or version"
            )
        for listener in on_register:
            listener(registration)
        registrations[id] = registration
        return task_class

    return decorate
