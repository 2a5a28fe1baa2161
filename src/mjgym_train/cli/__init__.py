"""Commands of training: train, evaluate, ensemble, export, sim2sim, submit, compare."""

import typer

from mjgym_train.cli import compare, ensemble, evaluate, export, sim2sim, submit, train


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of `mjgym`."""
    for command in (
        train.train,
        evaluate.evaluate,
        ensemble.ensemble,
        export.export,
        sim2sim.sim2sim,
        submit.submit,
        compare.compare,
    ):
        app.command(command.__name__, rich_help_panel="Training")(command)
