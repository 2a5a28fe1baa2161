"""Base class of the two-arm tasks: two robots, or one robot with two arms."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.mjcf import Spec
from mjgym.robots import grasped, watch_grasp
from mjgym.sim.views import View
from mjgym.task import Array, Viewpoint
from mjgym.tasks.robosuite.furniture import Pose
from mjgym.tasks.robosuite.proprioception import tool_position
from mjgym.tasks.robosuite.tabletop import Tabletop

SIDE_TABLES: Pose = (
    (0.889435436, 0.0, 1.738381313),
    (0.653098025, 0.271040585, 0.271040764, 0.653097906),
)
"""Where the camera agentview sees two tables, or one at the side."""
FAR_APART = {"opposed": 0.25, "parallel": 0.6}
"""How far two robots stand apart that pass things on, m: see `Tabletop.apart`."""


@dataclass(frozen=True)
class TwoArms(Tabletop):
    """A task for two arms, numbered 0 and 1.

    They are those of two robots, or the right and the left arm of one.

    Args:
        robot: two names in `mjgym.robots.arms`, or one of a robot with two arms, e.g. "Baxter".
    """

    robot: Any = ("Panda", "Panda")

    viewpoint = Viewpoint(azimuth=150, elevation=-22, distance=2.2, lookat=(0.0, 0.0, 1.1))

    arms_needed: ClassVar[int] = 2

    def watch_grasp_of(self, scene: Spec, arm: int, target: str | tuple[str, ...]) -> None:
        """Add the sensors that `grasped_by` reads, for one arm's hand."""
        each = self.manipulators[arm]
        watch_grasp(scene, each.hand, each.hand_prefix, target)

    def grasped_by(self, v: View, arm: int, target: str | tuple[str, ...]) -> Array:
        """Whether one arm's hand holds something, bool."""
        each = self.manipulators[arm]
        return grasped(v, each.hand, each.hand_prefix, target)

    def from_tool(self, v: View, arm: int, point: Array) -> Array:
        """From one arm's tool to a point, (..., 3) m, in world axes."""
        return point - tool_position(v, self.manipulators[arm])
