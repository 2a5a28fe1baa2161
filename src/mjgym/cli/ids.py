"""Ids as arguments of commands."""

import difflib

import typer

from mjgym import registry


def known_id(value: str) -> str:
    """The id itself, if it is registered; a bare "walker-walk" means "dmc/walker-walk-v0".

    Raises:
        typer.BadParameter: there is no such id; the message names the nearest ones.
    """
    known = registry.ids()
    candidates = [value, f"{value}-v0", f"dmc/{value}", f"dmc/{value}-v0"]
    for candidate in candidates:
        if candidate in known:
            return candidate
    near = difflib.get_close_matches(candidates[-1], known, n=3, cutoff=0.4)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise typer.BadParameter(f"there is no id {value!r}.{hint}")
