"""Stack one cube on another."""

from dataclasses import dataclass

import numpy as np

from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Uniform
from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import at_height
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, GoalTask, register
from mjgym.tasks.robosuite import tabletop
from mjgym.tasks.robosuite.scripted_policies import tools

A, B = "cubeA_main", "cubeB_main"
HALF_A, HALF_B = 0.02, 0.025  # m
DENSITY = 1000.0  # kg/m^3
RED, GREEN = (0.75, 0.13, 0.11, 1.0), (0.16, 0.52, 0.27, 1.0)
AROUND = (-0.08, 0.08)  # m, where the cubes lie from the middle of the table, along x and y
DROP = 0.01  # m, that they fall at the start

HIGH = 0.04  # m over the table: height of a lifted cube A's centre
NEAR = 0.01  # m, from the goal
REACH, GRASP, LIFT, ALIGN, STACKED = 0.25, 0.25, 1.0, 0.5, 2.0  # rewards
ALIGN_SCALE = 1.0  # 1/m, how fast the reward for being above cube B falls off
CARRY_HEIGHT = 1.0  # m, above the floor, of the tool of the scripted policy
GAP = 0.003  # m, between the cubes when the upper one is released


@register("robosuite/Stack-v0", tags=("tabletop", "one-arm"))
@dataclass(frozen=True)
class Stack(tabletop.OneTable, GoalTask):
    """Stack the red cube A (4 cm) on the green cube B (5 cm) and let it go.

    Start: the arm near its published pose; the cubes within 8 cm of the middle of the table along x
    and y, apart from each other, at any angle.

    Observation: the robot's entries (see `Tabletop`), then `cubeA_pos` (m),
    `cubeA_quat` (x, y, z, w), `cubeB_pos`, `cubeB_quat`, `cubeA_to_cubeB`, from A to B (m),
    `gripper_to_cubeA` and `gripper_to_cubeB`, from the tool (m), in world axes.

    Reward: the largest of three stages, at most 2. At cube A: `reach` pays 0.25 (1 - tanh(10 d))
    for a distance of d (m) between tool and A, and `grasp` 0.25 for holding it. With A's middle
    4 cm above the table: `lift` pays 1 and `align` 0.5 (1 - tanh(r)) for a distance of r (m) from
    B, seen from above. `stack` pays 2 while A is that high, touches B and is not held. Success:
    while `stack` pays.

    Goal: from cube B's middle to A's, in world axes (m), reached within 1 cm of lying on it, held
    or not.
    """

    most = STACKED
    object_names = ("cubeA", "cubeB")

    @property
    def default_placement(self) -> Placement:
        return Uniform(
            self.object_names, AROUND, AROUND, reference=tabletop.TABLE_TOP, z_offset=DROP
        )

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        tabletop.add_box(scene, "cubeA", (HALF_A, HALF_A, HALF_A), DENSITY, RED)
        tabletop.add_box(scene, "cubeB", (HALF_B, HALF_B, HALF_B), DENSITY, GREEN)
        self.watch_grasp(scene, A)
        tabletop.watch_contact(scene, A, B)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {name: Extent.of_box(v.geom(f"{name}_g0").size) for name in self.object_names}

    def objects(self, v: View) -> Arrays:
        a, b = v.body(A), v.body(B)
        return {
            "cubeA_pos": a.xpos,
            "cubeA_quat": tabletop.xyzw(a.xquat, v),
            "cubeB_pos": b.xpos,
            "cubeB_quat": tabletop.xyzw(b.xquat, v),
            "cubeA_to_cubeB": b.xpos - a.xpos,
            **self.from_tools(v, {"gripper_to_cubeA": a.xpos, "gripper_to_cubeB": b.xpos}),
        }

    def terms(self, v: View) -> Arrays:
        stack = {"stack": tabletop.reward_if(v, self.success(v), STACKED)}
        if self.reward_type == "sparse":
            return stack
        a, b = v.body(A).xpos, v.body(B).xpos
        lifted = tabletop.reward_if(v, self.lifted(v), 1.0)
        return {
            "reach": REACH * tabletop.closeness(self.distance(v, a)),
            "grasp": tabletop.reward_if(v, self.grasped(v, A), GRASP),
            "lift": LIFT * lifted,
            "align": ALIGN * lifted * tabletop.closeness(norm((a - b)[..., 0:2]), ALIGN_SCALE),
            **stack,
        }

    def stages(self, terms: Arrays) -> Array:
        xp = namespace(terms["reach"])
        at_cube = terms["reach"] + terms["grasp"]
        return xp.maximum(xp.maximum(at_cube, terms["lift"] + terms["align"]), terms["stack"])

    def lifted(self, v: View) -> Array:
        return v.body(A).xpos[..., 2] > tabletop.TABLE_TOP[2] + HIGH

    def success(self, v: View) -> Array:
        return self.lifted(v) & tabletop.in_contact(v, A, B) & ~self.grasped(v, A)

    def achieved(self, v: View) -> Array:
        return v.body(A).xpos - v.body(B).xpos

    def desired(self, v: View) -> Array:
        on_top = v.xp.asarray((0.0, 0.0, HALF_A + HALF_B), dtype=v.xp.float64)
        return v.xp.broadcast_to(on_top, (*v.lead, 3))

    def reached(self, achieved: Array, desired: Array) -> Array:
        return norm(desired - achieved) <= NEAR

    def scripted_policy(self) -> StagedPolicy:
        above = np.array([0, 0, HALF_A + HALF_B + GAP])

        def stages(observation: Observation, tool: tools.Tool) -> list[Stage]:
            upper, lower = observation["cubeA_pos"], observation["cubeB_pos"]
            onto = lower + above + (tool.position - upper)
            turn = tool.facing(tools.heading_across(observation["cubeA_quat"]), tools.QUARTER_TURN)
            square = tool.facing(
                tools.heading_across(observation["cubeB_quat"]), tools.QUARTER_TURN
            )
            lost = tool.away_from(upper)
            return [
                *tools.grasp(upper, turn),
                Stage(at_height(upper, CARRY_HEIGHT), CLOSE, turn, near=0.03),
                Stage(at_height(onto, CARRY_HEIGHT), CLOSE, square, near=0.005, lost=lost),
                Stage(onto, CLOSE, square, near=0.004, lost=lost),
                Stage(tool.position, OPEN, steps=tools.CLOSING),
                Stage(at_height(tool.position, CARRY_HEIGHT), OPEN),
            ]

        return StagedPolicy(tools.tools_of(self, 1), stages)
