"""Work top shared by all tasks of the family, and attachment of parts to it."""

from typing import Any

from mjgym.mjcf import Spec, add, attach, load
from mjgym.resets import Box

CONTROL_TIMESTEP = 0.04  # s
TIME_LIMIT = 10.0  # s

THINNEST = 1e-6  # m, half the thickness of a flat box, for drawing


def arena() -> Spec:
    """Build the work top: a plane, a lamp and the camera `front_close`."""
    return load("manipulation/arena.xml")


def add_part(scene: Spec, part: Spec, name: str, *, at: Any = None, free: bool = False) -> Any:
    """Attach a part as the entity `name`; what it disables in the engine is disabled in the scene.

    Its frame body, which is returned, and free joint are "<name>/". `at` is a handle of a site,
    frame or body of the scene; None for its world. The part is moved, not copied.
    """
    scene.option.disableflags |= part.option.disableflags
    return attach(scene, part, at, name=name, free=free)


def add_spawn_area(scene: Spec, name: str, box: Box, rgba: tuple[float, ...]) -> None:
    """Show a spawn area as a site of group 3, hidden in viewers by default."""
    low, high = box
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = [max((b - a) / 2, THINNEST) for a, b in zip(low, high, strict=True)]
    add(
        scene.worldbody, "site", name=name, type="box", pos=middle, size=half, rgba=rgba, group=3
    )  # fmt: skip
