"""Hand a hammer from one arm to the other."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.arrays import Array
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register
from mjgym.tasks.robosuite import hammers, tabletop
from mjgym.tasks.robosuite.scripted_policies import handing

TABLE_TOP = (0.0, -0.45, 0.8)  # m, in front of the first arm
HAMMER, HANDLE, HEAD = "hammer_root", ("hammer_handle",), "hammer_head"
ALONG, ACROSS = (-0.1, 0.1), (-0.05, 0.05)  # m, where the hammer lies on the table, along x and y

# Drawn per episode.
RADIUS = (0.015, 0.02)  # m, half the handle's thickness
LENGTH = (0.1, 0.25)  # m, of the handle
DENSITY = (100.0, 250.0)  # kg/m^3, of the handle
FRICTION = (3.0, 5.0)  # of the handle, sliding
HEAD_SIZE = (1.0, 1.2)  # ratio of the head's height to the handle's thickness
HEAD_DENSITY = 2.0  # ratio of the head's density to the handle's

HIGH = 0.1  # m over the table: height of a lifted hammer's lower end
REACH, GRASP, LIFT, BOTH, HANDED = 0.25, 0.5, 1.0, 1.5, 2.0  # rewards of the stages
SCALE = 1.0  # 1/m, how fast the rewards for being near fall off


@register("robosuite/TwoArmHandover-v0", tags=("tabletop", "two-arm"))
@dataclass(frozen=True)
class TwoArmHandover(tabletop.TwoArms, tabletop.OneTable):
    """Pick a hammer up with the first arm and hand it to the second, which takes the handle.

    Start: the arms near their published poses; a hammer on the first arm's table, on either side
    and at any angle, whose sizes, weight and friction are drawn for each episode.

    Observation: the robots' entries (see `Tabletop`), then `hammer_pos` (m), `hammer_quat` (x, y,
    z, w), `handle_xpos`, the handle's middle (m), `gripper0_to_handle` and `gripper1_to_handle`,
    from the tools (m), in world axes.

    Reward: of 2, one of these stages. With the hammer's lower end less than 10 cm above the table:
    `grasp0` 0.5 while the first arm holds it, else `reach0` 0.25 (1 - tanh(d)) for a distance of
    d (m) between its tool and the handle. Higher than that: `lift` 1, with `reach1`
    0.25 (1 - tanh(d)) of the second arm, until that holds the handle; then `both` 1.5 while the
    first arm holds on, and `handover` 2 once it has let go. Success: while `handover` pays.
    """

    table_size: tuple[float, float, float] = (0.8, 0.3, 0.05)  # m
    table_top: tuple[float, float, float] = TABLE_TOP  # m

    agentview = tabletop.SIDE_TABLES
    apart: ClassVar = tabletop.FAR_APART
    varies = hammers.VARIES
    most = HANDED
    object_names = ("hammer",)
    bodies: ClassVar = {"hammer": HAMMER}

    @property
    def default_placement(self) -> Placement:
        return hammers.EitherSide(("hammer",), ALONG, ACROSS, reference=self.table_top)

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        hammers.add_hammer(scene, "hammer")
        self.watch_grasp(scene, HAMMER, 0)
        self.watch_grasp(scene, HANDLE, 1)

    def place(self, v: SingleView, rng: Any) -> None:
        radius, density = rng.uniform(*RADIUS), rng.uniform(*DENSITY)
        hammer = hammers.Hammer(
            radius=radius,
            length=rng.uniform(*LENGTH),
            density=density,
            friction=rng.uniform(*FRICTION),
            head=radius * rng.uniform(*HEAD_SIZE),
            head_density=density * HEAD_DENSITY,
        )
        hammers.resize_hammer(v, "hammer", hammer)
        super().place(v, rng)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {"hammer": hammers.extent_of_hammer(v, "hammer")}

    def objects(self, v: View) -> Arrays:
        hammer, handle = v.body(HAMMER), v.geom(HANDLE[0]).xpos
        return {
            "hammer_pos": hammer.xpos,
            "hammer_quat": tabletop.xyzw(hammer.xquat, v),
            "handle_xpos": handle,
            "gripper0_to_handle": self.from_tool(v, 0, handle),
            "gripper1_to_handle": self.from_tool(v, 1, handle),
        }

    def height(self, v: View) -> Array:
        """Height of the hammer's lower end over the table, m, assuming its head is up."""
        handle, head = v.geom(HANDLE[0]), v.geom(HEAD)
        upright = v.body(HAMMER).xmat[..., 8]  # sine of the angle between handle and floor
        below = handle.size[..., 2] + 2 * head.size[..., 1]
        return handle.xpos[..., 2] - handle.size[..., 0] - below * upright - self.table_top[2]

    def terms(self, v: View) -> Arrays:
        if self.reward_type == "sparse":
            return {"handover": tabletop.reward_if(v, self.success(v), HANDED)}
        lifted = self.height(v) > HIGH
        first, second = self.grasped(v, HAMMER, 0), self.grasped(v, HANDLE, 1)
        handle = v.geom(HANDLE[0]).xpos
        near0, near1 = (
            tabletop.closeness(norm(self.from_tool(v, arm, handle)), SCALE) for arm in (0, 1)
        )
        carried = lifted & ~second
        return {
            "reach0": REACH * near0 * tabletop.reward_if(v, ~lifted & ~first, 1.0),
            "grasp0": tabletop.reward_if(v, ~lifted & first, GRASP),
            "lift": tabletop.reward_if(v, carried, LIFT),
            "reach1": REACH * near1 * tabletop.reward_if(v, carried, 1.0),
            "both": tabletop.reward_if(v, lifted & second & first, BOTH),
            "handover": tabletop.reward_if(v, lifted & second & ~first, HANDED),
        }

    def success(self, v: View) -> Array:
        taken = self.grasped(v, HANDLE, 1) & ~self.grasped(v, HAMMER, 0)
        return taken & (self.height(v) > HIGH)

    def scripted_policy(self) -> StagedPolicy:
        return handing.hand_over(self)
