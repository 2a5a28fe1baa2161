"""Options and viewer of the commands that show a live simulation."""

import contextlib
import importlib
import importlib.util
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import completions
from mjgym.cli.cameras import camera_of

if TYPE_CHECKING:
    from rich.console import Console

    from mjgym.contract.viewpoint import Viewpoint
    from mjgym.viewing import Session, Viewer
    from mjgym.viewing.batch import BatchViewer
    from mjgym.viewing.web import Web as Page

LOOPBACK = "127.0.0.1"

Camera = Annotated[
    str | None,
    typer.Option(
        help="Initial camera: name, index or -1 (free). Default: the task's viewpoint.",
        autocompletion=completions.cameras,
    ),
]
Web = Annotated[
    bool | None,
    typer.Option(
        "--web/--native",
        help="Browser page or native window. Default: a window if there is a display.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=1, max=65535, help="Port of the page; default: the first free one from 8080."),
]
Host = Annotated[
    str,
    typer.Option(help="Network interface of the page; any but loopback is reachable by others."),
]


def place_of(camera: str | None, env: Any) -> "int | Viewpoint":
    """The camera that an option names, else the task's viewpoint: an index, -1 is the free one.

    Raises:
        typer.BadParameter: the model has none of that name.
    """
    from mjgym.envs import pixels

    task, model = env.unwrapped.task, env.unwrapped.model
    asked = camera_of(camera)
    try:
        return pixels.indexed(
            pixels.viewpoint(task, model)
            if asked is None
            else pixels.known_camera("--camera", asked, model),
            model,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """End the command on SIGTERM or a closed terminal as on Ctrl-C: everything is cleaned up.

    Raises:
        SystemExit: a signal has come; the exit code is the shell's for it.
    """

    def end(number: int, frame: object) -> None:
        del frame
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return
    names = ("SIGTERM", "SIGHUP")  # the second is not on Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_viewer(
    session: "Session",
    camera: "int | Viewpoint",
    web: bool | None,
    host: str,
    port: int | None,
    out: "Console",
) -> "Viewer":
    """Open a window or a page on a session, and say where.

    Raises:
        typer.BadParameter: the page cannot listen there.
        ViewerError: there is no viewer for this; the message says why.
    """
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
        raise ViewerError('--num-envs needs mjviser: pip install "mjgym[viewer]"')
    try:
        module = importlib.import_module(f"mjgym.viewing.{'batch' if batch else 'web'}")
    except ImportError as error:
        raise ViewerError(f"there is no web viewer for this system: {error}") from error
    try:
        listener = ports.listen(host, port)
    except ViewerError as error:
        raise typer.BadParameter(str(error)) from None
    tunnel = ports.tunnel(listener)
    viewer: Page | BatchViewer = (module.BatchViewer if batch else module.Web)(
        session, camera, listener
    )
    out.print(f"open {viewer.url}", soft_wrap=True)
    if ports.is_loopback(host):
        out.print(f"from another machine, first: {tunnel}", soft_wrap=True)
    else:
        warning = "others can reach this port, and the address is sent unencrypted"
        out.print(f"{warning}: who has it can watch and steer", style="yellow", soft_wrap=True)
    out.print("Ctrl-C ends it", style="dim")
    return viewer
