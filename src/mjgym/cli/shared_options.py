"""Options that several commands have, and their shell completions."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mjgym.cli.ids import completed, find_id
from mjgym.cli.output import refusing
from mjgym.cli.policy_option import DEFAULT, HELP, NAMES, planners

RUNS = Path("runs")  # default folder of `mjgym train`
LOOPBACK = "127.0.0.1"


def beginning(incomplete: str, known: Sequence[str]) -> list[str]:
    return [word for word in known if word.startswith(incomplete)]


def _beginning_last(incomplete: str, known: Sequence[str]) -> list[str]:
    done, comma, last = incomplete.rpartition(",")
    return [f"{done}{comma}{word}" for word in beginning(last, known)]


def _task(context: typer.Context) -> Any:
    from mjgym import registry

    # While an option is being completed, arguments after it are not parsed yet.
    words = [context.params.get("id"), context.params.get("target"), *context.args]
    ids = [id for word in words if word and (id := find_id(str(word)))]
    return registry.registration(ids[0]) if ids else None


def _overlays(incomplete: str) -> list[str]:
    from mjgym.envs.overlays import SHOW_WORDS

    return _beginning_last(incomplete, tuple(SHOW_WORDS))


def _policies(incomplete: str) -> list[str]:
    runs = sorted(str(file.parent) for file in RUNS.glob("*/config.yaml"))
    return _beginning_last(incomplete, [*NAMES, *planners(), *runs])


def _cameras(context: typer.Context, incomplete: str) -> list[str]:
    registered = _task(context)
    if registered is None:
        return beginning(incomplete, ["-1"])
    spec = registered.task_class(**registered.fields).model()
    return beginning(incomplete, [*(c.name for c in spec.cameras if c.name), "-1"])


def _task_arguments(context: typer.Context, incomplete: str) -> list[str]:
    registered = _task(context)
    if registered is None:
        return []
    cls = registered.task_class
    names = [*(field.name for field in dataclasses.fields(cls)), *cls.adopt(registered.fields)[1]]
    return beginning(incomplete, [f"{name}=" for name in names])


AnyIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", autocompletion=completed, help="Default: all there are."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An argument of the task; repeatable.",
        autocompletion=_task_arguments,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the first episode; each further episode adds 1.")
]
Policy = Annotated[
    str | None,
    typer.Option(metavar="POLICY", help=HELP, show_default=DEFAULT, autocompletion=_policies),
]
Camera = Annotated[
    str | None,
    typer.Option(
        help="Camera name or index, -1 for the free camera. Default: the task's viewpoint.",
        autocompletion=_cameras,
    ),
]
Show = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="WORD",
        help="What to show beside the shapes, such as joints, contacts, forces, com, frames,"
        " rangefinders, skeleton or inertia; repeatable, or separated by commas.",
        autocompletion=_overlays,
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
Module = Annotated[
    str | None, typer.Option(help="Registers the dataset's task, if it is your own.")
]
Web = Annotated[
    bool | None,
    typer.Option(
        "--web/--native",
        help="Browser page or native window. Default: a window if there is a display.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=1, max=65535, help="Port of the page; default: the first free one from 8080."),
]
Host = Annotated[
    str,
    typer.Option(help="Network interface of the page; any but loopback is reachable by others."),
]


def camera_of(option: str | None) -> str | int | None:
    """The value of --camera as an environment's argument; None if not given."""
    if option is None:
        return None
    return int(option) if option.lstrip("-").isdigit() else option


def overlay_of(show: Sequence[str] | None, groups: Sequence[str] | None) -> dict[str, Any]:
    """The values of --show and --groups as arguments of an environment; None if not given."""
    from mjgym.envs.overlays import Overlay

    words = tuple(word.strip() for text in show or () for word in text.split(","))
    options = {"show": words or None, "groups": dict(map(_group, groups or ())) or None}
    with refusing(ValueError):
        Overlay.from_words(words, options["groups"])
    return options


def _group(text: str) -> tuple[str, tuple[int, ...]]:
    kind, equals, numbers = text.partition("=")
    form = f"--groups {text}: expected numbers from 0 to 5, as in geom=0,1,3"
    if not equals:
        raise typer.BadParameter(form)
    try:
        return kind, tuple(int(number) for number in numbers.split(",") if number)
    except ValueError:
        raise typer.BadParameter(form) from None
