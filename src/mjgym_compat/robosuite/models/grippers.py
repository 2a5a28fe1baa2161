"""Grippers by their names, as models of their own."""

import io
from typing import Any

import numpy as np

from mjgym.controllers.gripper import GripperLaw
from mjgym.robots import Hand, hands
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.base import MujocoXMLModel
from mjgym_compat.robosuite.models.gripper_tester import GripperTester

__all__ = [
    "ALL_GRIPPERS",
    "GRIPPER_MAPPING",
    "GripperModel",
    "GripperTester",
    "gripper_factory",
    "register_gripper",
]

NONE = "none"  # name of the bare flange
BASES = (  # that also have a class whose action is one number per actuator
    *("JacoThreeFingerGripper", "PandaGripper", "RethinkGripper", "Robotiq140Gripper"),
    *("Robotiq85Gripper", "RobotiqThreeFingerGripper", "XArm7Gripper"),
)
GRASP = {-1: (-1.5, -1.5, -1.5, -1.5, -3.0, 3.0), 1: (1.5, 1.5, 1.5, 1.5, 3.0, 3.0)}
"""Actions that open and close the hands of `HANDS`."""
HANDS = ("Fourier", "Inspire")  # beginnings of names


class GripperModel(MujocoXMLModel):
    """A gripper.

    Args:
        idn: in the names of its elements, e.g. "0_right".
        hand: the hand of `mjgym.robots.hands`, if it is one.

    Attributes:
        current_action: the commands of its actuators, within -1 and 1.
    """

    raw = False  # whether its action is one number per actuator

    def __init__(self, fname: Any, idn: Any = 0, hand: Hand | None = None) -> None:
        self.hand = hand
        super().__init__(fname, idn)
        self.current_action = np.zeros(len(self._actuators))

    @property
    def naming_prefix(self) -> str:
        return f"gripper{self.idn}_"

    @property
    def _law(self) -> GripperLaw | None:
        return self.hand.law if self.hand and not self.raw else None

    @property
    def dof(self) -> int:
        """Number of action dimensions."""
        law = self._law
        return law.dimensions if law else len(self._actuators)

    @property
    def speed(self) -> float:
        """Speed of the fingers, half strokes per control step."""
        law = self._law
        return law.speed if law else 0.0

    @property
    def init_qpos(self) -> np.ndarray:
        """Initial joint positions, m or rad."""
        start = self.hand.start if self.hand else ()
        return np.array(start or [0.0] * len(self._joints))

    def format_action(self, action: Any) -> np.ndarray:
        """Commands of its actuators after an action, within -1 and 1."""
        law = self._law
        if law is None:
            return np.asarray(action, float)
        if not law.directions:
            return np.zeros(0)
        self.current_action = law.next(self.current_action, np.asarray(action, float))
        return self.current_action

    @property
    def _important_sites(self) -> dict[str, str]:
        return {"grip_site": self.hand.tool_centre if self.hand else "grip_site"}

    @property
    def _important_geoms(self) -> dict[str, list[str]]:
        pads: tuple[tuple[str, ...], ...] = (self.hand.fingers if self.hand else ()) or ((),)
        sides = {"left": list(pads[0]), "right": list(pads[-1])}
        groups = {
            f"{side}_{part}": sides[side] for side in sides for part in ("finger", "fingerpad")
        }
        corners = [name for name in self._names["contact_geoms"] if "corner" in name]
        return groups | ({"corners": corners} if corners else {})

    @property
    def _important_sensors(self) -> dict[str, str]:
        return {name: name for name in ("force_ee", "torque_ee")}

    @property
    def top_offset(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def bottom_offset(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def horizontal_radius(self) -> float:
        return 0.0


def _gripper(name: str, raw: bool = False) -> type[GripperModel]:
    def build(self: GripperModel, idn: Any = 0) -> None:
        hand = hands.find(name)
        GripperModel.__init__(self, io.StringIO(hand.model().to_xml()), idn, hand)

    title = "NullGripper" if name == NONE else f"{name}Base" if raw else name
    own: dict[str, Any] = {"__init__": build, "__doc__": f"The {title}.", "raw": raw}
    if name.startswith(HANDS):
        own["grasp_qpos"] = {sign: np.array(qpos) for sign, qpos in GRASP.items()}
    return type(title, (GripperModel,), own)


NAMES = tuple(name for name in hands.names() if hands.find(name).law is not None)
GRIPPER_MAPPING: dict[str | None, type[GripperModel]] = {
    None if name == NONE else name: _gripper(name) for name in NAMES
}
ALL_GRIPPERS = GRIPPER_MAPPING.keys()


def gripper_factory(name: str | None, idn: Any = 0) -> GripperModel:
    """A gripper by its name; None for a bare flange.

    Raises:
        ValueError: there is no such gripper; the message names the nearest.
    """
    if name not in GRIPPER_MAPPING:
        raise ValueError(f"name: no gripper {name!r}{or_else(str(name), NAMES)}")
    build: Any = GRIPPER_MAPPING[name]
    made: GripperModel = build(idn=idn)
    return made


def register_gripper(target_class: type[GripperModel]) -> type[GripperModel]:
    """Register a user-defined gripper by the name of its class."""
    GRIPPER_MAPPING[target_class.__name__] = target_class
    return target_class


globals().update({cls.__name__: cls for cls in GRIPPER_MAPPING.values()})
globals().update({f"{name}Base": _gripper(name, raw=True) for name in BASES})


__path__: list[str] = []  # it answers for modules of others
