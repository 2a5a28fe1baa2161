"""Grasp detection: contact sensors on all fingers of a hand.

Contact sensors work in a batch, where contacts cannot be listed.
"""

from collections.abc import Sequence

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.robots.parts import Hand
from mjgym.sim.views import View

HOW_MANY = (1, 0, 1)  # contact sensor setting: one number, the count of contacts

Target = str | Sequence[str]
"""The held object: the name of a body, with all that hangs on it, or names of geoms."""


def watch_grasp(scene: Spec, hand: Hand, prefix: str, target: Target) -> None:
    """Add the sensors that `grasped` reads: of a hand's finger geoms on a body or geom.

    Raises ValueError if the scene lacks one of them; the scene is then unchanged.
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
    """Tell whether every finger of a hand touches the target, (...) bool, also in a batch.

    The arguments are those of `watch_grasp`; a hand without fingers never grasps.
    """
    start = v.xp.ones if hand.fingers else v.xp.zeros
    held = start(v.lead, dtype=v.xp.bool)
    for finger in touching(v, hand, prefix, target):
        held = held & finger
    return held


def touching(v: View, hand: Hand, prefix: str, target: Target) -> list[Array]:
    """Tell which fingers touch the target, (...) bool per finger; arguments as for `grasped`."""
    names = [
        [_sensor(prefix + pad, name) for pad in finger for name in _targets(target)]
        for finger in hand.fingers
    ]
    return [total(v.sensordata[..., v.rows("sensordata", finger)]) > 0 for finger in names]


def _targets(target: Target) -> Sequence[str]:
    return (target,) if isinstance(target, str) else target


def _sensor(pad: str, target: str) -> str:
    return f"{pad} on {target}"
