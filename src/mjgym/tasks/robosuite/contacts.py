"""Whether two things touch, seen by sensors: a batch of simulations cannot list its contacts."""

from mjgym.arrays import Array
from mjgym.mjcf import Spec, add
from mjgym.robots.grasping import HOW_MANY
from mjgym.sim.views import View


def watch_contact(scene: Spec, first: str, second: str) -> None:
    """Add the sensor that `in_contact` reads.

    Args:
        scene: that has both.
        first: name of a body, with all that hangs on it.
        second: name of another.
    """
    add(
        scene, "sensor", name=f"{first} on {second}", type="contact", objtype="xbody",
        objname=first, reftype="xbody", refname=second, intprm=HOW_MANY,
    )  # fmt: skip


def in_contact(v: View, first: str, second: str) -> Array:
    """Whether two bodies touch that `watch_contact` was given, (...) bool."""
    return v.sensor(f"{first} on {second}").data[..., 0] > 0
