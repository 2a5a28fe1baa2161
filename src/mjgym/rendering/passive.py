"""MuJoCo's viewer in a thread of its own, on a textured twin."""

import atexit
import threading
from collections.abc import Callable

import mujoco
import mujoco.viewer
import numpy as np

from mjgym.envs.overlays import Overlay
from mjgym.rendering.twin import Twin

CLOSE_TIMEOUT = 5.0  # s, to close the window
_VIEWER_THREAD = "(_launch_internal)"  # Python's name for the viewer's thread


class PassiveViewer:
    """An open window; RuntimeError if none can be opened."""

    def __init__(
        self,
        twin: Twin,
        view: mujoco.MjvCamera,
        overlay: Overlay,
        press: Callable[[int], None] | None = None,
    ) -> None:
        self._model = twin.model
        self._terrain = twin.model.hfield_data.copy()
        before = threading.enumerate()
        self.handle = mujoco.viewer.launch_passive(
            twin.model, twin.data, key_callback=press, show_left_ui=False, show_right_ui=False
        )
        self._threads = [
            t for t in threading.enumerate() if t not in before and t.name.endswith(_VIEWER_THREAD)
        ]
        atexit.register(self.close)
        with self.handle.lock():
            overlay.write(self.handle.opt)
            for name in ("type", "fixedcamid", "lookat", "distance", "azimuth", "elevation"):
                setattr(self.handle.cam, name, getattr(view, name))

    def sync(self) -> None:
        """Show the twin's current state."""
        if not np.array_equal(self._terrain, self._model.hfield_data):
            self._terrain = self._model.hfield_data.copy()
            for i in range(self._model.nhfield):
                self.handle.update_hfield(i)
        self.handle.sync()

    def close(self) -> None:
        """Close the window; more than once is fine."""
        atexit.unregister(self.close)
        self.handle.close()
        for thread in self._threads:  # it crashes if the process exits first
            thread.join(CLOSE_TIMEOUT)
