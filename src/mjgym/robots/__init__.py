"""Arms, hands and bases: parts that the tasks of several families are built from."""

from mjgym.robots import grippers
from mjgym.robots.grasping import grasped, watch_grasp
from mjgym.robots.parts import Arm, Base, Hand, arms, attach, bases, hands

__all__ = [
    "Arm",
    "Base",
    "Hand",
    "arms",
    "attach",
    "bases",
    "grasped",
    "grippers",
    "hands",
    "watch_grasp",
]
