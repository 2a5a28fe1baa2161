"""`mjgym view`: watch a task, in a window or in a browser."""

import contextlib
from typing import Annotated

import typer

from mjgym.cli import shared_options, viewers
from mjgym.cli.ids import ID
from mjgym.cli.policy_option import load_policy, make_for


def view(
    context: typer.Context,
    id: Annotated[str, ID],
    policy: shared_options.Policy = None,
    seed: shared_options.Seed = 0,
    camera: shared_options.Camera = None,
    show: shared_options.Show = None,
    groups: shared_options.Groups = None,
    envs: Annotated[
        int,
        typer.Option("--num-envs", min=1, help="Sub-environments; 2 or more need mjviser."),
    ] = 1,
    web: shared_options.Web = None,
    port: shared_options.Port = None,
    host: shared_options.Host = shared_options.LOOPBACK,
    set: shared_options.Settings = None,
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
    drawing = {"camera": shared_options.camera_of(camera)}
    drawing |= shared_options.overlay_of(show, groups)
    policy, env = make_for(policy, context, id, set, envs, drawing)
    place = viewers.place_of(camera, env)
    with viewers.shown(), contextlib.closing(env):
        session = viewing.Session(env, load_policy(policy, env, seed=seed), seed)
        viewers.watch(session, place, web, host, port)
