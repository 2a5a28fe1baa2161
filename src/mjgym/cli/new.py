"""`mjgym new`: write a template of a task."""

import keyword
from pathlib import Path
from typing import Annotated

import typer

from mjgym.cli.output import failing, say
from mjgym.util import atomic
from mjgym.util.packaged import assets

TEMPLATE = "my_task"  # the file; it passes `mjgym check`


def new(
    file: Annotated[Path, typer.Argument(help="The Python file to write.", dir_okay=False)],
) -> None:
    """Write a commented template of a task."""
    name = file.stem
    if file.suffix != ".py" or not name.isidentifier() or keyword.iskeyword(name):
        complaint = f"{file.name}: name it as a Python module, as my_task.py."
    else:
        complaint = f"{file} is there already." if file.exists() else ""
    if complaint:
        raise typer.BadParameter(complaint, param_hint="'FILE'")
    id = f"my/{name}-reach-v0"
    parts = (part for part in name.split("_") if part)
    title = "".join(part[:1].upper() + part[1:] for part in parts) or "Reach"
    template = (assets() / "templates" / f"{TEMPLATE}.py").read_text("utf-8")
    text = template.replace(f"my/{TEMPLATE}-reach-v0", id).replace("MyTaskReach", f"{title}Reach")
    with failing(OSError, prefix="nothing is written: "):
        atomic.write_text(file, text)
    say(f"written: {file}, which registers {id}")
    for command in (f"check {file}", f"view {file}:{id}", f"bench {file}:{id}"):
        say(f"next: mjgym {command}")
