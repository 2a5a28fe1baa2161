"""`mjgym list`: list the ids."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli.output import NARROW, console, fits, print_json, reserved, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 110  # columns, from which on there is room for tags and summary


def list_(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Words to find in id, tags or summary."),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Only ids of this namespace.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="Only ids with this tag; repeat to require several."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List ids with sizes, time limits, tags and summaries."""
    from mjgym import registry

    try:
        ids = registry.ids(namespace=namespace, tag=tag)
    except ValueError as error:
        raise typer.BadParameter(f"{error}") from None
    words = " ".join(text or []).lower().split()
    with reserved(json):
        rows = [row(id) for id in ids if _matches(id, words)]
    if json:
        print_json(rows)
        return
    _show(rows)
    if not rows:
        from mjgym.cli.ids import nearest_ids

        asked = " ".join(text or [])
        console(stderr=True).print(f"no id matches {asked!r}.{nearest_ids(asked)}")


def _matches(id: str, words: list[str]) -> bool:
    from mjgym import registry

    registered = registry.registration(id)
    text = " ".join([id, *registered.tags, registered.summary]).lower()
    return all(word in text for word in words)


def row(id: str) -> dict[str, Any]:
    """The row of an id in the list."""
    import gymnasium

    from mjgym import registry

    env: Any = gymnasium.make(id)
    registered = registry.registration(id)
    return {
        "id": id,
        "observation": gymnasium.spaces.flatdim(env.observation_space),
        "action": gymnasium.spaces.flatdim(env.action_space),
        "steps": env.spec.max_episode_steps,
        "control_timestep": env.unwrapped.control_timestep,
        "tags": sorted(registered.tags),
        "summary": registered.summary,
    }


def _show(rows: list[dict[str, Any]]) -> None:
    out = console()
    wide = out.width >= WIDE
    made = _table(rows, wide)
    # With the summary, which folds, there is room in any case.
    if rows and out.width >= NARROW and (wide or fits(out, made)):
        out.print(made)
    else:
        _show_blocks(out, rows)
    console(stderr=True).print(f"ids: {len(rows)}", style="dim")


def _table(rows: list[dict[str, Any]], wide: bool) -> "Table":
    numbers = ("obs", "act", "steps", "control, s")
    words = ("tags", "summary") if wide else ()
    made = table("id", *numbers, *words, right=numbers, fold=("summary",))
    made.columns[0].no_wrap = True  # an id is copied
    for r in rows:
        steps = "no limit" if r["steps"] is None else str(r["steps"])
        cells = [str(r["observation"]), str(r["action"]), steps, f"{r['control_timestep']:g}"]
        if wide:
            cells += [" ".join(r["tags"]), r["summary"]]
        made.add_row(r["id"], *cells)
    return made


def _show_blocks(out: "Console", rows: list[dict[str, Any]]) -> None:
    """An id to a line, however narrow, and what there is to say about it below."""
    from rich.padding import Padding

    for r in rows:
        steps = "no limit" if r["steps"] is None else f"{r['steps']} steps"
        sizes = f"observation {r['observation']}, action {r['action']}, {steps}"
        out.print(r["id"], style="bold", soft_wrap=True)
        out.print(Padding(f"{sizes}, control {r['control_timestep']:g} s", (0, 0, 0, 2)))
        out.print(Padding(r["summary"], (0, 0, 0, 2)))
