"""`mjgym verify`: compare ids with the published environments, live."""

import secrets
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli import shared_options
from mjgym.cli.ids import known_ids
from mjgym.cli.output import console, print_json, refusing, say, table

if TYPE_CHECKING:
    from mjgym_compat.verification import Agreement

MOST_DRAWN = 2**31  # seeds that are drawn are below


def verify(
    ids: shared_options.AnyIds = None,
    seeds: Annotated[int, typer.Option(help="Episodes of each id.", min=1)] = 5,
    steps: Annotated[int, typer.Option(help="Control steps of an episode.", min=1)] = 200,
    seed: Annotated[
        int | None, typer.Option(help="Of the first episode; drawn by default.", min=0)
    ] = None,
    frames: Annotated[bool, typer.Option("--frames", help="Compare images of starts.")] = False,
    json: shared_options.Json = False,
) -> None:
    """Step published environments and these side by side on this MuJoCo.

    Both start where the published one does and get the same random actions. Prints the largest
    difference of model numbers, observation, reward, discount and state, relative to
    max(1, |published|); with --frames, the largest mean difference, of 255, of an image from a
    camera on a body, ours with the published look where there is one. Exits with 1 if one is
    beyond the bound of the fidelity guide.
    """
    from mjgym_compat import published_environments, verification

    chosen = known_ids(ids) if ids else published_environments.ids_of_installed()
    first = secrets.randbelow(MOST_DRAWN) if seed is None else seed
    drawn = range(first, first + seeds)
    found: list[Agreement] = []
    with (
        refusing(published_environments.VerificationError, hint="'[ID]...'"),
        console(stderr=True).status("comparing") as status,
    ):
        for k, id in enumerate(chosen, 1):
            status.update(f"{id}, {k} of {len(chosen)}")
            compare = verification.frames if frames else partial(verification.verify, steps=steps)
            found.append(compare(id, drawn))
    if json:
        print_json([each.as_dict() for each in found])
    else:
        _show(found, first)
    if not all(each.holds for each in found):
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    app.command("verify", rich_help_panel="Tasks")(verify)


def _show(found: "list[Agreement]", first: int) -> None:
    names = [*found[0].differences] if found else []
    grid = table("id", "published", *names, "bound", "", right=(*names, "bound"), fold=("id",))
    for each in found:
        numbers = (f"{x:.1e}" if x else "0" for x in each.differences.values())
        verdict = "holds" if each.holds else "beyond"
        grid.add_row(each.id, each.against, *numbers, f"{each.bound:.0e}", verdict)
    console().print(grid)
    last = first + len(found[0].seeds) - 1 if found else first
    say(f"seeds {first} to {last}; mujoco {found[0].engine}" if found else "nothing to compare")
