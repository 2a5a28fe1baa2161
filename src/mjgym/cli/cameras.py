"""Options of commands that render: --camera, --show and --groups."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer


def _completed(incomplete: str) -> list[str]:
    """Shell completions of --show."""
    from mjgym.envs.overlays import WORDS

    done, comma, last = incomplete.rpartition(",")
    return [f"{done}{comma}{word}" for word in WORDS if word.startswith(last)]


Show = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="WORD",
        help="What to show beside the shapes, such as joints, contacts, forces, com, frames,"
        " rangefinders, skeleton or inertia; repeatable, or separated by commas.",
        autocompletion=_completed,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        metavar="KIND=NUMBERS",
        help="Groups that are shown of a kind of element, e.g. geom=0,1,3; repeatable.",
    ),
]


def camera_of(option: str | None) -> str | int | None:
    """The value of --camera as an environment's argument; None if not given."""
    if option is None:
        return None
    return int(option) if option.lstrip("-").isdigit() else option


def overlay_of(show: Sequence[str] | None, groups: Sequence[str] | None) -> dict[str, Any]:
    """The values of --show and --groups as arguments of an environment, without those not given.

    Raises:
        typer.BadParameter: there is no such word, kind or group.
    """
    from mjgym.envs.overlays import Overlay

    options: dict[str, Any] = {}
    if show:
        options["show"] = tuple(word.strip() for text in show for word in text.split(","))
    if groups:
        options["groups"] = dict(_group(text) for text in groups)
    try:
        Overlay.of(**options)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return options


def _group(text: str) -> tuple[str, tuple[int, ...]]:
    kind, equals, numbers = text.partition("=")
    try:
        if equals:
            return kind, tuple(int(number) for number in numbers.split(",") if number)
    except ValueError:
        pass
    raise typer.BadParameter(f"--groups {text}: expected numbers from 0 to 5, as in geom=0,1,3")
