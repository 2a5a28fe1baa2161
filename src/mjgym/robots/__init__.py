"""Arms, hands and bases: parts that the tasks of several families are built from."""

from mjgym.robots import menagerie, tabletop_arms  # noqa: F401  (they register their parts)
from mjgym.robots.parts import Arm, Base, Hand, Limb, arms, attach, bases, hands

__all__ = ["Arm", "Base", "Hand", "Limb", "arms", "attach", "bases", "hands"]
