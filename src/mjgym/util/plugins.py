"""Entry points by which other packages extend this one.

    group             an entry point is
    mjgym.commands    a function that adds commands to the Typer app of `mjgym`
    mjgym.formats     a reader of datasets in another project's format
    mjgym.laws        "hooks": a function that compiles the hooks of a task, or says why it cannot

A package declares them in its pyproject.toml. They are looked up when first needed, never by
`import mjgym`.
"""

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

COMMANDS, FORMATS, LAWS = "mjgym.commands", "mjgym.formats", "mjgym.laws"


@functools.cache
def declared(group: str) -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """The object of an entry point."""
    entry = declared(group).get(name)
    if entry is None:
        raise LookupError(f"no installed package offers {name!r} ({group})")
    return entry.load()
