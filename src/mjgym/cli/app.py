"""The commands, and the display of their errors."""

import io
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import mjgym
from mjgym.cli import (
    bench,
    check,
    convert,
    demo,
    demos,
    doctor,
    fingerprint,
    gallery,
    guide,
    info,
    list,
    mjcf,
    mocap,
    new,
    plan,
    record,
    replay,
    teleop,
    view,
)
from mjgym.cli.output import failing
from mjgym.util import plugins
from mjgym.version import __version__

app = typer.Typer(
    help="MuJoCo control tasks for Gymnasium, single and batched.",
    epilog='Start with "mjgym list" and "mjgym guide"; "mjgym COMMAND --help" explains a command.',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
WITHOUT_ENGINE = ("doctor", "guide", "gallery")
COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Tasks": {
        "list": list.list_,
        "info": info.info,
        "demo": demo.demo,
        "view": view.view,
        "record": record.record,
        "teleop": teleop.teleop,
        "plan": plan.plan,
        "demos": demos.demos,
        "replay": replay.replay,
        "convert": convert.convert,
    },
    "Of your own": {"new": new.new, "mocap": mocap.mocap, "check": check.check},
    "This machine": {
        "bench": bench.bench,
        "doctor": doctor.doctor,
        "fingerprint": fingerprint.fingerprint,
    },
    "Reading": {"guide": guide.guide, "gallery": gallery.gallery},
}
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(mjcf.app, name="mjcf", rich_help_panel="Of your own")
for entry in plugins.declared(plugins.COMMANDS).values():
    entry.load()(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mjgym {__version__}")
        raise typer.Exit()


@app.callback()
def _mjgym(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """MuJoCo control tasks for Gymnasium, single and batched."""
    if context.invoked_subcommand not in WITHOUT_ENGINE and os.environ.get("MUJOCO_GL"):
        with failing(ImportError):
            _ = mjgym.Task  # load the package, and the engine with it


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # missing characters are shown as "?"
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
