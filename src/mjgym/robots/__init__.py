"""Arms, hands, bases and legged robots shared by several task families."""

from mjgym.robots import (  # noqa: F401  (they register parts)
    gr1,
    menagerie,
    menagerie_legged,
    spot,
    tabletop_arms,
    tabletop_grippers,
    tiago,
)
from mjgym.robots.grasping import grasped, touching, watch_grasp
from mjgym.robots.inverse_kinematics import Solution, solve
from mjgym.robots.jaco import JacoArm, JacoHand
from mjgym.robots.legged_robots import LeggedRobot, legged_robots
from mjgym.robots.parts import Arm, Base, Group, Hand, Limb, arms, assembled, attach, bases, hands
from mjgym.robots.placing import place_tool, robot_contacts

__all__ = [
    "Arm",
    "Base",
    "Group",
    "Hand",
    "JacoArm",
    "JacoHand",
    "LeggedRobot",
    "Limb",
    "Solution",
    "arms",
    "assembled",
    "attach",
    "bases",
    "grasped",
    "hands",
    "legged_robots",
    "place_tool",
    "robot_contacts",
    "solve",
    "touching",
    "watch_grasp",
]
