"""Pictures of episodes at present, for `Env` and `VectorEnv`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.envs.options import Options
from mjgym.envs.pixels import known_camera
from mjgym.loop.episode import Episodes
from mjgym.observables import Image


class Cameras:
    """Pictures of the present states of simulations; the first one opens OpenGL.

    Args:
        episodes: that are shown.
        options: of `render()`, for what a call leaves open.
        processes: that may draw, see `mjgym.rendering.Renderer`.

    Attributes:
        default: name or index of the camera that a call without a name takes.
    """

    def __init__(self, episodes: Episodes, options: Options, processes: int = 1) -> None:
        self._episodes = episodes
        self._options = options
        self._processes = processes
        self._renderer: Any = None
        self.default = known_camera("camera", options.camera, episodes.simulation.model)

    def take(
        self,
        rows: np.ndarray,
        name: str | int | None = None,
        *,
        kind: str = "rgb",
        width: int | None = None,
        height: int | None = None,
        hidden_groups: tuple[int, ...] = (),
    ) -> np.ndarray:
        """Pictures of some simulations, (len(rows), height, width, ...); see `Env.camera`."""
        options = self._options
        from mjgym.rendering import Renderer, Shot  # not before something is to be drawn

        if self._renderer is None:
            task, model = self._episodes.task, self._episodes.simulation.model
            self._renderer = Renderer(task.model, model, options.render_quality, self._processes)
        states = self._episodes.simulation.rendered_state(rows)
        rewards, colours = self.rewards(rows), self.colours(rows)
        shots = [
            Shot(
                {field: values[k] for field, values in states.items()},
                self.default if name is None else name,
                kind=kind,
                width=options.width if width is None else width,
                height=options.height if height is None else height,
                reward=None if rewards is None else float(rewards[k]),
                colours={element: colour[k] for element, colour in colours.items()},
                hidden_groups=hidden_groups,
            )
            for k in range(len(rows))
        ]
        return np.stack(self._renderer.render_all(shots))

    def draw(self, image: Image, rows: np.ndarray) -> np.ndarray:
        """Pictures of some simulations as an observation asks for them."""
        return self.take(
            rows,
            image.camera,
            kind=image.kind,
            width=image.width,
            height=image.height,
            hidden_groups=image.hidden_groups,
        )

    def rewards(self, rows: np.ndarray) -> Any:
        """Rewards that the colours of bodies show, (len(rows),); None for the model's own."""
        if not self._options.visualize_reward:
            return None
        episodes = self._episodes
        last = episodes.by_row(episodes.rewards)[rows]
        if not np.isnan(last).any():
            return last
        present = episodes.by_row(episodes.task.reward(episodes.task.terms(episodes.view)))
        return np.where(np.isnan(last), present[rows], last)

    def colours(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        """The colours that show the episodes' states, by element, (len(rows), 4) each."""
        colours = self._episodes.task.colours(self._episodes.view)
        return {name: self._episodes.by_row(colour)[rows] for name, colour in colours.items()}

    def close(self) -> None:
        """Let go of OpenGL; more than once is fine."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
