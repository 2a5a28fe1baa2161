"""Grippers by their names, as models of their own."""

import io
from collections import UserDict
from dataclasses import dataclass
from typing import Any

import mujoco
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
TRIES = 20  # random actions that a law is compared at
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


@dataclass(frozen=True)
class RegisteredHand(Hand):
    """A user-defined gripper as a hand of the tasks."""

    xml: str = ""

    def model(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(self.xml)


def _unnamed(target_class: type[GripperModel]) -> GripperModel:
    """A gripper whose elements have the names of its file."""
    made: Any = type(target_class.__name__, (target_class,), {"naming_prefix": ""})
    gripper: GripperModel = made()
    return gripper


def hand_of(target_class: type[GripperModel]) -> Hand:
    """A user-defined gripper as a hand of the tasks.

    Raises:
        ValueError: its `format_action` is no gripper law; see `law_of`.
    """
    gripper = _unnamed(target_class)
    pads = gripper._important_geoms
    return RegisteredHand(
        joints=tuple(gripper._joints),
        actuators=tuple(gripper._actuators),
        tool_centre=gripper._important_sites["grip_site"],
        fingers=tuple(tuple(pads.get(f"{side}_fingerpad", ())) for side in ("left", "right")),
        start=tuple(np.asarray(gripper.init_qpos, float).tolist()),
        law=law_of(gripper),
        xml=gripper.get_xml(),
    )


def law_of(gripper: GripperModel) -> GripperLaw:
    """The law of a gripper's `format_action`, found by calling it.

    Raises:
        ValueError: it neither increments commands, by signs of an action or in proportion to it,
            nor returns the action.
    """
    count, dof = len(gripper._actuators), gripper.dof
    if not count:
        return GripperLaw()

    def after(command: Any, action: np.ndarray) -> np.ndarray:
        gripper.current_action = np.array(command, float)
        return np.array(gripper.format_action(action.copy()), float)

    starts, axes = np.resize(gripper.current_action, count), np.eye(dof) / 2
    steps = np.array([after(np.zeros(count), axis) for axis in axes])
    whole = np.array([after(np.zeros(count), 2 * axis) for axis in axes])
    again = np.array([after(step, axis) for step, axis in zip(steps, axes, strict=True)])
    inputs = abs(whole).argmax(axis=0)
    moved = whole[inputs, np.arange(count)]
    speed = float(abs(moved).max()) or 1.0
    law = GripperLaw(
        directions=tuple((moved / speed).tolist()),
        inputs=tuple(inputs.tolist()),
        speed=speed,
        proportional=not np.allclose(steps, whole),
        starts=tuple(starts.tolist()),
        incremental=not np.allclose(steps, again),
    )
    rng = np.random.default_rng(0)
    tried = [(rng.uniform(-1, 1, count), rng.uniform(-1, 1, dof)) for _ in range(TRIES)]
    if law.dimensions != dof or any(
        not np.allclose(after(command, action), law.next(command, action))
        for command, action in tried
    ):
        raise ValueError(
            f"{type(gripper).__name__}.format_action: expected increments of its actuators'"
            " commands, by the signs of an action or in proportion to it, or the action itself"
        )
    return law


class _Grippers(UserDict[str | None, type[GripperModel]]):
    """Classes of grippers by name; new ones are hands of the tasks, too."""

    def __setitem__(self, name: str | None, target_class: type[GripperModel]) -> None:
        hand = hand_of(target_class)
        if name is None or (name in hands.names() and hands.find(name) != hand):
            raise ValueError(f"there is another gripper {name!r} already: take another name")
        hands.add(name, hand)
        super().__setitem__(name, target_class)


GRIPPER_MAPPING = _Grippers()
GRIPPER_MAPPING.data.update({None if name == NONE else name: _gripper(name) for name in NAMES})
ALL_GRIPPERS = GRIPPER_MAPPING.keys()


def gripper_factory(name: str | None, idn: Any = 0) -> GripperModel:
    """A gripper by its name; None for a bare flange.

    Raises:
        ValueError: there is no such gripper; the message names the nearest.
    """
    if name not in GRIPPER_MAPPING:
        known = [n for n in GRIPPER_MAPPING if n is not None]
        raise ValueError(f"name: no gripper {name!r}{or_else(str(name), known)}")
    build: Any = GRIPPER_MAPPING[name]
    made: GripperModel = build(idn=idn)
    return made


def register_gripper(target_class: type[GripperModel]) -> type[GripperModel]:
    """Register a user-defined gripper by the name of its class, which tasks then take.

    Raises:
        ValueError: there is a gripper of that name here, or its `format_action` is no law of
            `mjgym.controllers.gripper`.
    """
    GRIPPER_MAPPING[target_class.__name__] = target_class
    return target_class


globals().update({cls.__name__: cls for cls in GRIPPER_MAPPING.values()})
globals().update({f"{name}Base": _gripper(name, raw=True) for name in BASES})


__path__: list[str] = []  # it answers for modules of others
