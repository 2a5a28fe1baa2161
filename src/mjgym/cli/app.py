"""The commands, and the display of their errors."""

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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
from mjgym.cli.output import fail, failing, say, sentence
from mjgym.util import plugins
from mjgym.util.bounded import UserError
from mjgym.version import __version__


class _Commands(TyperGroup):
    """Commands that print expected errors (files, memory, invalid input) as one sentence."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (UserError, OSError, MemoryError) as error:
            if getattr(error, "errno", None) == errno.EPIPE:  # nobody reads what is printed
                raise
            fail(sentence(error))


app = typer.Typer(
    cls=_Commands,
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
    if context.invoked_subcommand not in WITHOUT_ENGINE and os.environ.get("MUJOCO_GL"):
        with failing(ImportError):
            _ = mjgym.Task  # load the package, and the engine with it


def _refuse_other_encodings() -> None:
    """Refuse names that the engine and the formats of datasets cannot take."""
    for word in sys.argv[1:]:
        try:
            word.encode()
        except UnicodeEncodeError:
            say(f"{word!r}: this name is not UTF-8; rename the file", stderr=True)
            sys.exit(1)


def main() -> None:
    """Entry point of the console script."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:  # closed: a file that is opened would take its number
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # missing characters are shown as "?"
    try:
        try:
            _refuse_other_encodings()
            app()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # of stdout: its reader has gone, or a disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python complains of it in the end
        if error.errno != errno.EPIPE:
            say(f"the output cannot be written: {error.strerror}", stderr=True)
        sys.exit(1)
