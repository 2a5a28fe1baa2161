"""`mjgym replay`: replay recorded episodes."""

import contextlib
from typing import Annotated, Any

import typer

from mjgym.cli import viewers
from mjgym.cli.convert import NAMES
from mjgym.cli.ids import import_named
from mjgym.cli.output import console


def replay(
    name: Annotated[str, typer.Argument(help=f"A dataset: {NAMES}.")],
    episode: Annotated[int, typer.Option(min=0, help="The first episode to play.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Compare every step bit for bit, without a display.")
    ] = False,
    module: Annotated[
        str | None, typer.Option(help="Registers the dataset's task, if it is your own.")
    ] = None,
    camera: viewers.Camera = None,
    web: viewers.Web = None,
    port: viewers.Port = None,
    host: viewers.Host = viewers.LOOPBACK,
) -> None:
    """Replay recorded episodes in a window or a browser, or check them.

    With --check, exits with 1 if a step differs from the recorded one, or an episode is damaged.
    """
    from mjgym import datasets, viewing
    from mjgym.viewing.recorded import Replay

    if module is not None:
        import_named(module)
    out = console()
    with contextlib.ExitStack() as stack:
        stack.enter_context(viewers.terminable())
        try:
            recorded = datasets.load(name)
            if episode >= recorded.count:
                raise typer.BadParameter(f"{name} has the episodes 0 to {recorded.count - 1}.")
            if recorded.note:
                console(stderr=True).print(recorded.note, soft_wrap=True)
            env = recorded.environment()
            stack.callback(env.close)
            if check:
                return _check(recorded, env, episode, out)
            plain: Any = env.unwrapped
            place = viewers.place_of(camera, plain)
            session = Replay(env, recorded, episode)
            viewer = viewers.open_viewer(session, place, web, host, port, out)
        except (viewing.ViewerError, datasets.DemonstrationError) as error:
            console(stderr=True).print(f"{error}", soft_wrap=True)
            raise typer.Exit(1) from None
        keys = viewing.Keys()
        viewing.watch(session, viewer, keys, viewing.Report(out, keys.active))
    return None


def _check(recorded: Any, env: Any, first: int, out: Any) -> None:
    """Compare all episodes from one on.

    Raises:
        typer.Exit: one differs, or some are missing.
    """
    differs = bool(recorded.note)
    for number in range(first, recorded.count):
        result = recorded.episode(number).check(env)
        written = f", {result.touched} of them from a state that was written" * bool(result.touched)
        line = f"episode {number}: {result.steps} steps, bit for bit{written}"
        if result.differs is not None:
            differs = True
            line = f"episode {number}: step {result.differs} is another than the recorded one"
        out.print(line, soft_wrap=True)
    if differs:
        raise typer.Exit(1)
