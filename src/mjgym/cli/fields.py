"""`--set name=value`: arguments of a task on the command line."""

import ast
import types
import typing
from collections.abc import Callable
from typing import Any

import typer

from mjgym.cli import completions

Settings = typing.Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An argument of the task; repeatable.",
        autocompletion=completions.task_arguments,
    ),
]
"""The option of commands that make an environment."""

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_WORDS = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


def arguments(id: str, settings: list[str]) -> dict[str, Any]:
    """Keyword arguments of make from settings, converted to the types of the task's fields.

    Args:
        id: of the task.
        settings: "name=value" each.

    Raises:
        typer.BadParameter: a setting has no "=", is repeated, or has a value of a wrong type.
    """
    from mjgym import registry

    values: dict[str, Any] = {}
    hints = _hints(registry.registration(id).task_class)
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{setting!r} is not of the form name=value.")
        if name in values:
            raise typer.BadParameter(f"{name} is set twice.")
        values[name] = _value(name, text, hints.get(name))
    return values


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError:  # a type imported for type checkers only
        return {}


def _value(name: str, text: str, hint: Any) -> Any:
    kinds = typing.get_args(hint) if _is_union(hint) else (hint,)
    for kind in kinds:
        try:
            return _convert(text, kind)
        except (KeyError, ValueError, SyntaxError):
            continue
    wanted = " or ".join(getattr(k, "__name__", str(k)) for k in kinds).replace("NoneType", "none")
    raise typer.BadParameter(f"{name}: {text!r} is not {wanted}.")


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _convert(text: str, kind: Any) -> Any:
    """A text as a value of a type; raises KeyError, ValueError or SyntaxError."""
    if kind in _CONVERT:
        return _CONVERT[kind](text)
    if typing.get_origin(kind) is typing.Literal:
        return {str(value): value for value in typing.get_args(kind)}[text]
    value = ast.literal_eval(text)
    origin = typing.get_origin(kind) or kind
    if origin is tuple and isinstance(value, list):
        value = tuple(value)
    if isinstance(origin, type) and not isinstance(value, origin):
        raise ValueError(text)
    return value


def _bool(text: str) -> bool:
    return _WORDS[text.strip().lower()]


def _none(text: str) -> None:
    if text.strip().lower() != "none":
        raise ValueError(text)


def _literal(text: str) -> Any:
    """For arguments of make that are not fields of the task; make checks them."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_CONVERT: dict[Any, Callable[[str], Any]] = {
    bool: _bool,
    int: int,
    float: float,
    str: str,
    types.NoneType: _none,
    None: _literal,
    Any: _literal,  # a field of words, numbers or dicts
}


def make(id: str, settings: list[str], **kwargs: Any) -> Any:
    """`gymnasium.make` with settings; refused ones are command-line errors.

    Args:
        id: of the environment.
        settings: "name=value" each.
        kwargs: further arguments, which settings override.

    Raises:
        typer.BadParameter: an argument is unknown (the message names the nearest) or refused.
    """
    import gymnasium

    return _made(gymnasium.make, id, {**kwargs, **arguments(id, settings)})


def make_batch(id: str, settings: list[str], count: int, **kwargs: Any) -> Any:
    """`gymnasium.make_vec` with settings and a number of sub-environments, see `make`."""
    import gymnasium

    return _made(gymnasium.make_vec, id, {**kwargs, **arguments(id, settings), "num_envs": count})


def _made(make: Callable[..., Any], id: str, kwargs: dict[str, Any]) -> Any:
    try:
        return make(id, **kwargs)
    except (TypeError, ValueError) as error:
        if not kwargs:
            raise
        raise typer.BadParameter(f"{id}: {refusal(error)}") from None


def refusal(error: Exception) -> str:
    """Message of an error of `gymnasium.make`, without Gymnasium's suffix."""
    return str(error).partition(" was raised from the environment creator")[0]
