"""Images of the current states, for `Env` and `VectorEnv`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.envs.options import Options
from mjgym.envs.overlays import Overlay
from mjgym.envs.pixels import known_camera, viewpoint
from mjgym.loop.bound_task import BoundTask
from mjgym.mjcf import Spec, published_look
from mjgym.observables import Image
from mjgym.task import Task


def require_published_look(task: Task) -> None:
    """Raise unless a task has a published look, and its files are installed."""
    if not task.has_published_look:
        raise ValueError(
            f'look: {type(task).__name__} has no "published" look besides its own; dog and rat have'
        )
    published_look.folder()


class Cameras:
    """Renders the current states of simulations; the first image opens OpenGL.

    Attributes:
        default: the default camera: name, index, or a viewpoint.
    """

    def __init__(self, bound: BoundTask, options: Options, processes: int = 1) -> None:
        self._task, self._simulation = bound.task, bound.simulation
        self._options = options
        self._processes = processes
        self._renderer: Any = None
        if options.look == "published":
            require_published_look(self._task)
        model = self._simulation.model
        self.default = (
            viewpoint(self._task, model)
            if options.camera is None
            else known_camera("camera", options.camera, model)
        )
        self.overlay = Overlay.from_words(options.show, options.groups)

    def shots(
        self,
        rows: np.ndarray,
        name: Any = None,
        rewards: np.ndarray | None = None,
        *,
        kind: str = "rgb",
        width: int | None = None,
        height: int | None = None,
        show: Any = None,
        groups: Any = None,
        hidden_groups: tuple[int, ...] = (),
    ) -> list[Any]:
        """Copies of everything that images of the current states show, for `render` to draw later.

        Values that a user has written into the model are included. `rewards`, (len(rows),), are
        those that body colours show; other arguments are those of `Env.camera`.
        """
        from mjgym.rendering import Shot  # loads OpenGL

        options, overlay = self._options, self.overlay
        if show is not None or groups is not None:
            overlay = Overlay.from_words(
                options.show if show is None else show,
                options.groups if groups is None else groups,
            )
        states, colours = self._simulation.rendered_state(rows), self.colours(rows)
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

    def scene(self) -> Spec:
        """The model of images, with its textures and, unless they must be fast, its skins."""
        from mjgym.rendering import dressed

        if self._options.render_quality == "fast" and self._options.look == "own":
            return self._task.model()
        return dressed(self._task, self._options.look)

    def render(self, shots: Sequence[Any]) -> list[np.ndarray]:
        """Render the result of `shots`, in parallel if there are many."""
        from mjgym.rendering import Renderer

        if self._renderer is None:
            model, quality = self._simulation.model, self._options.render_quality
            self._renderer = Renderer(self.scene, model, quality, self._processes)
        images: list[np.ndarray] = self._renderer.render_all(shots)
        return images

    def draw(self, image: Image, rows: np.ndarray, rewards: np.ndarray | None) -> np.ndarray:
        """Images of some simulations for their observations, (len(rows), height, width, ...)."""
        shots = self.shots(
            rows,
            image.camera,
            rewards,
            kind=image.kind,
            width=image.width,
            height=image.height,
            show=(),
            groups={},
            hidden_groups=image.hidden_groups,
        )
        return np.stack(self.render(shots))

    def show(self, image: Image, rewards: np.ndarray | None, mask: Any = None) -> Any:
        """Images of all simulations, or of a mask, for an observation, with leading shape lead."""
        view, n = self._simulation.view, self._simulation.n
        rows = np.arange(n) if mask is None else np.flatnonzero(view.to_numpy(mask))
        images = drawn = self.draw(image, rows, None if rewards is None else rewards[rows])
        if mask is not None:
            images = np.zeros((n, *drawn.shape[1:]), drawn.dtype)
            images[rows] = drawn
        return images.reshape(*view.lead, *drawn.shape[1:])

    def colours(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        """Colours that show the episodes' states, by element, (len(rows), 4) each."""
        view = self._simulation.view
        return {name: view.by_row(c)[rows] for name, c in self._task.colours(view).items()}

    def arrows(self) -> list[np.ndarray]:
        """The task's arrows in the first simulation, (6,) each."""
        view = self._simulation.view
        return [view.by_row(arrow)[0] for arrow in self._task.arrows(view).values()]

    def close(self) -> None:
        """Release OpenGL; may be called more than once."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
