"""Interfaces of arms, hands and bases, and lookup by name."""

from dataclasses import dataclass

import mujoco

from mjgym import mjcf
from mjgym.controllers.controller import Controller
from mjgym.controllers.gripper import GripperLaw
from mjgym.mjcf import Spec
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import did_you_mean


@dataclass(frozen=True)
class Part:
    """A robot part: a stateless frozen dataclass that names elements of its MJCF.

    In a scene the names begin with the prefix that the part was attached under.
    """

    def model(self) -> Spec:
        """Build the part alone; its world body is its mounting frame."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")


@dataclass(frozen=True)
class Group:
    """Joints of a robot beside its arms, with their own part of an action: a torso, legs, a drive.

    Args:
        name: of the part, e.g. "torso".
        joints: each of one degree of freedom.
        actuators: one per joint, in the same order.
        controller: maps its part of an action to the actuators' controls.
        site: any site that it moves.
        start: initial joint positions (rad or m) of a base's; empty for those of the model.
    """

    name: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    controller: Controller
    site: str
    start: tuple[float, ...] = ()


@dataclass(frozen=True)
class Base(Part):
    """The mount that carries an arm, or a base that moves.

    Args:
        mount: the site that an arm's frame is attached to.
        prefix: of its elements in a scene, before the robot's number.
        groups: joints of a base that moves.
        hybrid: whether by default a last number of an action selects between moving the arm from
            where it is (at most 0) and from its goal (above 0), which follows the base.
        centre: the site that is observed as the base's pose; empty for a fixed mount.
    """

    mount: str = "mount"
    prefix: str = "fixed_mount"
    groups: tuple[Group, ...] = ()
    hybrid: bool = False
    centre: str = ""

    @property
    def drives(self) -> bool:
        """True if it moves along the floor by a group named "base"."""
        return any(group.name == "base" for group in self.groups)


@dataclass(frozen=True)
class Limb:
    """A chain of joints from a base to a wrist: an arm, or one arm of a two-armed robot.

    Args:
        joints: from the base outwards.
        actuators: one per joint, in the same order.
        wrist: the site that a hand's frame is attached to.
        link: the body that carries the wrist.
        start: initial joint positions (rad or m); empty for zeros.
        origin: the site that defines the task frame of the hand; empty for the arm frame.
        hand: default hand, a name in `hands`; empty for the robot's.
    """

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    wrist: str = "wrist"
    link: str = ""
    start: tuple[float, ...] = ()
    origin: str = ""
    hand: str = ""


@dataclass(frozen=True)
class Arm(Limb, Part):
    """A robot that reaches: a single limb, or a trunk with several.

    With several limbs, `joints`, `actuators` and `start` are the robot's, those of its groups
    included; `wrist`, `link` and `origin` are the first one's.

    Args:
        base: default base, a name in `bases`.
        groups: its driven joints beside the limbs, e.g. a torso and a head.
        table_distance: from the near edge of a table to the arm's frame (m).
        centre_distance: from the middle of a scene without a table to the arm's frame (m).
        bins_distance: from the middle of a scene with bins to the arm's frame (m).
        height: of its base's frame above the floor (m).
        ahead: sign of the direction along its hands' z axes that points away from the wrists.
        base_start: initial positions of its base's joints by name (m or rad).
        torques: torque sensors (N m) of the joints, three numbers each, in a frame with the joint
            axis as z; empty without sensors.
    """

    base: str = ""
    groups: tuple[Group, ...] = ()
    table_distance: float = 0.16
    centre_distance: float = 0.6
    bins_distance: float = 0.5
    height: float = 0.0
    ahead: float = 1.0
    base_start: tuple[tuple[str, float], ...] = ()
    torques: tuple[str, ...] = ()

    @property
    def limbs(self) -> dict[str, Limb]:
        """Limbs by side, in joint order; one is "right"."""
        return {"right": self}


@dataclass(frozen=True)
class Hand(Part):
    """The gripper or hand at the end of an arm.

    Args:
        tool_centre: the site between the fingers that tasks control.
        fingers: contact geoms of each finger; all fingers must touch an object to grasp it.
        start: initial joint positions (rad or m); empty for zeros.
        law: maps actions to the actuators; None: actions are the controls.
    """

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    tool_centre: str = "tool_centre"
    fingers: tuple[tuple[str, ...], ...] = ()
    start: tuple[float, ...] = ()
    law: GripperLaw | None = None


arms: Catalogue[Arm] = Catalogue("arm", Arm)
hands: Catalogue[Hand] = Catalogue("hand", Hand)
bases: Catalogue[Base] = Catalogue("base", Base)


def attach(scene: Spec, part: Part, prefix: str, site: str | mujoco.MjsSite) -> None:
    """Attach a part to a scene at a site, with a prefix of its names, e.g. "arm/"."""
    place = _site(scene, site) if isinstance(site, str) else site
    scene.attach(part.model(), prefix=prefix, site=place)


def assembled(arm: Arm, hand: Hand) -> Spec:
    """Attach a hand to an arm's wrist.

    The hand is an entity of the arm, see `mjgym.mjcf.attach`: its names begin with its model's name
    and a slash.

    Raises:
        ValueError: the arm has no wrist, or the hand's model no name.
    """
    spec = arm.model()
    mjcf.attach(spec, hand.model(), at=_site(spec, arm.wrist))
    return spec


def _site(spec: Spec, name: str) -> mujoco.MjsSite:
    site = spec.site(name)
    if site is None:
        sites = [element.name for element in spec.sites]
        raise ValueError(f"{spec.modelname}: no site {name!r}{did_you_mean(name, sites)}")
    return site
