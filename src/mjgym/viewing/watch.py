"""The loop that drives a viewer: keys, steps, frames and report, in turn."""

import time
from typing import Protocol

from mjgym.util.bounded import UserError
from mjgym.viewing.session import Session
from mjgym.viewing.terminal import Keys, Report


class ViewerError(UserError, RuntimeError):
    """A viewer cannot be opened here; the message says why and what to do."""


def title_of(session: Session) -> str:
    spec = session.env.spec
    return "mjgym" if spec is None else str(spec.id)


class Viewer(Protocol):
    """A display of a session."""

    def sync(self, session: Session) -> bool:
        """Show the current state and apply the user's input; False once closed."""
        ...

    def close(self) -> None:
        """Close it; more than once is fine."""
        ...


def watch(session: Session, viewer: Viewer, keys: Keys, report: Report) -> None:
    """Run until the user quits or closes the viewer; the viewer is closed in any case."""
    try:
        with keys, report:
            while not session.over:
                keys.pass_on(session)
                session.advance()
                if not viewer.sync(session):
                    break
                report.show(session.progress)
                time.sleep(session.rest())
    finally:
        viewer.close()
