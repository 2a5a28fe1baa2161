"""Completions for a shell: policies, cameras, arguments of tasks."""

import dataclasses
from pathlib import Path
from typing import Any

import typer

from mjgym.cli.ids import find_id

RUNS = Path("runs")  # where `mjgym train` writes runs for which no folder is given


def beginning(incomplete: str, known: list[str]) -> list[str]:
    """Known words that begin so."""
    return [word for word in known if word.startswith(incomplete)]


def _task(context: typer.Context) -> Any:
    """The registration of the id that the line names so far; None where there is none."""
    from mjgym import registry

    # Behind an option that is being completed, arguments are not parsed yet.
    words = [context.params.get("id"), context.params.get("target"), *context.args]
    found = [id for word in words if word and (id := find_id(str(word)))]
    return registry.registration(found[0]) if found else None


def policies(incomplete: str) -> list[str]:
    """Named policies, and the runs of the working folder; behind a comma, the other team's."""
    from mjgym.cli.policies import RANDOM, SCRIPTED, TRAINED, ZERO

    own, comma, begun = incomplete.rpartition(",")
    runs = sorted(str(file.parent) for file in RUNS.glob("*/config.yaml"))
    known = [RANDOM, ZERO, TRAINED, SCRIPTED, *runs]
    return [f"{own}{comma}{word}" for word in beginning(begun, known)]


def cameras(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the task's cameras, and -1 for the free one."""
    registered = _task(context)
    if registered is None:
        return beginning(incomplete, ["-1"])
    spec = registered.task_class(**registered.fields).model()
    return beginning(incomplete, [*(c.name for c in spec.cameras if c.name), "-1"])


def task_arguments(context: typer.Context, incomplete: str) -> list[str]:
    """The fields of the task and of its parts, with the sign of equality."""
    registered = _task(context)
    if registered is None:
        return []
    cls = registered.task_class
    names = [field.name for field in dataclasses.fields(cls)]
    names += cls.adopt(registered.fields)[1]
    return beginning(incomplete, [f"{name}=" for name in names])
