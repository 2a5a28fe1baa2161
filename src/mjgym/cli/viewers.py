"""Viewer of commands that show a live simulation."""

import contextlib
from typing import TYPE_CHECKING, Any

from mjgym.cli.output import console, facts, refusing
from mjgym.cli.shared_options import camera_of
from mjgym.util.processes import answered

if TYPE_CHECKING:
    from mjgym.task.viewpoint import Viewpoint
    from mjgym.viewing import Session


def place_of(camera: str | None, env: Any) -> "int | Viewpoint":
    """The camera of an option, or the task's viewpoint; see `viewing.place_of`."""
    from mjgym.viewing import opening

    with refusing(ValueError):
        return opening.place_of("--camera", camera_of(camera), env)


def shown() -> contextlib.AbstractContextManager[None]:
    """Context manager: clean up on SIGTERM or a closed terminal as on Ctrl-C."""

    def end(number: int, frame: object) -> None:
        del frame
        raise SystemExit(128 + number)

    return answered(end, "SIGTERM", "SIGHUP")


def watch(
    session: "Session",
    camera: "int | Viewpoint",
    web: bool | None,
    host: str,
    port: int | None,
    controls: dict[str, str] | None = None,
) -> None:
    """Open a window or a page on a session, print where and the controls, and run it."""
    from mjgym import viewing
    from mjgym.viewing import opening, ports

    out = console()
    with refusing(ports.PortError):
        viewer = opening.open_viewer(session, camera, web, host, port, out)
    if controls:
        out.print(facts(controls))
    keys = viewing.Keys()
    viewing.watch(session, viewer, keys, viewing.Report(out, keys.active))
