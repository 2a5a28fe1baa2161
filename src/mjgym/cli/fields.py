"""`--set name=value`: arguments of a task on the command line."""

import ast
import types
import typing
from typing import Any

import typer

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def arguments(id: str, settings: list[str]) -> dict[str, Any]:
    """The keyword arguments of make that settings give, each of the type that its field has.

    Args:
        id: of the task.
        settings: "name=value" each.

    Raises:
        typer.BadParameter: a setting has no "=", is given twice, or has a value of a wrong type.
    """
    from mjgym import registry

    found: dict[str, Any] = {}
    hints = _hints(registry.registration(id).task_class)
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{setting!r} is not of the form name=value.")
        if name in found:
            raise typer.BadParameter(f"{name} is set twice.")
        found[name] = _value(name, text, hints.get(name))
    return found


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError:  # a type that is imported for checkers only
        return {}


def _value(name: str, text: str, hint: Any) -> Any:
    kinds = typing.get_args(hint) if _is_union(hint) else (hint,)
    for kind in kinds:
        try:
            return _convert(text, kind)
        except (ValueError, SyntaxError):
            continue
    wanted = " or ".join(getattr(k, "__name__", str(k)) for k in kinds).replace("NoneType", "none")
    raise typer.BadParameter(f"{name}: {text!r} is not {wanted}.")


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _convert(text: str, kind: Any) -> Any:
    """A text as a value of a type.

    Raises:
        ValueError, SyntaxError: it is not one.
    """
    word = text.strip().lower()
    if kind is bool:
        if word in ("0", "1"):
            return word == "1"
        if word not in _WORDS:
            raise ValueError(text)
        return _WORDS[word]
    if kind in (int, float):
        return kind(text)
    if kind is str:
        return text
    if kind is types.NoneType:
        if word != "none":
            raise ValueError(text)
        return None
    if typing.get_origin(kind) is typing.Literal:
        for value in typing.get_args(kind):
            if str(value) == text:
                return value
        raise ValueError(text)
    if kind is None:  # no field of the task: an argument of make, which checks it itself
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text
    return _sequence(text, kind)


def _sequence(text: str, kind: Any) -> Any:
    value = ast.literal_eval(text)
    origin = typing.get_origin(kind) or kind
    if origin is tuple and isinstance(value, list):
        value = tuple(value)
    if isinstance(origin, type) and not isinstance(value, origin):
        raise ValueError(text)
    return value


def make(id: str, settings: list[str]) -> Any:
    """`gymnasium.make` with settings; what it refuses is a mistake on the command line.

    Raises:
        typer.BadParameter: an argument is unknown (the message names the nearest) or refused.
    """
    import gymnasium

    kwargs = arguments(id, settings)
    try:
        return gymnasium.make(id, **kwargs)
    except (TypeError, ValueError) as error:
        if not kwargs:
            raise
        raise typer.BadParameter(f"{id}: {error}") from None
