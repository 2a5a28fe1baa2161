"""Renderers under robosuite's names."""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.episodes import RENDERERS


def load_renderer_config(renderer: str) -> dict[str, Any]:
    """The configuration of a renderer, which is empty.

    Raises:
        ValueError: there is no such renderer; the message names the nearest.
    """
    if str(renderer).lower() not in RENDERERS:
        raise ValueError(f"renderer: no {renderer!r}{or_else(renderer, RENDERERS)}")
    return {}


class Renderer:
    """Base class of renderers of one's own.

    Args:
        env: the environment.
        renderer_type: its name.
    """

    def __init__(self, env: Any, renderer_type: str = "mujoco") -> None:
        self.env, self.renderer_type = env, renderer_type

    def __str__(self) -> str:
        return f'<RendererObject renderer_type="{self.renderer_type}">'

    def render(self, **kwargs: Any) -> None:
        """Render the current state."""
        raise NotImplementedError(f"{type(self).__name__} must define render()")

    def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError(f"{type(self).__name__} must define close()")

    def reset(self) -> None:
        """Begin an episode."""
        raise NotImplementedError(f"{type(self).__name__} must define reset()")

    def get_pixel_obs(self) -> Any:
        """The picture of the current state."""
        raise NotImplementedError(f"{type(self).__name__} must define get_pixel_obs()")


__path__: list[str] = []  # it answers for modules of others
