"""Objects of a task, as samplers and `_check_grasp` take them."""

from dataclasses import dataclass, field

import numpy as np

from mjgym.placements import Extent

NO_EXTENT = Extent(0.0, 0.0, 0.0)  # of objects that are not placed


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
        geom_ids: ids of all its geoms.
        naming_prefix: of its elements' names; by default "<name>_".
    """

    name: str
    root_body: str = ""
    contact_geoms: tuple[str, ...] = ()
    visual_geoms: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    class_name: str = ""
    geom_ids: tuple[int, ...] = field(default=(), repr=False)
    naming_prefix: str = ""

    def __post_init__(self) -> None:
        if not self.naming_prefix:
            object.__setattr__(self, "naming_prefix", f"{self.name}_")


@dataclass(frozen=True, eq=False)
class MujocoObject(MujocoModel):
    """An object of a task, with its dimensions for placement.

    Args:
        extent: its dimensions around its frame.
    """

    extent: Extent = NO_EXTENT

    @property
    def horizontal_radius(self) -> float:
        """Radius of a vertical cylinder around its frame that contains it, m."""
        return self.extent.radius

    @property
    def bottom_offset(self) -> np.ndarray:
        """Its lowest point relative to its frame, (3,) m."""
        return np.array([0.0, 0.0, self.extent.bottom])

    @property
    def top_offset(self) -> np.ndarray:
        """Its highest point relative to its frame, (3,) m."""
        return np.array([0.0, 0.0, self.extent.top])

    @property
    def init_quat(self) -> np.ndarray:
        """Its orientation before a sampler rotates it, w, x, y, z."""
        return np.array(self.extent.quat)
