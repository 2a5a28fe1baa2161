"""`mjgym mjcf`: check, compare and change model files."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli import shared_options
from mjgym.cli.output import console, failing, fits, print_json, refusing, say, table
from mjgym.cli.task_arguments import pairs

if TYPE_CHECKING:
    from mjgym.mjcf.lint.comparing import Difference
    from mjgym.mjcf.lint.reading import Problem

app = typer.Typer(
    help="Check, compare and change model files.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_STYLES = {"+": "green", "-": "red", "@": "cyan"}  # of a unified diff, by a line's first letter


@app.command("check")
def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="MJCF or URDF files, each a model.")
    ],
    json: shared_options.Json = False,
) -> None:
    """Report problems of models, with file, line and the nearest valid keyword.

    Includes are followed. Exits with 1 if there is a problem; exit status 0 means that every model
    compiles.
    """
    from mjgym.mjcf.lint.checking import check as check_file

    problems: list[Problem] = []
    for file in files:
        with refusing(FileNotFoundError, hint="'FILE'"):
            problems += check_file(file)
    problems = list(dict.fromkeys(problems))  # models may include the same file
    if json:
        print_json([asdict(problem) for problem in problems])
    else:
        from rich.text import Text

        for problem in problems:
            place = f"{problem.file}:{problem.line}:"
            say(Text.assemble((place, "bold"), str(problem).removeprefix(place)))
        counted = f"models: {len(files)}, problems: {len(problems)}"
        console(stderr=True).print(counted, style="dim")
    if problems:
        raise typer.Exit(1)


@app.command("diff")
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="An MJCF, URDF or MJB file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The file to compare with.")],
    tolerance: Annotated[
        float, typer.Option(min=0, help="Tolerance of numbers, relative above 1.")
    ] = 1e-9,
    derived: Annotated[bool, typer.Option("--derived", help="Include derived fields.")] = False,
    json: shared_options.Json = False,
) -> None:
    """Compare two compiled models by element and field.

    Exits with 1 if they differ, and with 2 if one of them cannot be read.
    """
    from mjgym.mjcf.lint.comparing import diff as diff_models

    try:
        differences = diff_models(a, b, tolerance, derived=derived)
    except (FileNotFoundError, ValueError) as error:
        say(str(error), stderr=True)
        raise typer.Exit(2) from None
    if json:
        print_json([asdict(difference) for difference in differences])
    else:
        _show_differences(differences)
    if differences:
        raise typer.Exit(1)


def _show_differences(found: "list[Difference]") -> None:
    from mjgym.mjcf.lint.comparing import shown

    out = console()
    rows = table("kind", "name", "field", "A", "B", fold=("A", "B"))
    for d in found:
        presence = ("", "added") if d.a is None else ("removed", "")
        cells = (shown(d.a), shown(d.b)) if d.field else presence
        rows.add_row(d.kind, d.name, d.field, *cells)
    if found and fits(out, rows):
        out.print(rows)
    else:
        for d in found:
            out.print(str(d), soft_wrap=True)
    console(stderr=True).print(f"differences: {len(found)}", style="dim")


@app.command("edit")
def edit(
    file: Annotated[Path, typer.Argument(help="An MJCF or URDF file, or one that is included.")],
    xpath: Annotated[str, typer.Argument(help="Selects elements: //geom\\[@name='foot'].")],
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set an attribute; repeatable."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Remove an attribute; repeatable."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the selected elements.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes without writing them.")
    ] = False,
) -> None:
    """Edit elements of a file, preserve everything else, and show the change.

    The result is checked before the file is written. Exits with 1, without writing, if nothing is
    selected or the result would have a new problem.
    """
    from mjgym.mjcf.lint.editing import edit as edit_file

    values = _values(set or [], unset or [])
    if bool(values) == remove:
        raise typer.BadParameter("say what to do: either --set and --unset, or --remove.")
    with refusing(FileNotFoundError), failing(ValueError):
        change = edit_file(file, xpath, set=values, remove=remove, dry_run=dry_run)
    out = console()
    for line in change.splitlines():
        out.print(line, style=_STYLES.get(line[:1]), soft_wrap=True)
    done = "not written" if dry_run else "written" if change else "nothing to change"
    console(stderr=True).print(f"{done}: {file}", style="dim")


def _values(settings: list[str], names: list[str]) -> dict[str, str | None]:
    values: dict[str, str | None] = {**pairs(settings)}
    for name in names:
        if name in values:
            raise typer.BadParameter(f"{name} is both set and taken away.")
        values[name] = None
    return values
