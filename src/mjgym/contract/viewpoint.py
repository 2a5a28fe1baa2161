"""A free camera that shows a task to people, without being one of the model's."""

from dataclasses import dataclass
from math import radians, tan

import mujoco
import numpy as np

from mjgym.util.suggestions import or_else


@dataclass(frozen=True)
class Viewpoint:
    """A free camera, which may keep bodies in view wherever they go.

    Args:
        azimuth: of the view, degrees; 90 looks along y, 180 against x.
        elevation: of the view, degrees; negative from above.
        distance: m, from the point that is looked at; what the bodies are apart comes on top.
        lookat: m, the point that is looked at; with bodies, as seen from their middle.
        bodies: names of those that stay in view; the first matters most to viewers that follow one.
    """

    azimuth: float = 90.0
    elevation: float = -20.0
    distance: float = 3.0
    lookat: tuple[float, float, float] = (0.0, 0.0, 0.0)
    bodies: tuple[str, ...] = ()

    def check(self, argument: str, model: mujoco.MjModel) -> None:
        """Refuse a body that the model does not have.

        Raises:
            ValueError: of that; the message begins with the argument and names the nearest ones.
        """
        names = [model.body(i).name for i in range(model.nbody)]
        for body in self.bodies:
            if body not in names:
                raise ValueError(f"{argument}: there is no body {body!r}{or_else(body, names)}")

    def aim(self, view: mujoco.MjvCamera, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Place a camera.

        Args:
            view: is written.
            model: of the simulation.
            data: its state.
        """
        self.check("camera", model)
        middle, radius = np.zeros(3), 0.0
        if self.bodies:
            places = np.stack([data.body(body).xpos for body in self.bodies])
            low, high = places.min(axis=0), places.max(axis=0)
            middle, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
        view.type = mujoco.mjtCamera.mjCAMERA_FREE.value
        view.fixedcamid = view.trackbodyid = -1
        view.azimuth, view.elevation = self.azimuth, self.elevation
        view.lookat[:] = middle + self.lookat
        view.distance = self.distance + radius / tan(radians(model.vis.global_.fovy) / 2)
