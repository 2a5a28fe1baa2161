"""An endless floor."""

import math
from typing import Any

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.locomotion.arenas import looks
from mjgym_compat.dm_control.locomotion.models import read

EXTENT = 4.0  # m: the sky is drawn at some 25 times that, behind the camera's view
NEAREST = 0.02  # m, near clipping distance: a rat sees its paws


class Floor(looks.Place):
    """A flat floor without end, drawn as a rectangle."""

    def _build(
        self,
        size: Any = (8, 8),
        reflectance: float = 0.2,
        aesthetic: str = "default",
        name: str = "floor",
        top_camera_y_padding_factor: float = 1.1,
        top_camera_distance: float = 100,
    ) -> None:
        self._mjcf_root = read("arenas/floor.xml", name)
        self.size = size
        self._top_camera_y_padding_factor = top_camera_y_padding_factor
        self._ground_geom = self._mjcf_root.find("geom", "ground")
        self._ground_geom.size = (*size, 0.25)
        self._mjcf_root.find("material", "chequers").reflectance = reflectance
        self._ground_geom.material = (
            looks.ground(self._mjcf_root, aesthetic) or self._ground_geom.material
        )
        self._top_camera = self._mjcf_root.find("camera", "top_camera")
        self._top_camera.pos = (0, 0, top_camera_distance)
        seen = math.atan2(top_camera_y_padding_factor * size[1], top_camera_distance)
        self._top_camera.fovy = 2 * math.degrees(seen)
        self._mjcf_root.statistic.extent = EXTENT
        self._mjcf_root.visual.map.znear = NEAREST / EXTENT

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return (self._ground_geom,)
