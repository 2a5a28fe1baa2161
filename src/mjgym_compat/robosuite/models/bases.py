"""Mounts and bases of robots by their names, as models of their own."""

import io
from typing import Any

import mujoco
import numpy as np

from mjgym.robots import Base, bases
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.base import MujocoXMLModel


class RobotBaseModel(MujocoXMLModel):
    """A mount or a mobile base.

    Args:
        base: of `mjgym.robots.bases`.
    """

    def __init__(self, base: Base, name: str, idn: Any = 0) -> None:
        self.base, self._title = base, name
        spec = base.model()
        if not spec.bodies[1:]:
            spec.worldbody.add_body(name="base")  # an empty mount
        super().__init__(io.StringIO(spec.to_xml()), idn)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        self._top: np.ndarray = data.site(base.mount).xpos.copy()

    @property
    def name(self) -> str:
        return f"{self._title}{self.idn}"

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
        return 0.25


def robot_base_factory(name: str | None, idn: Any = 0) -> RobotBaseModel:
    """A base by its name; None for none.

    Raises:
        ValueError: there is no such base; the message names the nearest.
    """
    title = name or "NullMount"
    if title not in bases.names():
        raise ValueError(f"name: no base {name!r}{or_else(title, bases.names())}")
    return RobotBaseModel(bases.find(title), title, idn)


ALL_BASES = bases.names()
