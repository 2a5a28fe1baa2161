"""A free camera for rendering a task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewpoint:
    """A free camera that can keep bodies in view."""

    azimuth: float = 90.0  # degrees; 90 looks along y, 180 against x
    elevation: float = -20.0  # degrees; negative from above
    distance: float = 3.0  # m from the point looked at; the extent of the bodies is added
    lookat: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m; relative to the middle of the bodies
    bodies: tuple[str, ...] = ()  # to keep in view; viewers that follow one take the first
