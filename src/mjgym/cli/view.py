"""`mjgym view`: watch a task, in a window or in a browser."""

import contextlib
from typing import Annotated, Any

import typer

from mjgym.cli import completions, fields, viewers
from mjgym.cli.cameras import Groups, Show, camera_of, overlay_of
from mjgym.cli.ids import ID
from mjgym.cli.output import console
from mjgym.cli.policies import DEFAULT, HELP, PolicyError, chosen, load_policy, of_teams


def view(
    context: typer.Context,
    id: Annotated[str, ID],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help=HELP,
            show_default=DEFAULT,
            autocompletion=completions.policies,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first episode; each further episode adds 1.")
    ] = 0,
    camera: viewers.Camera = None,
    show: Show = None,
    groups: Groups = None,
    envs: Annotated[
        int,
        typer.Option("--num-envs", min=1, help="Sub-environments; 2 or more need mjviser."),
    ] = 1,
    web: viewers.Web = None,
    port: viewers.Port = None,
    host: viewers.Host = viewers.LOOPBACK,
    set: fields.Settings = None,
) -> None:
    """Watch a task in real time while a policy acts, in a window or a browser.

    Keys in the terminal: space pauses, s steps once, r resets, n starts the next seed, q quits. The
    page of --num-envs takes all but q, that of one environment has buttons and MuJoCo's own keys. A
    page is paused until it is opened.

    To push a body, double-click it, then drag with Ctrl and the right mouse button.
    """
    from mjgym import viewing

    if envs > 1 and web is False:
        raise typer.BadParameter("--num-envs shows a page; leave out --native.")
    policy, opponent = of_teams(chosen(policy, context))
    drawing = overlay_of(show, groups)
    env, place = _make(id, set or [], envs, camera, {**opponent, **drawing})
    out = console()
    try:
        with viewers.terminable(), contextlib.closing(env):
            session = viewing.Session(env, load_policy(policy, env, seed=seed), seed)
            viewer = viewers.open_viewer(session, place, web, host, port, out)
            keys = viewing.Keys()
            viewing.watch(session, viewer, keys, viewing.Report(out, keys.active))
    except (viewing.ViewerError, PolicyError) as error:
        console(stderr=True).print(f"{error}", soft_wrap=True)
        raise typer.Exit(1) from None


def _make(
    id: str, settings: list[str], envs: int, camera: str | None, further: dict[str, Any]
) -> tuple[Any, Any]:
    """The environment, or a batch of two or more sub-environments; and the camera."""
    import gymnasium

    from mjgym.registry import one_agent

    kwargs = fields.arguments(id, settings)
    for name in ("camera", "num_envs", "show", "groups"):
        if name in kwargs:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"{name} has an option of its own: --{option}.")
    kwargs |= further
    if camera is not None:
        kwargs["camera"] = camera_of(camera)
    try:
        if envs == 1:
            env: Any = gymnasium.make(id, **kwargs)
        else:
            env = gymnasium.make_vec(id, num_envs=envs, **one_agent(id, **kwargs))
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{id}: {fields.refusal(error)}") from None
    return env, viewers.place_of(camera, env)
