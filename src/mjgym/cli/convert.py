"""`mjgym convert`: write a dataset of episodes in another format."""

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli.ids import import_named
from mjgym.cli.output import console

if TYPE_CHECKING:
    from mjgym.datasets import Demonstrations

NAMES = 'a path that ends with ".hdf5" (robomimic), "lerobot:NAME", or a name of Minari\'s'


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=f"A dataset: {NAMES}.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new dataset, likewise.")],
    module: Annotated[
        str | None, typer.Option(help="Registers the dataset's task, if it is your own.")
    ] = None,
) -> None:
    """Write a dataset of episodes in another format: Minari, robomimic's HDF5 or LeRobot's.

    Demonstrations of robosuite's and of robomimic's become this package's: each action is played
    from its recorded state.

    Nothing is overwritten. With Ctrl-C, the new dataset has the episodes that were whole. Exits
    with 1 if episodes of the old one are missing or damaged; the new one has the rest.
    """
    from mjgym import datasets

    if module is not None:
        import_named(module)
    shown = console(stderr=True)
    try:
        recorded = datasets.load(source)
        count = _convert(recorded, target)
    except datasets.DemonstrationError as error:
        shown.print(f"{error}", soft_wrap=True)
        raise typer.Exit(1) from None
    again = f"play them again: mjgym replay {target}"
    console().print(f"{count} episode{'s' * (count != 1)} in {target!r}; {again}", soft_wrap=True)
    if recorded.note:
        shown.print(recorded.note, soft_wrap=True)
        raise typer.Exit(1)


def _convert(recorded: "Demonstrations", target: str) -> int:
    """Write all episodes; returns their number."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from mjgym import datasets

    shown = console(stderr=True)
    about = recorded.about
    with contextlib.ExitStack() as stack:
        env = recorded.environment()
        stack.callback(env.close)
        writer = datasets.create(
            target, env, algorithm=about.algorithm, description=about.description
        )
        stack.callback(writer.close)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        bar = Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)
        with bar:
            for number in bar.track(range(recorded.count), description="episodes"):
                writer.add(recorded.episode(number))
    return writer.kept
