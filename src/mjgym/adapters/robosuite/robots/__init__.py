"""Robots: those that there are by name, and those of an environment."""

from mjgym.adapters.robosuite.robots.robot import Robot
from mjgym.robots import arms

ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
ROBOT_CLASS_MAPPING = dict.fromkeys(ALL_ROBOTS, Robot)

__all__ = ["ALL_ROBOTS", "ROBOT_CLASS_MAPPING", "Robot"]
