"""A box that notices entities inside it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer, mjcf

_HALF_HEIGHT = 1.0  # m, at which a zone without a height is drawn


class PositionDetector(composer.Entity):
    """Detects registered entities with a geom's centre in an axis-aligned box."""

    def _build(
        self,
        pos: Sequence[float],
        size: Sequence[float],
        inverted: bool = False,
        visible: bool = True,
        rgba: Sequence[float] = (1, 1, 1, 1),
        material: Any = None,
        detected_rgba: Sequence[float] = (0, 1, 0, 0.25),
        retain_substep_detections: bool = False,
        name: str = "position_detector",
    ) -> None:
        self._mjcf_root = mjcf.RootElement(model=name)
        self._inverted, self._retains = inverted, retain_substep_detections
        self._rgba, self._detected_rgba = np.array(rgba, float), np.array(detected_rgba, float)
        self._entities: list[composer.Entity] = []
        self._detected: list[composer.Entity] = []
        group = None if visible else composer.SENSOR_SITES_GROUP
        sites = {
            part: self._mjcf_root.worldbody.add(
                "site", name=f"detection_zone_{part}", type="box", rgba=rgba, group=group
            )
            for part in ("mid", "lower", "upper")
        }
        self.mid_site, self.lower_site, self.upper_site = sites.values()
        self.mid_sensor, self.lower_sensor, self.upper_sensor = (
            self._mjcf_root.sensor.add("framepos", name=part, objtype="site", objname=site)
            for part, site in sites.items()
        )
        self.mid_site.material = material
        self.resize(pos, size)

    def resize(self, pos: Sequence[float], size: Sequence[float]) -> None:
        """Set centre and half lengths, m, before the model is compiled."""
        if len(pos) != len(size) or len(pos) not in (2, 3):
            raise ValueError(
                f"`pos` and `size` should have the same length, 2 or 3: got {len(pos)}, {len(size)}"
            )
        self.mid, self._half = np.array(pos, np.float64), np.array(size, np.float64)
        flat = len(pos) == 2
        self.mid_site.pos = [*pos, 0] if flat else pos
        self.mid_site.size = [*size, _HALF_HEIGHT] if flat else size
        for site, corner in ((self.lower_site, self.lower), (self.upper_site, self.upper)):
            site.pos, site.size = ([*corner, 0] if flat else corner), [0.05, 0.05, 0.05]

    @property
    def lower(self) -> np.ndarray:
        return self.mid - self._half

    @property
    def upper(self) -> np.ndarray:
        return self.mid + self._half

    def set_position(self, physics: Any, pos: Sequence[float]) -> None:
        self.mid[:] = np.asarray(pos)[: self.mid.size]
        for site, place in zip(
            (self.mid_site, self.lower_site, self.upper_site),
            (self.mid, self.lower, self.upper),
            strict=True,
        ):
            moved = np.array(physics.bind(site).pos)
            moved[: place.size] = place
            physics.bind(site).pos = moved

    def set_colors(self, rgba: Sequence[float], detected_rgba: Sequence[float]) -> None:
        self._rgba, self._detected_rgba = np.array(rgba, float), np.array(detected_rgba, float)

    def register_entities(self, *entities: composer.Entity) -> None:
        self._entities += entities

    def deregister_entities(self) -> None:
        self._entities.clear()
        self._detected.clear()

    @property
    def detected_entities(self) -> list[composer.Entity]:
        return list(self._detected)

    @property
    def activated(self) -> bool:
        return bool(self._detected)

    def site_pos(self, physics: Any) -> np.ndarray:
        return np.array(physics.bind(self.mid_sensor).sensordata)

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._detected.clear()
        self._update(physics)

    def before_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._detected.clear()

    def after_substep(self, physics: Any, random_state: np.random.RandomState) -> None:
        if not self._retains:
            self._detected.clear()
        self._update(physics)

    def _update(self, physics: Any) -> None:
        for entity in self._entities:
            places = physics.bind(entity.mjcf_model.find_all("geom")).xpos[:, : self.mid.size]
            inside = (np.abs(places - self.mid) < self._half).all(axis=1).any()
            if inside != self._inverted and entity not in self._detected:
                self._detected.append(entity)
        rgba = self._detected_rgba if self._detected else self._rgba
        site = physics.bind(self.mid_site)
        if not np.array_equal(site.rgba, rgba):  # writing triggers recomputation
            site.rgba = rgba
