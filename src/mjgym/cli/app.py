"""The commands, and how their errors are shown."""

import sys

import typer

from mjgym.cli import demo

app = typer.Typer(
    help="MuJoCo control tasks for Gymnasium, single and batched.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)


@app.callback()
def _mjgym() -> None:
    """MuJoCo control tasks for Gymnasium, single and batched."""


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
