"""Scripted policy of TwoArmLift."""

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP
from mjgym.tasks.robosuite.scripted_policies.motions import HALF_TURN, grasp, heading_across
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop

LIFT = 0.2 * UP  # m, rise of the handles
UP_SPEED = 0.3  # fraction of the largest displacement at which both arms rise alike


def lift_pot(task: Tabletop) -> StagedPolicy:
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
