"""`mjgym view`: watch a task, in a window or in a browser."""

import contextlib
import importlib
import importlib.util
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import fields
from mjgym.cli.ids import ID
from mjgym.cli.output import console
from mjgym.cli.policies import OF_TEAMS, PolicyError, load_policy, of_teams

if TYPE_CHECKING:
    from rich.console import Console

    from mjgym.viewing import Session, Viewer
    from mjgym.viewing.several import Several
    from mjgym.viewing.web import Web


def view(
    id: Annotated[str, ID],
    policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help='"random", "zero", or "module:function" from observation to action.' + OF_TEAMS,
        ),
    ] = "random",
    seed: Annotated[
        int, typer.Option(min=0, help="Of the first start; each further one has the next.")
    ] = 0,
    camera: Annotated[
        str, typer.Option(help="At the opening: name or index; -1 is the free camera.")
    ] = "0",
    envs: Annotated[
        int, typer.Option(min=1, help="Sub-environments; from 2 on a batch, shown by mjviser.")
    ] = 1,
    web: Annotated[
        bool | None,
        typer.Option(
            "--web/--native", help="A page or a window. Default: a window if there is a display."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Of the page; default: the first free one from 8080."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The interface of the page; others may reach what is not loopback.")
    ] = "127.0.0.1",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An argument of the task; repeatable."),
    ] = None,
) -> None:
    """Watch a task in real time while a policy acts, in a window or in a browser.

    Keys, in the terminal: space pauses, s makes one step, r resets, n takes the next seed, q quits.

    Drag a body with Ctrl and the right mouse button to push it: double-click it first.
    """
    from mjgym import viewing

    if envs > 1 and web is False:
        raise typer.BadParameter("--envs shows a page; leave out --native.")
    policy, opponent = of_teams(policy)
    env, place = _make(id, set or [], envs, camera, opponent)
    out = console()
    try:
        with contextlib.closing(env):
            session = viewing.Session(env, load_policy(policy, env, seed=seed), seed)
            viewer = _open(session, place, web, host, port, out)
            keys = viewing.Keys()
            viewing.watch(session, viewer, keys, viewing.Report(out, keys.active))
    except (viewing.ViewerError, PolicyError) as error:
        console(stderr=True).print(f"{error}", soft_wrap=True)
        raise typer.Exit(1) from None


def _make(
    id: str, settings: list[str], envs: int, camera: str, opponent: dict[str, str]
) -> tuple[Any, int]:
    """The environment, or the batch from two sub-environments on; and the index of the camera."""
    import gymnasium

    from mjgym.registry import one_agent

    kwargs = {**fields.arguments(id, settings), **opponent}
    for name, option in {"camera": "camera", "num_envs": "envs"}.items():
        if name in kwargs:
            raise typer.BadParameter(f"{name} has an option of its own: --{option}.")
    kwargs["camera"] = int(camera) if camera.lstrip("-").isdigit() else camera
    try:
        if envs == 1:
            env: Any = gymnasium.make(id, **kwargs)
        else:
            env = gymnasium.make_vec(id, num_envs=envs, **one_agent(id, **kwargs))
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{id}: {fields.refusal(error)}") from None
    place, model = kwargs["camera"], env.unwrapped.model
    if isinstance(place, str):
        return env, model.camera(place).id
    return env, place if model.ncam else -1


def _open(
    session: "Session", camera: int, web: bool | None, host: str, port: int | None, out: "Console"
) -> "Viewer":
    from mjgym.viewing import ViewerError, ports

    batch = session.count is not None
    if not web and not batch:
        from mjgym.viewing.native import Native, hindrance

        reason = hindrance()
        if not reason:
            return Native(session, camera)
        if web is False:
            raise ViewerError(f"no window can be opened: {reason}\nWithout one, use --web.")
    if batch and importlib.util.find_spec("mjviser") is None:
        raise ViewerError('--envs needs mjviser: pip install "mjgym[viewer]"')
    try:
        module = importlib.import_module(f"mjgym.viewing.{'several' if batch else 'web'}")
    except ImportError as error:
        raise ViewerError(f"there is no web viewer for this system: {error}") from error
    try:
        listener = ports.listen(host, port)
    except ViewerError as error:
        raise typer.BadParameter(str(error)) from None
    tunnel = ports.tunnel(listener)
    viewer: Web | Several = (module.Several if batch else module.Web)(session, camera, listener)
    out.print(f"open {viewer.url}", soft_wrap=True)
    if ports.is_loopback(host):
        out.print(f"from another machine, first: {tunnel}", soft_wrap=True)
    else:
        warning = "others can reach this port, and the address is sent unencrypted"
        out.print(f"{warning}: who has it can watch and steer", style="yellow", soft_wrap=True)
    out.print("Ctrl-C ends it", style="dim")
    return viewer
