"""Commands of training: train, evaluate, ensemble, export, submit, compare."""

import typer

from mjgym_train.cli import compare, ensemble, evaluate, export, submit, train

PANEL = "Training"


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of `mjgym`."""
    app.command("train", rich_help_panel=PANEL)(train.train)
    app.command("evaluate", rich_help_panel=PANEL)(evaluate.evaluate)
    app.command("ensemble", rich_help_panel=PANEL)(ensemble.ensemble)
    app.command("export", rich_help_panel=PANEL)(export.export)
    app.command("submit", rich_help_panel=PANEL)(submit.submit)
    app.command("compare", rich_help_panel=PANEL)(compare.compare)
