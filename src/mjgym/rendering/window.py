"""A window that shows a running simulation."""

import atexit
import threading
import time
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.overlays import PLAIN, Overlay
from mjgym.rendering import backends
from mjgym.rendering.backends import RenderingError
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.twin import Camera, Twin
from mjgym.task import Task

CLOSE_TIMEOUT = 5.0  # s, to close the window
_VIEWER_THREAD = "(_launch_internal)"  # Python's name for the viewer's thread


class Window:
    """MuJoCo's viewer on a simulation, in real time; it opens at the first `show`.

    Args:
        task: that is simulated.
        model: the simulation's MjModel; later changes to it show.
        quality: one of `QUALITIES`.
        overlay: drawn in addition to shapes when the window opens.
    """

    def __init__(
        self,
        task: Task,
        model: mujoco.MjModel,
        quality: str = "reference",
        overlay: Overlay = PLAIN,
    ) -> None:
        self._task = task
        self._model = model
        self._look = QUALITIES[quality]
        self._overlay = overlay
        self._twin: Twin | None = None
        self._viewer: Any = None
        self._threads: list[threading.Thread] = []
        self._terrain = np.empty(0)
        self._due = 0.0  # s, time to show the next state

    def show(
        self,
        state: Mapping[str, Any],
        camera: Camera = -1,
        reward: float | None = None,
        colours: Mapping[str, Any] | None = None,
    ) -> None:
        """Show a state, one control timestep after the previous one. Does nothing once closed.

        Args:
            state: of a simulation, a row of `Simulation.rendered_state`.
            camera: when the window opens: a name, an index, or -1 for the free camera.
            reward: shown in the colours of the bodies; None for the model's colours.
            colours: of some elements, as `Task.colours` gives them for one simulation.

        Raises:
            RenderingError: there is no display to open a window on.
            ValueError: there is no such camera.
        """
        if self._viewer is None:
            self._open(state, camera)
        assert self._twin is not None
        if not self._viewer.is_running():
            return
        with self._viewer.lock():
            self._twin.follow(state, reward, colours, forces=True)
        if not np.array_equal(self._terrain, self._twin.model.hfield_data):
            self._terrain = self._twin.model.hfield_data.copy()
            for i in range(self._twin.model.nhfield):
                self._viewer.update_hfield(i)
        self._viewer.sync()
        now = time.monotonic()
        time.sleep(max(0.0, self._due - now))
        self._due = max(self._due, now) + self._task.control_timestep

    def _open(self, state: Mapping[str, Any], camera: Camera) -> None:
        import mujoco.viewer

        result = backends.probe("glfw")
        if not result.works:
            raise RenderingError(
                f'render_mode="human" needs a display: {result.reason}\n'
                f"With a display it needs (Debian, Ubuntu): {backends.INSTALL['glfw']}\n"
                'Without one, use render_mode="rgb_array", or mjgym.viewing.launch(env) for a page'
                " in a browser."
            )
        twin = Twin(self._task.model, self._model, self._look)
        view = twin.camera(camera)
        twin.follow(state)
        self._terrain = twin.model.hfield_data.copy()
        before = threading.enumerate()
        viewer = mujoco.viewer.launch_passive(
            twin.model, twin.data, show_left_ui=False, show_right_ui=False
        )
        self._threads = [
            t for t in threading.enumerate() if t not in before and t.name.endswith(_VIEWER_THREAD)
        ]
        atexit.register(self.close)
        with viewer.lock():
            self._overlay.write(viewer.opt)
            for field in ("type", "fixedcamid", "lookat", "distance", "azimuth", "elevation"):
                setattr(viewer.cam, field, getattr(view, field))
        self._twin, self._viewer = twin, viewer

    def close(self) -> None:
        """Close the window; a later `show` opens it again."""
        if self._viewer is not None:
            atexit.unregister(self.close)
            self._viewer.close()
            for thread in self._threads:  # it crashes if the process exits first
                thread.join(CLOSE_TIMEOUT)
            self._viewer = self._twin = None
