"""Scripted policy of TwoArmTransport."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.handing import (
    LOST,
    Handle,
    give_and_take,
    pick_up,
    waiting,
)
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    QUARTER_TURN,
    Reading,
    across,
    away_from,
    facing,
    grasp,
    heading_of,
    held_still,
    over,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.two_arm_transport import TwoArmTransport

CARRY = 1.12  # m over the floor, of what is carried out of a bin and into one
ASIDE = np.array([-0.2, -0.45, 0.85])  # m, where the lid's handle is let go
INTO_TRASH, INTO_TARGET = 0.12, 0.06  # m over a bin's floor, where things are let go
OVER_RIM = np.array([0.0, 0.0, 0.3])  # m, from what lies in a bin to the tool before it descends
SPEED = 0.5  # share of the greatest displacement, of what is carried
DIAGONAL = np.pi / 4  # rad, the hammer's angle to the walls of the bin, where it has most room


def transport(task: "TwoArmTransport") -> StagedPolicy:
    """Take lid and trash away at the same time, then hand the hammer over and put it down."""
    tools = tools_of(task, 2)
    first, second = tools.tools
    handle = Handle(first, second, "payload_pos", "payload_quat")

    def lid(observation: Observation) -> np.ndarray:
        return observation["lid_handle_pos"]

    def along_x(observation: Observation) -> np.ndarray:
        """The heading across the lid's handle."""
        return heading_of(observation["lid_handle_quat"])

    def aside(observation: Observation) -> np.ndarray:
        return np.broadcast_to(ASIDE, lid(observation).shape)

    def trash(observation: Observation) -> np.ndarray:
        return observation["trash_pos"]

    def over_trash_bin(observation: Observation) -> np.ndarray:
        return np.asarray(observation["trash_bin_pos"] + np.array([0.0, 0.0, INTO_TRASH]))

    def payload(observation: Observation) -> np.ndarray:
        return observation["payload_pos"]

    def over_target_bin(observation: Observation) -> np.ndarray:
        return np.asarray(observation["target_bin_pos"] + np.array([0.0, 0.0, INTO_TARGET]))

    def diagonal(observation: Observation) -> np.ndarray:
        return np.full(payload(observation).shape[:-1], DIAGONAL)

    turn_lid = facing(first, along_x, HALF_TURN)
    uncover = (*grasp(first, lid, turn_lid), *_put(first, lid, aside, turn_lid))
    turn_trash = across(second, "trash_quat", QUARTER_TURN)
    tidy = (
        *grasp(second, trash, turn_trash, above=OVER_RIM),
        *_put(second, trash, over_trash_bin, turn_trash),
    )
    picking = pick_up(handle, CARRY, OVER_RIM)
    giving, taking = zip(*give_and_take(handle), strict=True)
    place = _put(
        second, payload, over_target_bin, facing(second, diagonal, QUARTER_TURN), lost=LOST
    )
    rest = Stage(lambda observation: over(first.position(observation), CARRY), OPEN, near=np.inf)
    return StagedPolicy(
        tools,
        [
            (*uncover, *picking, *giving, *([rest] * len(place))),
            (*tidy, *([waiting(handle)] * len(picking)), *taking, *place),
        ],
    )


def _put(
    tool: Tool, thing: Reading, place: Reading, turn: Reading, lost: float = 0.06
) -> tuple[Stage, ...]:
    """Stages that carry what a tool holds to a place, from above, and let it go.

    Args:
        tool: that holds it.
        thing: its position, (..., 3) m.
        place: its position where it is let go.
        turn: of the tool, see `Stage`.
        lost: from the tool to the thing if it has been lost, m.
    """

    def moved(observation: Observation) -> np.ndarray:
        return np.asarray(place(observation) + tool.position(observation) - thing(observation))

    def up(observation: Observation) -> np.ndarray:
        return over(tool.position(observation), CARRY)

    slipped = away_from(tool, thing, lost)
    return (
        Stage(up, CLOSE, near=0.03, lost=slipped, speed=SPEED),
        Stage(
            lambda observation: over(moved(observation), CARRY),
            CLOSE,
            turn,
            near=0.015,
            straight=0.15,
            lost=slipped,
            speed=SPEED,
        ),
        Stage(moved, CLOSE, turn, near=0.015, lost=slipped),
        held_still(tool, OPEN, CLOSING),
        Stage(up, OPEN, near=0.03),
    )
