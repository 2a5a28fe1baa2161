"""`mjgym convert`: write a dataset of episodes in another format."""

from contextlib import closing
from typing import Annotated

import typer

from mjgym.cli import options
from mjgym.cli.ids import import_named
from mjgym.cli.output import fail, failing, progress, say

NAMES = 'a path that ends with ".hdf5" (robomimic), "lerobot:NAME", or a name of Minari\'s'


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=f"A dataset: {NAMES}.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new dataset, likewise.")],
    module: options.Module = None,
) -> None:
    """Write a dataset of episodes in another format: Minari, robomimic's HDF5 or LeRobot's.

    Demonstrations of robosuite's and of robomimic's become this package's: each action is played
    from its recorded state.

    Nothing is overwritten. With Ctrl-C, the new dataset has the episodes that were whole. Exits
    with 1 where episodes of the old one are missing or damaged; the new one has the others.
    """
    from mjgym import datasets

    if module is not None:
        import_named(module)
    with failing(datasets.DemonstrationError):
        recorded = datasets.load(source)
        about = {name: getattr(recorded.about, name) for name in ("algorithm", "description")}
        with (
            closing(recorded.environment()) as env,
            closing(datasets.create(target, env, **about)) as writer,
            progress() as bar,
        ):
            for number in bar.track(range(recorded.count), description="episodes"):
                writer.add(recorded.episode(number))
    say(kept(writer.kept, target))
    if recorded.note:
        fail(recorded.note)


def kept(count: int, dataset: str) -> str:
    """A line on the episodes that a command has written."""
    if not count:
        return "nothing is recorded"
    episodes = f"{count} episode{'s' * (count != 1)}"
    return f"{episodes} in {dataset!r}; play them again: mjgym replay {dataset}"
