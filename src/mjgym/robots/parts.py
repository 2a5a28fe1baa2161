"""The interfaces of arms, hands and bases, and lookup by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mujoco

from mjgym import mjcf
from mjgym.controllers.gripper import GripperLaw
from mjgym.mjcf import Spec
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import did_you_mean


@dataclass(frozen=True)
class Part:
    """A part of a robot: a frozen dataclass without state, whose names are its own MJCF's.

    In a scene the names begin with the prefix that the part was attached under.
    """

    def model(self) -> Spec:
        """The part by itself; its world body is the frame that it is attached by."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")


@dataclass(frozen=True)
class Base(Part):
    """The mount that carries an arm.

    Args:
        mount: the site that an arm's frame is attached to.
    """

    mount: str = "mount"


@dataclass(frozen=True)
class Limb:
    """A chain of joints from a base to a wrist: an arm, or one of the arms of a robot with two.

    Args:
        joints: in their order from the base.
        actuators: one for each joint, in the same order.
        wrist: the site that a hand's frame is attached to.
        link: the body that carries the wrist.
        start: the joints' positions (rad or m) that tasks begin at; empty for zeros.
        origin: the site in whose frame a task moves the hand; empty for the arm's own frame.
    """

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    wrist: str = "wrist"
    link: str = ""
    start: tuple[float, ...] = ()
    origin: str = ""


@dataclass(frozen=True)
class Arm(Limb, Part):
    """A robot that reaches: by itself a limb, or a trunk with several.

    Of a robot with several limbs, `joints`, `actuators` and `start` are those of all of them, one
    limb after the other as in `limbs`; `wrist`, `link` and `origin` are the first one's.

    Args:
        base: the name in `bases` of what it stands on unless a task is told otherwise.
        hand: the name in `hands` of what it holds with unless a task is told otherwise.
        table_distance: from the near edge of a table to the arm's frame (m).
        centre_distance: from the middle of a scene without a table to the arm's frame (m).
        torques: sensors of the torque (N m) in each joint, with three numbers each, in a frame
            whose z axis the joint turns about; empty if there are none.
    """

    base: str = ""
    hand: str = ""
    table_distance: float = 0.16
    centre_distance: float = 0.6
    torques: tuple[str, ...] = ()

    @property
    def limbs(self) -> dict[str, Limb]:
        """Its limbs by side, in the order of their joints: one is the "right" one."""
        return {"right": self}


@dataclass(frozen=True)
class Hand(Part):
    """The gripper or hand at the end of an arm.

    Args:
        joints: of the fingers.
        actuators: of the fingers.
        tool_centre: the site between the fingers whose pose a task controls.
        fingers: the geoms of each finger that hold an object, finger by finger; all of them have to
            touch it to grasp it.
        start: the joints' positions (rad or m) that tasks begin at; empty for zeros.
        law: how an action moves the actuators; None if it is their controls themselves.
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

PartType = TypeVar("PartType", bound=type[Part])


def register(catalogue: Catalogue[Any], name: str, **fields: Any) -> Callable[[PartType], PartType]:
    """Class decorator: register a part under a name for keyword arguments such as `arm`.

    Args:
        catalogue: `arms`, `hands` or `bases`.
        name: for the argument.
        **fields: the values of the class's fields that make this part.
    """

    def decorate(part: PartType) -> PartType:
        catalogue.add(name, part(**fields))
        return part

    return decorate


def attach(scene: Spec, part: Part, prefix: str, site: str | mujoco.MjsSite) -> None:
    """Attach a part to a scene at a site, under a prefix.

    Args:
        scene: what it is attached to.
        part: an arm, a hand or a base.
        prefix: of all of the part's names, e.g. "arm/".
        site: of the scene, or its name.

    Raises:
        ValueError: the scene has no such site.
    """
    place = _site(scene, site) if isinstance(site, str) else site
    scene.attach(part.model(), prefix=prefix, site=place)


def assembled(arm: Arm, hand: Hand) -> Spec:
    """An arm with a hand on its wrist.

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
        known = [found.name for found in spec.sites]
        raise ValueError(f"{spec.modelname}: no site {name!r}{did_you_mean(name, known)}")
    return site
