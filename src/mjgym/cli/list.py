"""`mjgym list`: list the ids."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import output, shared_options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

GAP = 2  # between columns of a table
SUMMARY = 16  # minimum columns of a truncated summary


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
    json: shared_options.Json = False,
) -> None:
    """List ids with sizes, time limits, tags and summaries, truncated to the terminal's width.

    In a pipe, and with --json, nothing is cut.
    """
    from mjgym import registry

    with output.refusing(ValueError):
        ids = registry.ids(namespace=namespace, tag=tag)
    words = " ".join(text or []).lower().split()
    with output.reserved(json):
        rows = [row(id) for id in ids if _matches(id, words)]
    if json:
        output.print_json(rows)
        return
    _show(rows)
    if not rows:
        from mjgym.cli.ids import nearest_ids

        asked = " ".join(text or [])
        output.console(stderr=True).print(f"no id matches {asked!r}.{nearest_ids(asked)}")


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
    out = output.console()
    numbers, whole = _table(rows), _table(rows, ("summary", "tags"))
    room = out.width - output.width_of(out, numbers)
    if output.is_piped():
        out.width = max(out.width, output.width_of(out, whole))
    if not rows or out.width < output.NARROW or room < 0:
        _show_blocks(out, rows)
    elif output.fits(out, whole):
        out.print(whole)
    else:
        out.print(_table(rows, ("summary",), room - GAP) if room > SUMMARY else numbers)
    output.console(stderr=True).print(f"ids: {len(rows)}", style="dim")


def _table(
    rows: list[dict[str, Any]], words: tuple[str, ...] = (), most: int | None = None
) -> "Table":
    numbers = ("obs", "act", "steps", "dt, s")
    lines = output.table("id", *numbers, *words, right=numbers)
    lines.columns[0].no_wrap = True  # ids are copied by users
    for r in rows:
        steps = "no limit" if r["steps"] is None else str(r["steps"])
        cells = [str(r["observation"]), str(r["action"]), steps, f"{r['control_timestep']:g}"]
        texts = {"summary": r["summary"], "tags": " ".join(r["tags"])}
        lines.add_row(r["id"], *cells, *(_cut(texts[word], most) for word in words))
    return lines


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[: most - 3].rstrip()}..."


def _show_blocks(out: "Console", rows: list[dict[str, Any]]) -> None:
    from rich.padding import Padding

    for r in rows:
        steps = "no limit" if r["steps"] is None else f"{r['steps']} steps"
        sizes = f"observation {r['observation']}, action {r['action']}, {steps}"
        out.print(r["id"], style="bold", soft_wrap=True)
        out.print(Padding(f"{sizes}, control {r['control_timestep']:g} s", (0, 0, 0, 2)))
        out.print(Padding(r["summary"], (0, 0, 0, 2)))
