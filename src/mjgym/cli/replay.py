"""`mjgym replay`: replay recorded episodes."""

import contextlib
from typing import Annotated, Any

import typer

from mjgym.cli import shared_options, viewers
from mjgym.cli.convert import NAMES
from mjgym.cli.ids import import_named
from mjgym.cli.output import say


def replay(
    name: Annotated[str, typer.Argument(help=f"A dataset: {NAMES}.")],
    episode: Annotated[int, typer.Option(min=0, help="The first episode to play.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Compare every step bit for bit, without a display.")
    ] = False,
    module: shared_options.Module = None,
    camera: shared_options.Camera = None,
    web: shared_options.Web = None,
    port: shared_options.Port = None,
    host: shared_options.Host = shared_options.LOOPBACK,
) -> None:
    """Replay recorded episodes in a window or a browser, or check them.

    With --check, exits with 1 if a step differs from the recorded one, or an episode is damaged.
    """
    from mjgym import datasets
    from mjgym.viewing.recorded import Replay

    if module is not None:
        import_named(module)
    with viewers.shown():
        recorded = datasets.load(name)
        if recorded.note:
            say(recorded.note, stderr=True)
        if not recorded.count:
            raise typer.BadParameter(f"{name} has no whole episode.")
        if episode >= recorded.count:
            raise typer.BadParameter(f"{name} has the episodes 0 to {recorded.count - 1}.")
        with contextlib.closing(recorded.environment()) as env:
            if check:
                _check(recorded, env, episode)
                return
            place = viewers.place_of(camera, env)
            viewers.watch(Replay(env, recorded, episode), place, web, host, port)


def _check(recorded: Any, env: Any, first: int) -> None:
    differs = bool(recorded.note)
    for number in range(first, recorded.count):
        result = recorded.episode(number).check(env)
        written = f", {result.touched} of them from a state that was written" * bool(result.touched)
        line = f"episode {number}: {result.steps} steps, bit for bit{written}"
        if result.differs is not None:
            differs = True
            line = f"episode {number}: step {result.differs} is another than the recorded one"
        say(line)
    if differs:
        raise typer.Exit(1)
