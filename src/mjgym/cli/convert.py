"""`mjgym convert`: write a dataset of episodes in another format."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli import shared_options
from mjgym.cli.ids import import_named
from mjgym.cli.output import fail, progress, say
from mjgym.util.plurals import counted

if TYPE_CHECKING:
    from mjgym.datasets import Writer
    from mjgym.datasets.recorder import Recorder

NAMES = 'a path that ends with ".hdf5" (robomimic), "lerobot:NAME", or Minari\'s "NAME-v0"'


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=f"A dataset: {NAMES}.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new dataset, likewise.")],
    module: shared_options.Module = None,
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
    recorded = datasets.load(source)
    about = {name: getattr(recorded.about, name) for name in ("algorithm", "description")}
    with (
        closing(recorded.environment()) as env,
        closing(datasets.create(target, env, **about)) as writer,
        progress() as bar,
    ):
        for number in bar.track(range(recorded.count), description="episodes"):
            writer.add(recorded.episode(number))
    say(kept(writer))
    if recorded.note:
        fail(recorded.note)


def kept(recorded: "Writer | Recorder") -> str:
    """A line on the episodes that a command has written, and where."""
    if not recorded.kept:
        return "nothing is recorded"
    episodes, name = counted(recorded.kept, "episode"), recorded.name
    return f"{episodes} in {recorded.place.absolute()}; play them again: mjgym replay {name}"
