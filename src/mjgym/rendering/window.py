"""A window that shows a running simulation."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import mujoco

from mjgym.envs.overlays import PLAIN, Overlay
from mjgym.mjcf import Spec
from mjgym.rendering import backends
from mjgym.rendering.backends import RenderingError
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.twin import Camera, Twin
from mjgym.task import Task

if TYPE_CHECKING:
    from mjgym.rendering.passive import PassiveViewer


class Window:
    """MuJoCo's viewer on a simulation, in real time; it opens at the first `show`."""

    def __init__(
        self,
        task: Task,
        model: mujoco.MjModel,
        quality: str = "reference",
        overlay: Overlay = PLAIN,
        scene: Callable[[], Spec] | None = None,
    ) -> None:
        self._task = task
        self._scene = scene or task.model
        self._model = model
        self._look = QUALITIES[quality]
        self._overlay = overlay
        self._twin: Twin | None = None
        self._viewer: PassiveViewer | None = None
        self._due = 0.0  # s, time to show the next state

    def show(
        self,
        state: Mapping[str, Any],
        camera: Camera = -1,
        reward: float | None = None,
        colours: Mapping[str, Any] | None = None,
    ) -> None:
        """Show a state, one control timestep after the previous one. Does nothing once closed."""
        if self._viewer is None or self._twin is None:
            self._twin, self._viewer = self._open(state, camera)
        if not self._viewer.handle.is_running():
            return
        with self._viewer.handle.lock():
            self._twin.follow(state, reward, colours, forces=True)
        self._viewer.sync()
        now = time.monotonic()
        time.sleep(max(0.0, self._due - now))
        self._due = max(self._due, now) + self._task.control_timestep

    def _open(self, state: Mapping[str, Any], camera: Camera) -> "tuple[Twin, PassiveViewer]":
        from mjgym.rendering.passive import PassiveViewer

        result = backends.probe("glfw")
        if not result.works:
            raise RenderingError(
                f'render_mode="human" needs a display: {result.reason}\n'
                f"With a display it needs (Debian, Ubuntu): {backends.INSTALL['glfw']}\n"
                'Without one, use render_mode="rgb_array", or mjgym.viewing.launch(env) for a page'
                " in a browser."
            )
        twin = Twin(self._scene, self._model, self._look)
        view = twin.camera(camera)
        twin.follow(state)
        return twin, PassiveViewer(twin, view, self._overlay)

    def close(self) -> None:
        """Close the window; a later `show` opens it again."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = self._twin = None
