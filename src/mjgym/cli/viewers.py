"""Options and viewer of commands that show a live simulation."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import completions
from mjgym.cli.cameras import camera_of

if TYPE_CHECKING:
    from rich.console import Console

    from mjgym.task.viewpoint import Viewpoint
    from mjgym.viewing import Session, Viewer

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
    """The camera of an option, or the task's viewpoint; see `viewing.place_of`.

    Raises:
        typer.BadParameter: the model has no such camera.
    """
    from mjgym.viewing import opening

    try:
        return opening.place_of("--camera", camera_of(camera), env)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Handle SIGTERM or a closed terminal like Ctrl-C, so that everything is cleaned up.

    Raises:
        SystemExit: on a signal, with the shell's exit code for it.
    """

    def end(number: int, frame: object) -> None:
        del frame
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals arrive only there
        yield
        return
    names = ("SIGTERM", "SIGHUP")  # Windows lacks the second
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
    """Open a window or a page on a session, and print where.

    Raises:
        typer.BadParameter: the page cannot listen there.
        ViewerError: there is no suitable viewer; the message says why.
    """
    from mjgym.viewing import opening, ports

    try:
        return opening.open_viewer(session, camera, web, host, port, out)
    except ports.PortError as error:
        raise typer.BadParameter(str(error)) from None
