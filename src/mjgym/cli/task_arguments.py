"""`--set name=value`: arguments of a task on the command line."""

import contextlib
import types
import typing
from collections.abc import Iterator
from typing import Any

import typer

from mjgym.util.bounded import literal
from mjgym.util.values import convert

OPTIONS = {"render_quality": "quality", "opponent": "policy"}
"""Options with another name than the argument of make that they set."""


def pairs(settings: list[str] | None) -> dict[str, str]:
    """Split texts of the form "name=value" into values by name."""
    values: dict[str, str] = {}
    for setting in settings or ():
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{setting!r} is not of the form name=value.")
        if name in values:
            raise typer.BadParameter(f"{name} is set twice.")
        values[name] = text
    return values


def arguments(id: str, settings: list[str] | None) -> dict[str, Any]:
    """Keyword arguments of make from settings, converted to the types of the task's fields."""
    from mjgym import registry
    from mjgym.task.task_fields import annotated_types

    hints = annotated_types(registry.registration(id).task_class)
    return {name: _value(name, text, hints.get(name)) for name, text in pairs(settings).items()}


def _value(name: str, text: str, hint: Any) -> Any:
    if hint in (None, Any):  # no field of the task: make checks it
        try:
            return literal(text)
        except ValueError:
            return text
    try:
        return convert(text, hint)
    except ValueError:
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        kinds = typing.get_args(hint) if union else (hint,)
        names = " or ".join(getattr(k, "__name__", str(k)) for k in kinds)
        wanted = names.replace("NoneType", "none")
        raise typer.BadParameter(f"{name}: {text!r} is not {wanted}.") from None


def make(
    id: str,
    settings: list[str] | None,
    num_envs: int | None = None,
    *,
    options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """`gymnasium.make`, or `make_vec` for a number of sub-environments, with settings.

    Args:
        options: arguments that the command has options for, which settings cannot set; those that
            are None are left to make.
    """
    import gymnasium

    from mjgym.registry import one_agent

    chosen = arguments(id, settings)
    options = options or {}
    for name in chosen:
        if name in (*options, "num_envs"):
            option = OPTIONS.get(name, name).replace("_", "-")
            raise typer.BadParameter(f"{name} has an option of its own: --{option}.")
    set_by_options = {name: value for name, value in options.items() if value is not None}
    given = {**kwargs, **chosen, **set_by_options}
    with refused(id, *((TypeError, ValueError) if given else ())):
        if num_envs is None:
            return gymnasium.make(id, **given)
        return gymnasium.make_vec(id, num_envs=num_envs, **one_agent(id, **given))


@contextlib.contextmanager
def refused(id: str, *errors: type[Exception]) -> Iterator[None]:
    """Report errors of make as those of the command line, without Gymnasium's additions."""
    try:
        yield
    except errors as error:
        reason = str(error).partition(" was raised from the environment creator")[0]
        raise typer.BadParameter(f"{id}: {reason}") from None
