"""The commands, and the display of their errors."""

import io
import os
import sys
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
from mjgym.cli.output import console
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
TASKS, OWN, HERE, READING = "Tasks", "Of your own", "This machine", "Reading"
app.command("list", rich_help_panel=TASKS)(list.list_)
app.command("info", rich_help_panel=TASKS)(info.info)
app.command("demo", rich_help_panel=TASKS)(demo.demo)
app.command("view", rich_help_panel=TASKS)(view.view)
app.command("record", rich_help_panel=TASKS)(record.record)
app.command("teleop", rich_help_panel=TASKS)(teleop.teleop)
app.command("plan", rich_help_panel=TASKS)(plan.plan)
app.command("demos", rich_help_panel=TASKS)(demos.demos)
app.command("replay", rich_help_panel=TASKS)(replay.replay)
app.command("convert", rich_help_panel=TASKS)(convert.convert)
app.command("new", rich_help_panel=OWN)(new.new)
app.command("mocap", rich_help_panel=OWN)(mocap.mocap)
app.add_typer(mjcf.app, name="mjcf", rich_help_panel=OWN)
app.command("check", rich_help_panel=OWN)(check.check)
app.command("bench", rich_help_panel=HERE)(bench.bench)
app.command("doctor", rich_help_panel=HERE)(doctor.doctor)
app.command("fingerprint", rich_help_panel=HERE)(fingerprint.fingerprint)
app.command("guide", rich_help_panel=READING)(guide.guide)
app.command("gallery", rich_help_panel=READING)(gallery.gallery)
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
        try:
            _ = mjgym.Task  # load the package, and the engine with it
        except ImportError as error:
            console(stderr=True).print(str(error), soft_wrap=True)
            raise typer.Exit(1) from None


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # missing characters are shown as "?"
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
