"""Pedestals for placing an object: a brick's studs or a cradle."""

from typing import Literal

from mjgym.mjcf import Spec, load
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.bricks import brick
from mjgym.util.values import one_of

PEDESTAL = "pedestal"  # its frame body, "pedestal/", is moved by body_pos
TARGET = "pedestal/target"  # site of the target position

Top = Literal["brick", "cradle"]


def add_pedestal(scene: Spec, top: Top) -> str:
    """Add a post with its frame at the target point and a top, a fixed brick or a cradle of three
    balls; return its name.
    """
    one_of("top", top, ("brick", "cradle"))
    post = load("manipulation/pedestal.xml")
    if top == "brick":
        add_part(post, brick(), "duplo2x4")
    else:
        add_part(post, load("manipulation/cradle.xml"), "cradle")
    add_part(scene, post, PEDESTAL)
    return PEDESTAL
