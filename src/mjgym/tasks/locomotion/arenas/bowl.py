"""Hilly ground whose hills rise to a ridge around the middle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.hilly_ground import bumpy_bowl
from mjgym.mjcf import Spec, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import Arena, register_arena

POINTS = 201  # points of the height field, each way
BUMPS = 60  # random heights, each way
SMOOTHEST = 0.5  # lowest of them, relative to the bowl's height
LEVEL = 0.1  # half widths of the field around the middle within which the bowl is level


@register_arena("bowl")
@dataclass(frozen=True)
class Bowl(Arena):
    """A bumpy bowl, redrawn for each episode, in an endless plain."""

    varies: ClassVar[tuple[str, ...]] = ("hfield_data",)

    def model(self) -> Spec:
        return load("locomotion/arenas/bowl.xml")

    def ground(self) -> dict[str, str]:
        return {"terrain": "geom", "ground": "geom"}

    def heights(self, rng: Any) -> np.ndarray:
        """The heights of one episode, (POINTS, POINTS), in units of the field's height."""
        return bumpy_bowl(rng, POINTS, BUMPS, SMOOTHEST, LEVEL)

    def draw(self, v: SingleView, rng: Any) -> None:
        v.hfield_data = self.heights(rng).ravel()
