"""Robots: the available names, and the robots of an environment."""

from mjgym.robots import arms
from mjgym_compat.robosuite.robots.robot import Robot

ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
ROBOT_CLASS_MAPPING = dict.fromkeys(ALL_ROBOTS, Robot)

__all__ = ["ALL_ROBOTS", "ROBOT_CLASS_MAPPING", "Robot"]
