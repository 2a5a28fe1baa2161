"""A free camera that shows a task to people, without being one of the model's."""

from dataclasses import dataclass


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
