"""Arms, hands and bases: parts that the tasks of several families are built from."""

from mjgym.robots.parts import Arm, Base, Hand, arms, attach, bases, hands

__all__ = ["Arm", "Base", "Hand", "arms", "attach", "bases", "hands"]
