"""The sub-environments of a batch beside each other on a page, through mjviser."""

import math
import socket
import time
from typing import Any

import mjviser
import numpy as np
import viser

from mjgym.viewing.session import Command, Session
from mjgym.viewing.watch import ViewerError

REFRESH = 0.2  # s between two texts
FRAME = 1 / 30  # s between two pictures
GAP = 1.1  # between two sub-environments, in sizes of the model
_BUTTONS = (Command.PAUSE, Command.STEP, Command.RESET, Command.NEXT)


class Several:
    """Serves the page.

    Args:
        session: of a batch.
        camera: the page has a free one only.
        listener: a bound socket; it is closed, and its address is used.

    Raises:
        ViewerError: the server cannot be started.
    """

    def __init__(self, session: Session, camera: int, listener: socket.socket) -> None:
        assert session.count is not None
        host, port = listener.getsockname()[:2]
        listener.close()
        self._server = viser.ViserServer(host=host, port=port, label="mjgym", verbose=False)
        if self._server.get_port() != port:
            self._server.stop()
            raise ViewerError(f"somebody else listens on port {port} now; try again")
        model = session.twin.model
        self._scene = mjviser.ViserMujocoScene(self._server, model, num_envs=session.count)
        self._scene.camera_tracking_enabled = False
        columns = math.ceil(math.sqrt(session.count))
        i = np.arange(session.count)
        side = GAP * 2 * model.stat.extent
        self._offsets = np.zeros((session.count, 1, 3))
        self._offsets[:, 0, 0] = side * (i % columns - (columns - 1) / 2)
        self._offsets[:, 0, 1] = side * (i // columns - (columns - 1) / 2)
        self._text = self._server.gui.add_markdown("")
        for command in _BUTTONS:
            button = self._server.gui.add_button(command.value.capitalize())
            button.on_click(lambda _, command=command: session.ask(command))
        self._due = self._text_due = 0.0

    def sync(self, session: Session) -> bool:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + FRAME
            self._draw(session)
        return True

    def _draw(self, session: Session) -> None:
        places, axes = [], []
        for i in range(session.count):
            data = session.follow(i)
            places.append(data.xpos.copy())
            axes.append(data.xmat.reshape(-1, 3, 3).copy())
        self._scene.update_from_arrays(np.array(places) + self._offsets, np.array(axes))

    def close(self) -> None:
        self._server.stop()
