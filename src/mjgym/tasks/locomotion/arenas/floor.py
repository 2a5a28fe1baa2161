"""An endless floor."""

from dataclasses import dataclass

import numpy as np

from mjgym.mjcf import Spec, load
from mjgym.tasks.locomotion.arenas.any_arena import Arena, register_arena

CAMERA_HEIGHT = 100.0  # m, of the camera above it
EXTENT = 4.0  # m: the sky is drawn at some 25 times that, behind the camera's view
NEAREST = 0.02  # m, near clipping distance: a rat sees its paws
MARGIN = 1.1  # view of the camera relative to the floor


@register_arena("floor")
@register_arena("large_floor", half_size=10.0)
@dataclass(frozen=True)
class Floor(Arena):
    """A flat floor without end, drawn as a square."""

    half_size: float = 8.0  # m, of the square that is drawn

    def model(self) -> Spec:
        spec = load("locomotion/arenas/floor.xml")
        spec.geom("ground").size[:2] = self.half_size
        angle = 2 * np.arctan2(MARGIN * self.half_size, CAMERA_HEIGHT)
        spec.camera("top_camera").fovy = np.rad2deg(angle)
        spec.stat.extent, spec.visual.map.znear = EXTENT, NEAREST / EXTENT
        return spec
