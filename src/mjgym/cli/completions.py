"""Shell completions: policies, cameras, arguments of tasks."""

import dataclasses
from pathlib import Path
from typing import Any

import typer

from mjgym.cli.ids import find_id

RUNS = Path("runs")  # default folder of `mjgym train`


def beginning(incomplete: str, known: list[str]) -> list[str]:
    """Known words with this prefix."""
    return [word for word in known if word.startswith(incomplete)]


def _task(context: typer.Context) -> Any:
    """The registration of the id on the command line so far, or None."""
    from mjgym import registry

    # While an option is being completed, arguments after it are not parsed yet.
    words = [context.params.get("id"), context.params.get("target"), *context.args]
    ids = [id for word in words if word and (id := find_id(str(word)))]
    return registry.registration(ids[0]) if ids else None


def policies(incomplete: str) -> list[str]:
    """Named policies, and runs in the working folder; after a comma, those of the other team."""
    from mjgym.cli.policies import RANDOM, SCRIPTED, TRAINED, ZERO, planners

    first, comma, begun = incomplete.rpartition(",")
    runs = sorted(str(file.parent) for file in RUNS.glob("*/config.yaml"))
    known = [RANDOM, ZERO, TRAINED, SCRIPTED, *planners(), *runs]
    return [f"{first}{comma}{word}" for word in beginning(begun, known)]


def cameras(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the task's cameras, and -1 for the free camera."""
    registered = _task(context)
    if registered is None:
        return beginning(incomplete, ["-1"])
    spec = registered.task_class(**registered.fields).model()
    return beginning(incomplete, [*(c.name for c in spec.cameras if c.name), "-1"])


def task_arguments(context: typer.Context, incomplete: str) -> list[str]:
    """Fields of the task and of its parts, with "="."""
    registered = _task(context)
    if registered is None:
        return []
    cls = registered.task_class
    names = [field.name for field in dataclasses.fields(cls)]
    names += cls.adopt(registered.fields)[1]
    return beginning(incomplete, [f"{name}=" for name in names])
