"""What an arm, a hand and a base tell tasks about themselves, and where to find them by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mujoco

from mjgym import mjcf
from mjgym.catalogue import Catalogue
from mjgym.mjcf import Spec
from mjgym.sim.view import nearest


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
    """

    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    tool_centre: str = "tool_centre"
    fingers: tuple[tuple[str, ...], ...] = ()
    start: tuple[float, ...] = ()


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
        raise ValueError(f"{spec.modelname}: no site {name!r}{nearest(name, known)}")
    return site
