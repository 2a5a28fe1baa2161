"""`mjgym submit`: a run into the table of scores, or into the leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from mjgym.cli.output import require, say


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", file_okay=False)],
    table: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the table or leaderboard. Default: the package's.", file_okay=False
        ),
    ] = None,
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard", help="Score the policy and add it to the leaderboard.")
    ] = False,
) -> None:
    """Check a run against the protocol of the table of scores, and add it.

    With --leaderboard, any run on an id of the package is scored again from its weights, on seeds
    drawn now, and added to the leaderboard.

    It must have ended and been scored by `mjgym evaluate`, with the settings, the evaluations and
    the seeds of the protocol, by a committed version of the package. A mismatch is
    reported and nothing is written. "mjgym guide scores" has the protocol.
    """
    require("yaml")
    from mjgym_train import leaderboard as board
    from mjgym_train import protocol, score_table
    from mjgym_train.run import Run

    if leaderboard:
        row, policy = board.scored(Run(run))
        written = board.add(row, policy, table or board.FOLDER)
        say(f"{row.id}: {row.score:.1f} over {board.EPISODES} seeds from {row.first_seed}")
    else:
        entry = protocol.entry_of(Run(run))
        written = score_table.add(entry, table or score_table.FOLDER)
    for path in written:
        say(f"written: {path}")
    say("next: python scripts/update_tables.py")
