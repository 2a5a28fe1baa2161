"""Lift a pot by its two handles."""

from dataclasses import dataclass
from math import cos, pi, radians
from typing import ClassVar

from mjgym import mjcf
from mjgym.arrays import Array
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Uniform
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register
from mjgym.tasks.robosuite import tabletop
from mjgym.tasks.robosuite.scripted_policies.tools import (
    HALF_TURN,
    Tool,
    grasp,
    heading_across,
    tools_of,
)

POT = "pot_root"
HANDLES = ("pot_handle0", "pot_handle1")  # the first arm's, and the second's
BARS = tuple(tuple(f"{handle}_{bar}" for bar in "c-+") for handle in HANDLES)
EXTENT = Extent(radius=0.22627417, bottom=-0.07, top=0.07)  # m
AROUND = (-0.03, 0.03)  # m, where the pot stands from the middle of the table, along x and y
TURNED = (2 * pi / 3, 4 * pi / 3)  # rad, about the vertical

HALF_HEIGHT = 0.07  # m, of the pot's centre over its bottom
HIGH = 0.10  # m over the table: height of a lifted pot's bottom
UPRIGHT = cos(radians(30))  # least cosine of the pot's tilt
LOWEST, RISE = 0.05, 0.15  # m over the table: start and range of the raising reward
RAISE = 10.0  # rewards: per metre that the pot is raised,
GRASP, REACH, LIFTED = 0.25, 0.5, 3.0  # for each hand's hold and nearness, and for success


@register("robosuite/TwoArmLift-v0", tags=("tabletop", "two-arm"))
@dataclass(frozen=True)
class TwoArmLift(tabletop.TwoArms, tabletop.OneTable):
    """Lift a pot with two arms, each by its own handle, without spilling.

    Start: the arms near their published poses; the pot near the middle of the table, turned by 120
    to 240 degrees.

    Observation: the robots' entries (see `Tabletop`), then `pot_pos` (m), `pot_quat` (x, y, z, w),
    `handle0_xpos` and `handle1_xpos` (m), `gripper0_to_handle0` and `gripper1_to_handle1`, from the
    tools (m), in world axes.

    Reward: of 3, `lift` pays all while the pot's bottom is 10 cm above the table, and nothing if it
    is tilted by more than 30 degrees; until then `raise` pays 10 per metre from 5 to 20 cm above
    the table, unless it is tilted, and for each arm `reach` 0.5 (1 - tanh(10 d)) for a distance of
    d (m) between tool and handle, and `grasp` 0.25 for holding it. Success: 10 cm above the table.
    """

    most = LIFTED
    object_names = ("pot",)
    bodies: ClassVar = {"pot": POT}

    @property
    def default_placement(self) -> Placement:
        return Uniform(("pot",), AROUND, AROUND, rotation=TURNED, reference=tabletop.TABLE_TOP)

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        pot = mjcf.load("robosuite/pot.xml")
        scene.attach(pot, prefix="pot_", frame=scene.worldbody.add_frame())
        for arm in (0, 1):
            self.watch_grasp(scene, BARS[arm], arm)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {"pot": EXTENT}

    def objects(self, v: View) -> Arrays:
        pot = v.body(POT)
        handles = [v.site(handle).xpos for handle in HANDLES]
        return {
            "pot_pos": pot.xpos,
            "pot_quat": tabletop.xyzw(pot.xquat, v),
            "handle0_xpos": handles[0],
            "handle1_xpos": handles[1],
            "gripper0_to_handle0": self.from_tool(v, 0, handles[0]),
            "gripper1_to_handle1": self.from_tool(v, 1, handles[1]),
        }

    def height(self, v: View) -> Array:
        """The height of the pot's bottom above the table, m."""
        return v.site("pot_center").xpos[..., 2] - HALF_HEIGHT - tabletop.TABLE_TOP[2]

    def terms(self, v: View) -> Arrays:
        lifted = self.success(v)
        upright = tabletop.reward_if(v, v.body(POT).xmat[..., 8] >= UPRIGHT, 1.0)
        lift = {"lift": LIFTED * upright * tabletop.reward_if(v, lifted, 1.0)}
        if self.reward_type == "sparse":
            return lift
        on_the_way = tabletop.reward_if(v, ~lifted, 1.0)
        terms = {"raise": RAISE * upright * v.xp.clip(self.height(v) - LOWEST, 0.0, RISE)}
        for arm in (0, 1):
            distance = norm(self.from_tool(v, arm, v.site(HANDLES[arm]).xpos))
            terms[f"reach{arm}"] = REACH * tabletop.closeness(distance)
            terms[f"grasp{arm}"] = tabletop.reward_if(v, self.grasped(v, BARS[arm], arm), GRASP)
        return {**{name: on_the_way * value for name, value in terms.items()}, **lift}

    def success(self, v: View) -> Array:
        return self.height(v) > HIGH

    def scripted_policy(self) -> StagedPolicy:
        return lift_pot(self)


LIFT = 0.2 * UP  # m, rise of the handles
UP_SPEED = 0.3  # fraction of the largest displacement at which both arms rise alike


def lift_pot(task: tabletop.Tabletop) -> StagedPolicy:
    """Grasp both handles from above, then carry them up."""

    def stages(observation: Observation, *tools: Tool) -> list[tuple[Stage, ...]]:
        heading = heading_across(observation["pot_quat"])
        columns = []
        for i, tool in enumerate(tools):
            bar = observation[f"handle{i}_xpos"]
            turn = tool.facing(heading, HALF_TURN)
            rise = Stage(bar + LIFT, CLOSE, turn, lost=tool.away_from(bar), speed=UP_SPEED)
            columns.append((*grasp(bar, turn), rise))
        return list(zip(*columns, strict=True))

    return StagedPolicy(tools_of(task, 2), stages)
