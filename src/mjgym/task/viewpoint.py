"""A free camera for rendering a task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewpoint:
    """A free camera that can keep bodies in view.

    Args:
        azimuth: degrees; 90 looks along y, 180 against x.
        elevation: degrees; negative from above.
        distance: m from the point that is looked at; the extent of the bodies is added.
        lookat: point that is looked at, m; relative to the bodies' middle if there are bodies.
        bodies: names of the bodies to keep in view; viewers that follow one take the first.
    """

    azimuth: float = 90.0
    elevation: float = -20.0
    distance: float = 3.0
    lookat: tuple[float, float, float] = (0.0, 0.0, 0.0)
    bodies: tuple[str, ...] = ()
