"""Contact detection by sensors: a batch of simulations cannot list its contacts."""

from collections.abc import Sequence

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.robots.grasping import HOW_MANY
from mjgym.sim.views import View

ALL = "touches"  # the sensor of all contacts


def watch_contact(scene: Spec, first: str, second: str) -> None:
    """Add the sensor that `in_contact` reads.

    Args:
        first: name of a geom, or of a body including its descendants.
        second: name of another.
    """
    add(
        scene, "sensor", name=f"{first} on {second}", type="contact",
        objtype=_kind(scene, first), objname=first,
        reftype=_kind(scene, second), refname=second, intprm=HOW_MANY,
    )  # fmt: skip


def _kind(scene: Spec, name: str) -> str:
    return "xbody" if scene.geom(name) is None else "geom"


def in_contact(v: View, first: str, second: str) -> Array:
    """Whether two bodies or geoms passed to `watch_contact` touch, (...) bool."""
    return v.sensor(f"{first} on {second}").data[..., 0] > 0


def watch_touches(scene: Spec, bodies: Sequence[str] = ()) -> None:
    """Add the sensors that `touches` reads.

    Args:
        bodies: names of bodies, without their descendants; empty for all contacts of the scene.
    """
    for name in bodies:
        add(
            scene, "sensor", name=f"touches of {name}", type="contact", objtype="body",
            objname=name, intprm=HOW_MANY,
        )  # fmt: skip
    if not bodies:
        add(scene, "sensor", name=ALL, type="contact", intprm=HOW_MANY)


def touches(v: View, bodies: Sequence[str] = ()) -> Array:
    """Number of contacts of the bodies passed to `watch_touches`, or of the scene, (...)."""
    names = [f"touches of {name}" for name in bodies] or [ALL]
    return total(v.sensordata[..., v.rows("sensordata", names)])
