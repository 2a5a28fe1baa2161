"""Registration of tasks under ids."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mjgym.task.optional_hooks import OptionalHooks
from mjgym.util import code_references
from mjgym.util.docstrings import first_paragraph

TaskType = TypeVar("TaskType", bound=type[OptionalHooks])


@dataclasses.dataclass(frozen=True)
class Registration:
    """An id with its class, fields, and words to find it by."""

    id: str  # "<namespace>/<domain>-<task>-v<number>"
    place: str  # the task's class, as "module:Class"
    fields: dict[str, Any]  # values of the class's fields
    tags: frozenset[str]  # words to find the id by
    summary: str  # the task in one sentence
    options: dict[str, Any]  # overridden defaults of the environment's keyword arguments
    steps: int | None  # control steps of an episode; None for no limit

    @functools.cached_property
    def task_class(self) -> type[Any]:
        """The task's class; its module is imported when this is first read."""
        cls: type[Any] = code_references.load(self.place)
        return cls

    @property
    def imported(self) -> bool:
        """False for an id of the package's table whose class has not been imported yet."""
        return "task_class" in vars(self)

    def same(self, other: "Registration") -> bool:
        """Compare what an id makes: equal for a class and its reload."""
        ours, theirs = (repr((r.place, r.fields, r.options)) for r in (self, other))
        return ours == theirs


def place_of(task_class: type[Any]) -> str:
    """Name a class as "module:Class"."""
    return f"{task_class.__module__}:{task_class.__qualname__}"


_ID = re.compile(r"[\w.-]+/[\w.-]+-v\d+")

registrations: dict[str, Registration] = {}
"""Registrations by id."""

on_register: list[Callable[[Registration], None]] = []
"""Called with each new registration before it is stored; raising rejects it."""


def register(
    id: str,
    summary: str = "",
    tags: tuple[str, ...] = (),
    *,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Callable[[TaskType], TaskType]:
    """Class decorator that registers a task under an id; may be repeated.

    Args:
        id: "<namespace>/<domain>-<task>-v<number>".
        summary: the task in one sentence; by default the first of the class's docstring.
        tags: words to find the id by, see `mjgym.registry.ids`.
        options: overridden defaults of the environment's keyword arguments, e.g.
            `{"observation": "dict+pixels"}`.
        **fields: values of the class's fields.

    Raises:
        ValueError: the id is malformed, or registered with another class, fields or options; a
            reloaded class replaces itself.
        TypeError: the class is not a task, lacks a field, time limit or control timestep, has a
            field named as an argument of `gymnasium.make` or `make_vec`, or is not at the top of a
            module, where other processes can import it; or an option is unknown, or `tags` a text.
    """
    if not _ID.fullmatch(id):
        raise ValueError(f"id: {id!r} is not of the form <namespace>/<domain>-<task>-v<number>")
    if isinstance(tags, str):
        raise TypeError(f"{id}: tags: expected words, got text; write ({tags!r},)")

    def decorate(task_class: TaskType) -> TaskType:
        if not (issubclass(task_class, OptionalHooks) and dataclasses.is_dataclass(task_class)):
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
        registration = Registration(
            id,
            place_of(task_class),
            dict(fields),
            frozenset(tags),
            summary or first_paragraph(task_class),
            dict(options or {}),
            task_class(**fields).episode_steps(),
        )
        vars(registration)["task_class"] = task_class
        before = registrations.get(id)
        awaited = before is not None and not before.imported
        if before is not None and not before.same(registration):
            if not awaited or before.place != registration.place:
                raise ValueError(
                    f"{id} is registered already, for {before.place} with {before.fields}; give"
                    " this one another name or version"
                )
            awaited = False  # the table is older than the code
        for listener in () if awaited else on_register:
            listener(registration)
        registrations[id] = registration
        return task_class

    return decorate


Variant = Callable[[str, tuple[str, ...]], Callable[[TaskType], TaskType]]
"""Registers a task under an id; the tags are those of the table."""


def variant(summary: str = "", tags: tuple[str, ...] = (), **fields: Any) -> Variant[Any]:
    """A row of `register_variants`; arguments are those of `register`."""
    return lambda id, usual: register(id, summary, tags or usual, **fields)


def register_variants(
    pattern: str, tags: tuple[str, ...] = (), **variants: Variant[Any]
) -> Callable[[TaskType], TaskType]:
    """Class decorator that registers a task under several ids.

        @register_variants("my/puck-{}-v0", near=variant("Near."), far=variant("Far.", margin=0.5))

    Args:
        pattern: of the ids; "{}" is the name of a variant.
        tags: of variants that have none of their own.
        **variants: by name, see `variant`.
    """

    def decorate(task_class: TaskType) -> TaskType:
        for name, row in variants.items():
            row(pattern.format(name), tags)(task_class)
        return task_class

    return decorate
