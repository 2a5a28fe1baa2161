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
        raise NotImplementedError(f"{type(self).__name__} must define model()")


@dataclass(frozen=True)
class Group:
    """Joints other than a robot's arms with their own part of an action: a torso, legs, a drive."""

    name: str  # of the part, e.g. "torso"
    joints: tuple[str, ...]  # each of one degree of freedom
    actuators: tuple[str, ...]  # one per joint, in the same order
    controller: Controller  # maps its part of an action to the actuators' controls
    site: str  # any site that it moves
    start: tuple[float, ...] = ()  # initial positions of a base's (rad or m); empty: the model's


@dataclass(frozen=True)
class Base(Part):
    """The mount that carries an arm, or a base that moves."""

    mount: str = "mount"  # the site that an arm's frame is attached to
    prefix: str = "fixed_mount"  # of its elements in a scene, before the robot's number
    groups: tuple[Group, ...] = ()  # joints of a base that moves
    # By default a last number of an action selects between moving the arm from where it is (at most
    # 0) and from its goal (above 0), which follows the base.
    hybrid: bool = False
    centre: str = ""  # the site that is observed as the base's pose; empty for a fixed mount


@dataclass(frozen=True)
class Limb:
    """A chain of joints from a base to a wrist: an arm, or one arm of a two-armed robot."""

    joints: tuple[str, ...] = ()  # from the base outwards
    actuators: tuple[str, ...] = ()  # one per joint, in the same order
    wrist: str = "wrist"  # the site that a hand's frame is attached to
    link: str = ""  # the body that carries the wrist
    start: tuple[float, ...] = ()  # initial joint positions (rad or m); empty for zeros
    origin: str = ""  # the site that defines the task frame of the hand; empty for the arm frame
    hand: str = ""  # default hand, a name in `hands`; empty for the robot's


@dataclass(frozen=True)
class Arm(Limb, Part):
    """A robot that reaches: a single limb, or a trunk with several.

    With several limbs, `joints`, `actuators` and `start` are the robot's, those of its groups
    included; `wrist`, `link` and `origin` are the first one's.
    """

    base: str = ""  # default base, a name in `bases`
    groups: tuple[Group, ...] = ()  # its driven joints beside the limbs, e.g. a torso and a head
    table_distance: float = 0.16  # from a table's near edge to the arm's frame, m
    centre_distance: float = 0.6  # from the middle of a scene without a table, m
    bins_distance: float = 0.5  # from the middle of a scene with bins, m
    height: float = 0.0  # of its base's frame above the floor (m)
    ahead: float = 1.0  # sign along its hands' z axes that points away from the wrists
    base_start: tuple[tuple[str, float], ...] = ()  # its base's joints, m, rad
    torques: tuple[str, ...] = ()  # torque sensors of the joints, z along the axis; empty for none

    @property
    def limbs(self) -> dict[str, Limb]:
        """Limbs by side, in joint order; one is "right"."""
        return {"right": self}


@dataclass(frozen=True)
class Hand(Part):
    """The gripper or hand at the end of an arm."""

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    tool_centre: str = "tool_centre"  # the site between the fingers that tasks control
    fingers: tuple[tuple[str, ...], ...] = ()  # contact geoms; all fingers touch to grasp
    start: tuple[float, ...] = ()  # initial joint positions (rad or m); empty for zeros
    law: GripperLaw | None = None  # maps actions to the actuators; None: actions are the controls


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
