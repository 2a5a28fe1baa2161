"""`mjgym fingerprint`: compare the trajectories of two engines or machines."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli import shared_options
from mjgym.cli.ids import known_ids
from mjgym.cli.output import console, print_json, refusing, say, table

if TYPE_CHECKING:
    from mjgym.checks.trajectories import Difference, Recorded


def fingerprint(
    ids: shared_options.AnyIds = None,
    write: Annotated[
        Path | None, typer.Option(help="Record trajectories into this file.", dir_okay=False)
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Compare with the trajectories of this file.", exists=True),
    ] = None,
    json: shared_options.Json = False,
) -> None:
    """Name every id whose dynamics differ between two engines, machines or installations.

    Record here with `--write`, compare there with `--against`: from one start 200 steps of random
    actions, and 200 of the scripted policy or, where there is none, of sinusoidal actions. States
    are compared to the last bit. Exits with 1 if an id differs.
    """
    import mjgym
    from mjgym.checks import trajectories

    if (write is None) == (against is None):
        raise typer.BadParameter("give either --write FILE or --against FILE")
    with refusing(trajectories.TrajectoryError, hint="'--against'"):
        if write is not None:
            _write(write, known_ids(ids) if ids else mjgym.registry.ids())
            return
        assert against is not None
        recorded = trajectories.Recorded(against)
        differences = _compare(recorded, known_ids(ids) if ids else _registered(recorded.ids))
    here = mjgym.fingerprint()
    if json:
        rows = [dataclasses.asdict(difference) for difference in differences]
        print_json({"here": here, "there": recorded.about, "trajectories": rows})
    else:
        _show(differences, here["versions"], recorded.about["versions"])
    if any(difference.first is not None for difference in differences):
        raise typer.Exit(1)


def _registered(ids: list[str]) -> list[str]:
    import mjgym

    if unknown := sorted(set(ids) - set(mjgym.registry.ids())):
        raise typer.BadParameter(
            f"not registered: {', '.join(unknown)}; name ids to compare those alone",
            param_hint="'--against'",
        )
    return ids


def _write(path: Path, ids: list[str]) -> None:
    from mjgym.checks import trajectories

    with console(stderr=True).status("recording") as status:
        for k, id in enumerate(trajectories.write(path, ids), 1):
            status.update(f"recorded {id}, {k} of {len(ids)}")
    say(f"written: {path}", stderr=True)


def _compare(recorded: "Recorded", ids: list[str]) -> "list[Difference]":
    differences: list[Difference] = []
    with console(stderr=True).status("comparing") as status:
        for difference in recorded.compare(ids):
            status.update(f"compared {difference.id}, {difference.actions}")
            differences.append(difference)
    return differences


def _show(differences: "list[Difference]", here: dict[str, str], there: dict[str, str]) -> None:
    out = console()
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            out.print(f"{name}: {here.get(name)} here, {there.get(name)} in the file")
    differing = [each for each in differences if each.first is not None]
    if differing:
        numbers = ("first at step", "largest", "at step")
        rows = table("id", "actions", *numbers, right=numbers, fold=("id",))
        for each in differing:
            rows.add_row(
                each.id, each.actions, str(each.first), f"{each.largest:.2g}", str(each.at)
            )
        out.print(rows)
    ids = {each.id for each in differences}
    equal = len(ids - {each.id for each in differing})
    out.print(f"{equal} of {len(ids)} ids are equal to the last bit")
