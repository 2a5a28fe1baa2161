"""Objects of a task, as samplers and `_check_grasp` take them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class MujocoModel:
    """Elements of a compiled model that belong together.

    Args:
        name: e.g. "cube".
        root_body: the body that carries all others.
        contact_geoms: collision geoms.
        visual_geoms: visual geoms.
        joints: its joints.
        sites: its sites.
        class_name: class in `camera_segmentations="class"`.
    """

    name: str
    root_body: str = ""
    contact_geoms: tuple[str, ...] = ()
    visual_geoms: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    class_name: str = ""
    geom_ids: tuple[int, ...] = field(default=(), repr=False)

    @property
    def naming_prefix(self) -> str:
        """Prefix of its elements' names."""
        return f"{self.name}_"


@dataclass(frozen=True, eq=False)
class MujocoObject(MujocoModel):
    """An object of a task, with its dimensions for placement.

    Args:
        horizontal_radius: radius of a vertical cylinder around its frame that contains it, m.
        bottom_offset: its lowest point relative to its frame, (3,) m.
        top_offset: its highest point relative to its frame, (3,) m.
        init_quat: its orientation before a sampler rotates it, w, x, y, z.
        clearance: minimum radius of the circle that must not overlap another object's, m.
    """

    horizontal_radius: float = 0.0
    bottom_offset: Any = (0.0, 0.0, 0.0)
    top_offset: Any = (0.0, 0.0, 0.0)
    init_quat: Any = field(default_factory=lambda: np.array(_UPRIGHT))
    clearance: float = 0.0

    @property
    def clear_radius(self) -> float:
        """Radius of the circle that must not overlap another object's, m."""
        return max(self.horizontal_radius, self.clearance)

    @classmethod
    def with_extent(cls, extent: Any, **fields: Any) -> "MujocoObject":
        """An object with the `radius`, `bottom`, `top`, `quat` and `clearance` of an extent."""
        return cls(
            horizontal_radius=extent.radius,
            bottom_offset=np.array([0.0, 0.0, extent.bottom]),
            top_offset=np.array([0.0, 0.0, extent.top]),
            init_quat=np.array(extent.quat),
            clearance=extent.clearance,
            **fields,
        )
