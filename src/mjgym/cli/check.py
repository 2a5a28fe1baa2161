"""`mjgym check`: test a task."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli import shared_options, task_arguments
from mjgym.cli.ids import ModuleError, completed, ids_of
from mjgym.cli.output import NARROW, console, print_json, reserved, table

if TYPE_CHECKING:
    from mjgym.checks import Finding

_STYLES = {"pass": "green", "skipped": "cyan", "warn": "yellow", "fail": "bold red"}


def check(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE_OR_ID",
            autocompletion=completed,
            help='An id, "module:id", or a module or .py file: all ids that it registers.',
        ),
    ],
    set: shared_options.Settings = None,
    json: shared_options.Json = False,
) -> None:
    """Test a task: determinism, single against batch, snapshots, finite numbers, names, and more.

    Exits with 1 if a check fails.
    """
    from mjgym.checks import Finding
    from mjgym.checks.words import UNFROZEN

    with reserved(json):
        try:
            findings = _findings(ids_of(target), set or [])
        except ModuleError as error:
            unfrozen = "inherit non-frozen dataclass from a frozen" in str(error)
            reason = f"{error}{UNFROZEN if unfrozen else ''}"
            findings = [Finding(target, "import", "fail", reason)]
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        _show(findings)
    if any(finding.status == "fail" for finding in findings):
        raise typer.Exit(1)


def _findings(ids: list[str], settings: list[str]) -> "list[Finding]":
    from mjgym import checks

    findings: list[Finding] = []
    with console(stderr=True).status("checking") as status:
        for id in ids:
            status.update(f"checking {id}")
            with task_arguments.refused(id, TypeError):  # no such argument
                findings += checks.check(id, **task_arguments.arguments(id, settings))
    return findings


def _show(findings: "list[Finding]") -> None:
    from rich.text import Text

    out = console()
    for id in dict.fromkeys(finding.id for finding in findings):
        out.print(id, style="bold")
        these = [finding for finding in findings if finding.id == id]
        if out.width < NARROW:
            for f in these:
                out.print(Text.assemble((f.status, _STYLES[f.status]), f" {f.check}: {f.reason}"))
        else:
            results = table("check", "result", "reason", fold=("reason",))
            for f in these:
                results.add_row(f.check, Text(f.status, style=_STYLES[f.status]), f.reason)
            out.print(results)
        counts = [(s, sum(f.status == s for f in these)) for s in _STYLES]
        out.print(", ".join(f"{n} {status}" for status, n in counts if n) + "\n", style="dim")
