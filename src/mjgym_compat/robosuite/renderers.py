"""Renderers, windows and OpenGL contexts under robosuite's names; none opens at import."""

from typing import Any

import numpy as np

from mjgym.loop.states import in_simulation
from mjgym.rendering import backends
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.episodes import FREE, RENDERERS

WINDOW_SIZE = 1280, 800  # pixels, of OpenCV's


def load_renderer_config(renderer: str) -> dict[str, Any]:
    """The configuration of a renderer, which is empty.

    Raises:
        ValueError: there is no such renderer; the message names the nearest.
    """
    if str(renderer).lower() not in RENDERERS:
        raise ValueError(f"renderer: no {renderer!r}{or_else(renderer, RENDERERS)}")
    return {}


def _left_to_subclasses(name: str, words: str) -> Any:
    def method(self: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define {name}()")

    method.__doc__ = f"{words}; subclasses define it."
    return method


class Renderer:
    """Base class of custom renderers.

    Args:
        env: the environment.
        renderer_type: its name.
    """

    def __init__(self, env: Any, renderer_type: str = "mujoco") -> None:
        self.env, self.renderer_type = env, renderer_type

    def __str__(self) -> str:
        return f'<RendererObject renderer_type="{self.renderer_type}">'

    render = _left_to_subclasses("render", "Render the current state")
    close = _left_to_subclasses("close", "Release what it holds")
    reset = _left_to_subclasses("reset", "Begin an episode")
    get_pixel_obs = _left_to_subclasses("get_pixel_obs", "The picture of the current state")


class MjviewerRenderer:
    """An environment's window, which opens at the first `update`.

    Args:
        camera_id: number or name of the camera; None or -1 for the free one.

    Attributes:
        keypress_callback: of `add_keypress_callback`; nothing calls it, as in robosuite.
    """

    def __init__(self, env: Any, camera_id: int | str | None = None) -> None:
        self.env, self.camera_id = env, camera_id
        self.viewer: Any = None
        self.keypress_callback: Any = None

    def set_camera(self, camera_id: int | str | None) -> None:
        """Look through another camera; an open window opens again."""
        self.close()
        self.camera_id = camera_id

    def update(self) -> None:
        """Show the current state.

        Raises:
            RenderingError: there is no display.
        """
        inner = self.env.env
        if self.viewer is None:
            from mjgym.rendering.window import Window

            self.viewer = Window(inner.task, inner.model)
        state = {name: x for name, x in inner.get_state().items() if in_simulation(name)}
        self.viewer.show(state, FREE if self.camera_id is None else self.camera_id)

    render = update

    def reset(self) -> None:
        """Do nothing, as the window shows any state."""

    def close(self) -> None:
        if self.viewer is not None:
            self.viewer.close()
            self.viewer = None

    def add_keypress_callback(self, keypress_callback: Any) -> None:
        self.keypress_callback = keypress_callback


class OpenCVViewer:
    """Pictures of a simulation side by side in a window of OpenCV.

    Attributes:
        keypress_callback: called with the key, or -1, at each `render`.
    """

    def __init__(self, sim: Any) -> None:
        self.sim, (self.width, self.height) = sim, WINDOW_SIZE
        self.keypress_callback: Any = None
        self._window_name, self._has_window = "offscreen render", False
        self.set_camera(0)

    def set_camera(
        self,
        camera_id: Any = None,
        camera_name: Any = None,
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        """Choose cameras, by number or by name, and the size of each picture, pixels.

        Raises:
            ValueError: there are both numbers and names, or neither.
        """
        if (camera_id is None) == (camera_name is None):
            raise ValueError("set_camera: give either camera_id or camera_name")
        self.width, self.height = width or self.width, height or self.height
        asked = camera_id if camera_name is None else camera_name
        each = [asked] if isinstance(asked, int | str) else list(asked)
        self.camera_names = [
            x if isinstance(x, str) else self.sim.model.camera_id2name(x) for x in each
        ]

    def render(self) -> None:
        """Show the current state.

        Raises:
            ImportError: OpenCV is not installed.
        """
        import cv2

        size = {"width": self.width, "height": self.height}
        pictures = [self.sim.render(camera_name=name, **size) for name in self.camera_names]
        cv2.imshow(self._window_name, np.concatenate(pictures, axis=1)[::-1, :, ::-1])
        self._has_window = True
        key = cv2.waitKey(1)
        if self.keypress_callback is not None:
            self.keypress_callback(key)

    def add_keypress_callback(self, keypress_callback: Any) -> None:
        self.keypress_callback = keypress_callback

    def close_window(self) -> None:
        if self._has_window:
            import cv2

            cv2.destroyWindow(self._window_name)
            cv2.waitKey(1)
        self._has_window = False

    def close(self) -> None:
        self.close_window()
        self.sim = None


def _context(name: str, backend: str) -> Any:
    def __init__(self: Any, max_width: int, max_height: int, device_id: int = -1) -> None:
        opened = backends.open_context(backend)
        self.make_current, self.free = opened.make_current, opened.free

    return type(name, (), {"__init__": __init__, "__doc__": f"An OpenGL context of {backend}."})


EGLGLContext = _context("EGLGLContext", "egl")
GLFWGLContext = _context("GLFWGLContext", "glfw")
OSMesaGLContext = _context("OSMesaGLContext", "osmesa")

__path__: list[str] = []  # it answers for modules of others
