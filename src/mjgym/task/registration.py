"""Registration of tasks under ids."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mjgym.task.optional_hooks import OptionalHooks
from mjgym.util.docstrings import first_paragraph

TaskType = TypeVar("TaskType", bound=type[OptionalHooks])


@dataclasses.dataclass(frozen=True)
class Registration:
    """An id, the class and fields that it stands for, and words to find it by.

    Args:
        id: "<namespace>/<domain>-<task>-v<number>".
        task_class: the task's class.
        fields: the values of its fields that make this task.
        tags: words to find the id by.
        summary: what it asks for, one sentence.
        options: default overrides of environments' keyword arguments.
    """

    id: str
    task_class: type[Any]
    fields: dict[str, Any]
    tags: frozenset[str]
    summary: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def _content(registration: Registration) -> tuple[Any, ...]:
    """The class, fields and options of an id, in words: equal for a class and its own reload."""
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
