"""Hilly ground that rises to a ridge around the middle."""

from typing import Any

import numpy as np

from mjgym.tasks.locomotion.arenas import find_arena
from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.locomotion.arenas import looks
from mjgym_compat.dm_control.locomotion.models import read

PLAIN = (0.2, 0.3, 0.4, 1.0)


class Bowl(looks.Place):
    """A bumpy bowl, redrawn for each episode, in an endless plain."""

    def _build(self, size: Any = (10, 10), aesthetic: str = "default", name: str = "bowl") -> None:
        self._mjcf_root = read("arenas/bowl.xml", name)
        self._hfield = self._mjcf_root.find("hfield", "terrain")
        self._grounds = tuple(self._mjcf_root.find("geom", n) for n in ("terrain", "ground"))
        self._grounds[1].size = (*size, 0.5)
        if looks.ground(self._mjcf_root, aesthetic) is None:
            for geom in self._grounds:
                geom.set_attributes(material=None, rgba=PLAIN)
        self._heights = np.zeros(0)

    @property
    def ground_geoms(self) -> tuple[mjcf.Element, ...]:
        return self._grounds

    def regenerate(self, random_state: np.random.RandomState) -> None:
        bowl: Any = find_arena("bowl")
        self._heights = bowl.heights(random_state).ravel()

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self.regenerate(random_state)
        row = physics.bind(self._hfield).element_id
        start = int(physics.model.hfield_adr[row])
        physics.model.hfield_data[start : start + len(self._heights)] = self._heights
