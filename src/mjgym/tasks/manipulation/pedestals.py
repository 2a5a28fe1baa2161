"""Pedestals, on which a thing is to be placed: on a brick's studs or into a cradle."""

from typing import Literal

from mjgym.mjcf import Spec, load
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.bricks import brick

PEDESTAL = "pedestal"  # its frame body, "pedestal/", is moved by body_pos
TARGET = "pedestal/target"  # the site where a thing is to be placed

Top = Literal["brick", "cradle"]


def add_pedestal(scene: Spec, top: Top) -> str:
    """A post whose frame is the target point, with what is on top of it; returns its name.

    Args:
        scene: the model to put it into.
        top: a fixed brick whose frame is at the target point, or three balls between which a brick
            comes to lie.

    Raises:
        ValueError: there is no such top.
    """
    if top not in ("brick", "cradle"):
        raise ValueError(f"top: expected 'brick' or 'cradle', got {top!r}")
    post = load("manipulation/pedestal.xml")
    if top == "brick":
        add_part(post, brick(), "duplo2x4")
    else:
        add_part(post, load("manipulation/cradle.xml"), "cradle")
    add_part(scene, post, PEDESTAL)
    return PEDESTAL
