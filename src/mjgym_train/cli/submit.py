"""`mjgym submit`: a run into the table of scores."""

from pathlib import Path
from typing import Annotated

import typer

from mjgym.cli.output import failing, require, say


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", file_okay=False)],
    table: Annotated[
        Path | None,
        typer.Option(help="Folder of the table. Default: the package's.", file_okay=False),
    ] = None,
) -> None:
    """Check a run against the protocol of the table of scores, and add it.

    It must have ended and been scored by `mjgym evaluate`, with the settings, the evaluations and
    the seeds of the protocol, by a committed version of the package. What differs is said, and
    nothing is written then. "mjgym guide scores" has the protocol.
    """
    require("yaml")
    from mjgym.policies.run_errors import RunError
    from mjgym_train import protocol, score_table
    from mjgym_train.run import Run

    with failing(RunError, OSError):
        entry = protocol.entry_of(Run(run))
        written = score_table.add(entry, table or score_table.FOLDER)
    for path in written:
        say(f"written: {path}")
    say("next: python scripts/update_tables.py")
