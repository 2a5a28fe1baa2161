"""Images of the current states, for `Env` and `VectorEnv`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.envs.options import Options
from mjgym.envs.overlays import Overlay
from mjgym.envs.pixels import known_camera, viewpoint
from mjgym.loop.episode import Episodes
from mjgym.observables import Image


class Cameras:
    """Renders the current states of simulations; the first image opens OpenGL.

    Args:
        episodes: the episodes.
        options: defaults for a call's arguments.
        processes: maximum number of rendering processes, see `mjgym.rendering.Renderer`.

    Attributes:
        default: the default camera: name, index, or a viewpoint.
        overlay: the default visual options.
    """

    def __init__(self, episodes: Episodes, options: Options, processes: int = 1) -> None:
        self._episodes = episodes
        self._options = options
        self._processes = processes
        self._renderer: Any = None
        model = episodes.simulation.model
        self.default = (
            viewpoint(episodes.task, model)
            if options.camera is None
            else known_camera("camera", options.camera, model)
        )
        self.overlay = Overlay.of(options.show, options.groups)

    def take(self, rows: np.ndarray, name: Any = None, **options: Any) -> np.ndarray:
        """Images of some simulations, (len(rows), height, width, ...); see `Env.camera`."""
        return np.stack(self.render(self.shots(rows, name, **options)))

    def shots(
        self,
        rows: np.ndarray,
        name: Any = None,
        *,
        kind: str = "rgb",
        width: int | None = None,
        height: int | None = None,
        show: Any = None,
        groups: Any = None,
        hidden_groups: tuple[int, ...] = (),
    ) -> list[Any]:
        """Copies of everything that images of the current states show, for `render` to draw later.

        Values that a user has written into the model are included. Arguments are those of
        `Env.camera`.
        """
        from mjgym.rendering import Shot  # loads OpenGL

        options, overlay = self._options, self.overlay
        if show is not None or groups is not None:
            overlay = Overlay.of(
                options.show if show is None else show,
                options.groups if groups is None else groups,
            )
        states = self._episodes.simulation.rendered_state(rows)
        rewards, colours = self.rewards(rows), self.colours(rows)
        return [
            Shot(
                {field: values[k] for field, values in states.items()},
                self.default if name is None else name,
                kind=kind,
                width=options.width if width is None else width,
                height=options.height if height is None else height,
                reward=None if rewards is None else float(rewards[k]),
                colours={element: colour[k] for element, colour in colours.items()},
                hidden_groups=hidden_groups,
                overlay=overlay,
            )
            for k in range(len(rows))
        ]

    def render(self, shots: Sequence[Any]) -> list[np.ndarray]:
        """Render the result of `shots`, in parallel if there are many."""
        from mjgym.rendering import Renderer

        if self._renderer is None:
            task, model = self._episodes.task, self._episodes.simulation.model
            quality = self._options.render_quality
            self._renderer = Renderer(task.model, model, quality, self._processes)
        images: list[np.ndarray] = self._renderer.render_all(shots)
        return images

    def draw(self, image: Image, rows: np.ndarray) -> np.ndarray:
        """Images of some simulations for their observations."""
        return self.take(
            rows,
            image.camera,
            kind=image.kind,
            width=image.width,
            height=image.height,
            show=(),
            groups={},
            hidden_groups=image.hidden_groups,
        )

    def show(self, image: Image, mask: Any = None) -> Any:
        """Images of all simulations, or of a mask, for an observation, with leading shape lead."""
        view, n = self._episodes.view, self._episodes.simulation.n
        rows = np.arange(n) if mask is None else np.flatnonzero(view.to_numpy(mask))
        images = drawn = self.draw(image, rows)
        if mask is not None:
            images = np.zeros((n, *drawn.shape[1:]), drawn.dtype)
            images[rows] = drawn
        return images.reshape(*view.lead, *drawn.shape[1:])

    def rewards(self, rows: np.ndarray) -> Any:
        """Rewards that body colours visualize, (len(rows),); None for the model's colours."""
        if not self._options.visualize_reward:
            return None
        episodes = self._episodes
        last = episodes.by_row(episodes.rewards)[rows]
        if not np.isnan(last).any():
            return last
        present = episodes.by_row(episodes.reward())
        return np.where(np.isnan(last), present[rows], last)

    def colours(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        """Colours that show the episodes' states, by element, (len(rows), 4) each."""
        colours = self._episodes.task.colours(self._episodes.view)
        return {name: self._episodes.by_row(colour)[rows] for name, colour in colours.items()}

    def close(self) -> None:
        """Release OpenGL; may be called more than once."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
