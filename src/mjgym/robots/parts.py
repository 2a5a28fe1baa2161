"""What an arm, a hand and a base tell tasks about themselves, and where to find them by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mujoco

from mjgym.catalogue import Catalogue
from mjgym.controllers.gripper import GripperLaw
from mjgym.mjcf import Spec


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
    """What an arm stands on.

    Args:
        mount: the site that an arm's frame is attached to.
    """

    mount: str = "mount"


@dataclass(frozen=True)
class Arm(Part):
    """A chain of joints from a base to a wrist.

    Args:
        joints: in their order from the base.
        actuators: one for each joint, in the same order.
        wrist: the site that a hand's frame is attached to.
        link: the body that carries the wrist.
        start: the joints' positions (rad or m) that tasks begin at; empty for zeros.
    """

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    wrist: str = "wrist"
    link: str = ""
    start: tuple[float, ...] = ()


@dataclass(frozen=True)
class Hand(Part):
    """What holds things at the end of an arm.

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
    """Give a part a name for keyword arguments such as `arm` and `hand`; stands above the class.

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
    """Attach a part to a scene at a site: its names then begin with a prefix.

    Args:
        scene: what it is attached to.
        part: an arm, a hand or a base.
        prefix: of all of the part's names, e.g. "arm/".
        site: of the scene, or its name.

    Raises:
        ValueError: the scene has no such site.
    """
    place = scene.site(site) if isinstance(site, str) else site
    if place is None:
        raise ValueError(f"attach: the scene has no site {site!r}")
    scene.attach(part.model(), prefix=prefix, site=place)
