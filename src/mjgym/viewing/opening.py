"""The choice of a viewer, and a viewer for programs: `mjgym.viewing.launch`."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mjgym.envs import pixels
from mjgym.task import Task
from mjgym.task.viewpoint import Viewpoint
from mjgym.util.packaged import install
from mjgym.viewing import ports
from mjgym.viewing.session import Session
from mjgym.viewing.terminal import Keys, Report
from mjgym.viewing.watch import Viewer, ViewerError, watch

if TYPE_CHECKING:
    from rich.console import Console

LOOPBACK = "127.0.0.1"


def launch(
    env: Any,
    policy: Callable[[Any], Any] | None = None,
    *,
    seed: int = 0,
    camera: str | int | Viewpoint | None = None,
    web: bool | None = None,
    host: str = LOOPBACK,
    port: int | None = None,
) -> None:
    """Watch a policy act in an environment, until the viewer is closed or q or Ctrl-C is pressed.

    It shows a window where there is a display, else a page, whose address it prints. What the
    environment's `show` and `groups` name is shown too.

    Args:
        env: made by `gymnasium.make`, or by `make_vec`, whose sub-environments a page shows beside
            each other (with mjviser).
        policy: from observation to action; None for actions of zeros.
        seed: of the first episode; each further one adds 1.
        camera: at the opening: name, index, -1 for the free camera, a viewpoint, or None for the
            task's viewpoint.
        web: a page (True), a window (False), or a window if there is a display.
        host: network interface of the page.
        port: of the page; None for the first free one from 8080.

    Raises:
        ViewerError: there is no viewer for this; the message says why.
        TypeError: the environment is not of this package.
        ValueError: there is no such camera.
    """
    from rich.console import Console

    def rest(observation: Any) -> Any:
        return np.zeros(env.action_space.shape, env.action_space.dtype)

    if not isinstance(getattr(getattr(env, "unwrapped", None), "task", None), Task):
        raise TypeError(f"launch: {env!r} is no environment of mjgym")
    out = Console()
    place = place_of("camera", camera, env)
    session = Session(env, policy or rest, seed)
    keys = Keys()
    try:
        viewer = open_viewer(session, place, web, host, port, out)
        watch(session, viewer, keys, Report(out, keys.active))
    except KeyboardInterrupt:
        out.print()


def place_of(argument: str, camera: Any, env: Any) -> int | Viewpoint:
    """A camera as viewers take it: an index, -1 for the free one, or a viewpoint."""
    task, model = env.unwrapped.task, env.unwrapped.model
    if camera is None:
        camera = pixels.viewpoint(task, model)
    elif isinstance(camera, Viewpoint):
        camera = pixels.known_bodies(argument, camera, model)
    else:
        camera = pixels.known_camera(argument, camera, model)
    return int(model.camera(camera).id) if isinstance(camera, str) else camera


def open_viewer(
    session: Session,
    camera: int | Viewpoint,
    web: bool | None,
    host: str,
    port: int | None,
    out: "Console",
) -> Viewer:
    """Open a window or a page on a session, and say where."""
    batch = session.count is not None
    if batch and web is False:
        raise ViewerError("several sub-environments are shown on a page, not in a window")
    if not web and not batch:
        from mjgym.viewing.native import Native, hindrance

        reason = hindrance()
        if not reason:
            return Native(session, camera)
        if web is False:
            raise ViewerError(f"no window can be opened: {reason}\nWithout one, use --web.")
    if batch and importlib.util.find_spec("mjviser") is None:
        raise ViewerError(f"--num-envs needs mjviser: {install('viewer')}")
    try:
        module: Any = importlib.import_module(f"mjgym.viewing.{'batch' if batch else 'web'}")
    except ImportError as error:
        raise ViewerError(f"there is no web viewer for this system: {error}") from error
    listener = ports.listen(host, port)
    tunnel = ports.tunnel(listener)
    session.await_page()
    viewer: Any = (module.BatchViewer if batch else module.Web)(session, camera, listener)
    out.print(f"open {viewer.url}", soft_wrap=True)
    if ports.is_loopback(host):
        out.print(f"from another machine, first: {tunnel}", soft_wrap=True)
    else:
        warning = "others can reach this port, and the address is sent unencrypted"
        out.print(f"{warning}: who has it can watch and steer", style="yellow", soft_wrap=True)
    out.print("paused until the page is open; Ctrl-C ends it", style="dim")
    shown: Viewer = viewer
    return shown
