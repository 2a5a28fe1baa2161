"""Mounts and bases of robots by their names, as models of their own."""

import io
from typing import Any

import mujoco
import numpy as np

from mjgym.robots import Base, bases
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.base import MujocoXMLModel

RADIUS = {
    **dict.fromkeys(("RethinkMount", "RethinkMinimalMount", "OmronMobileBase"), 0.25),
    **dict.fromkeys(("Spot", "SpotFloating"), 0.1),
}
"""Horizontal radius of those that are not empty, m."""


class RobotBaseModel(MujocoXMLModel):
    """A mount or a mobile base; its classes have the published names.

    Args:
        base: of `mjgym.robots.bases`.
    """

    def __init__(self, base: Base, idn: Any = 0) -> None:
        self.base = base
        spec = base.model()
        if not spec.bodies[1:]:
            spec.worldbody.add_body(name="base")  # an empty mount
        super().__init__(io.StringIO(spec.to_xml()), idn)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        self._top: np.ndarray = data.site(base.mount).xpos.copy()

    @property
    def naming_prefix(self) -> str:
        return f"{self.base.prefix}{self.idn}_"

    @property
    def mount(self) -> str:
        return f"{self.naming_prefix}{self.base.mount}"

    @property
    def top_offset(self) -> np.ndarray:
        """From its frame on the floor to the robot's, (3,) m."""
        return self._top

    @property
    def bottom_offset(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def horizontal_radius(self) -> float:
        return RADIUS.get(type(self).__name__, 0.0)


class MountModel(RobotBaseModel):
    """A mount that stands on the floor."""


class MobileBaseModel(RobotBaseModel):
    """A base on wheels."""


class LegBaseModel(RobotBaseModel):
    """A base on legs."""


class NullBaseModel(RobotBaseModel):
    """An empty base."""


_KINDS = {
    "fixed_mount": MountModel,
    "mobilebase": MobileBaseModel,
    "leg": LegBaseModel,
    "nullbase": NullBaseModel,
}


def _base(name: str) -> type[RobotBaseModel]:
    def build(self: RobotBaseModel, idn: Any = 0) -> None:
        RobotBaseModel.__init__(self, base, idn)

    base = bases.find(name)
    return type(name, (_KINDS[base.prefix],), {"__init__": build, "__doc__": f"The {name}."})


BASE_MAPPING = {name: _base(name) for name in bases.names()}
ALL_BASES = BASE_MAPPING.keys()
globals().update(BASE_MAPPING)


def register_base(target_class: type[RobotBaseModel]) -> type[RobotBaseModel]:
    """Register a user-defined base under its class name."""
    BASE_MAPPING[target_class.__name__] = target_class
    return target_class


def robot_base_factory(name: str | None, idn: Any = 0) -> RobotBaseModel:
    """A base by its name; None for none.

    Raises:
        ValueError: there is no such base; the message names the nearest.
    """
    title = name or "NullMount"
    if title not in BASE_MAPPING:
        raise ValueError(f"name: no base {name!r}{or_else(title, BASE_MAPPING)}")
    build: Any = BASE_MAPPING[title]
    made: RobotBaseModel = build(idn=idn)
    return made


__path__: list[str] = []  # it answers for modules of others
