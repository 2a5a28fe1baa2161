"""Lift a cube off a table."""

from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Uniform
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import at_height
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, GoalTask, register
from mjgym.tasks.robosuite import tabletop
from mjgym.tasks.robosuite.scripted_policies import tools

CUBE = "cube_main"
SMALLEST, LARGEST = 0.020, 0.022  # m, half a side of the cube; sides are drawn independently
DENSITY = 1000.0  # kg/m^3
RED = (0.75, 0.13, 0.11, 1.0)
AROUND = (-0.03, 0.03)  # m, where the cube lies from the middle of the table, along x and y
DROP = 0.01  # m, drop at the start

HIGH = 0.04  # m over the table: height of a lifted cube's centre
GRASP, LIFTED = 0.25, 2.25  # rewards; reaching pays up to 1
CARRY_HEIGHT = 1.0  # m, above the floor, of the tool of the scripted policy


@register("robosuite/Lift-v0", tags=("tabletop", "one-arm"))
@dataclass(frozen=True)
class Lift(tabletop.OneTable, GoalTask):
    """Lift a cube off a table.

    Start: the arm near its published pose; a cube of 4 to 4.4 cm near the middle of the table, at
    any angle, whose sides are drawn for each episode.

    Observation: the robot's entries (see `Tabletop`), then `cube_pos` (m),
    `cube_quat` (x, y, z, w) and `gripper_to_cube_pos`, from the tool to the cube (m), in world
    axes.

    Reward: of 2.25, `lift` pays all once the cube's middle is 4 cm above the table; until then
    `reach` pays 1 - tanh(10 d) for a distance of d (m) between tool and cube, and `grasp` 0.25 for
    holding it. Success: 4 cm above the table.

    Goal: the height of the cube's middle (m), reached at that height or above.
    """

    most = LIFTED
    varies = tabletop.BOX_FIELDS
    object_names = ("cube",)

    @property
    def default_placement(self) -> Placement:
        return Uniform(("cube",), AROUND, AROUND, reference=tabletop.TABLE_TOP, z_offset=DROP)

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        tabletop.add_box(scene, "cube", (LARGEST, LARGEST, LARGEST), DENSITY, RED)
        self.watch_grasp(scene, CUBE)

    def place(self, v: SingleView, rng: Any) -> None:
        tabletop.resize_box(v, "cube", rng.uniform(SMALLEST, LARGEST, size=3), DENSITY)
        super().place(v, rng)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {"cube": Extent.of_box(v.geom("cube_g0").size)}

    def objects(self, v: View) -> Arrays:
        cube = v.body(CUBE)
        return {
            "cube_pos": cube.xpos,
            "cube_quat": tabletop.xyzw(cube.xquat, v),
            **self.from_tools(v, {"gripper_to_cube_pos": cube.xpos}),
        }

    def terms(self, v: View) -> Arrays:
        lift = {"lift": tabletop.reward_if(v, self.success(v), LIFTED)}
        if self.reward_type == "sparse":
            return lift
        reach = tabletop.closeness(self.distance(v, v.body(CUBE).xpos))
        return {
            "reach": reach,
            "grasp": tabletop.reward_if(v, self.grasped(v, CUBE), GRASP),
            **lift,
        }

    def stages(self, terms: Arrays) -> Array:
        lift = terms["lift"]
        return namespace(lift).where(lift > 0, lift, terms["reach"] + terms["grasp"])

    def success(self, v: View) -> Array:
        return v.body(CUBE).xpos[..., 2] > tabletop.TABLE_TOP[2] + HIGH

    def achieved(self, v: View) -> Array:
        return v.body(CUBE).xpos[..., 2:3]

    def desired(self, v: View) -> Array:
        return v.xp.full((*v.lead, 1), tabletop.TABLE_TOP[2] + HIGH, dtype=v.xp.float64)

    def reached(self, achieved: Array, desired: Array) -> Array:
        return achieved[..., 0] >= desired[..., 0]

    def scripted_policy(self) -> StagedPolicy:
        def stages(observation: Observation, tool: tools.Tool) -> list[Stage]:
            cube = observation["cube_pos"]
            turn = tool.facing(tools.heading_across(observation["cube_quat"]), tools.QUARTER_TURN)
            lost = tool.away_from(cube)
            return [
                *tools.grasp(cube, turn),
                Stage(at_height(cube, CARRY_HEIGHT), CLOSE, turn, lost=lost),
            ]

        return StagedPolicy(tools.tools_of(self, 1), stages)
