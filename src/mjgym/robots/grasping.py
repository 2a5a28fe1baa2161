"""Whether a hand holds something: contacts of all of its fingers, seen by sensors.

A batch of simulations cannot list its contacts; contact sensors count them in either.
"""

from collections.abc import Sequence

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.robots.parts import Hand
from mjgym.sim.views import View

HOW_MANY = (1, 0, 1)  # of a contact sensor: count the contacts, as they are, in one number

Target = str | Sequence[str]
"""What is held: the name of a body, with all that hangs on it, or names of geoms."""


def watch_grasp(scene: Spec, hand: Hand, prefix: str, target: Target) -> None:
    """Add the sensors that `grasped` reads.

    Args:
        scene: the hand has been attached to it.
        hand: its fingers' geoms are watched.
        prefix: what the hand's names begin with in the scene.
        target: what may be held.

    Raises:
        ValueError: the scene has no such body or geom, or no such finger's geom; nothing has been
            added then.
    """
    kind = "body" if isinstance(target, str) else "geom"
    wanted = [(kind, name) for name in _targets(target)]
    wanted += [("geom", prefix + pad) for finger in hand.fingers for pad in finger]
    for sort, name in wanted:
        if getattr(scene, sort)(name) is None:
            raise ValueError(f"watch_grasp: the scene has no {sort} {name!r}")
    for finger in hand.fingers:
        for pad in finger:
            for name in _targets(target):
                add(
                    scene, "sensor", name=_sensor(prefix + pad, name), type="contact",
                    objtype="geom", objname=prefix + pad,
                    reftype="xbody" if kind == "body" else "geom", refname=name, intprm=HOW_MANY,
                )  # fmt: skip


def grasped(v: View, hand: Hand, prefix: str, target: Target) -> Array:
    """Whether every finger of a hand touches something; one call for one simulation or a batch.

    Args:
        v: of a model whose `watch_grasp` had the same hand, prefix and target.
        hand: one without fingers holds nothing.
        prefix: what the hand's names begin with.
        target: what may be held.

    Returns:
        Booleans, (...).
    """
    start = v.xp.ones if hand.fingers else v.xp.zeros
    held = start(v.lead, dtype=v.xp.bool)
    for finger in touching(v, hand, prefix, target):
        held = held & finger
    return held


def touching(v: View, hand: Hand, prefix: str, target: Target) -> list[Array]:
    """Whether each finger of a hand touches something, with the arguments of `grasped`.

    Returns:
        Booleans, (...), for each finger.
    """
    names = [
        [_sensor(prefix + pad, name) for pad in finger for name in _targets(target)]
        for finger in hand.fingers
    ]
    return [total(v.sensordata[..., v.rows("sensordata", each)]) > 0 for each in names]


def _targets(target: Target) -> Sequence[str]:
    return (target,) if isinstance(target, str) else target


def _sensor(pad: str, target: str) -> str:
    return f"{pad} on {target}"
