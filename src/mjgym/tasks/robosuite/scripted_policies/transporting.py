"""Scripted policy of TwoArmTransport."""

from dataclasses import replace

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, SideBySide, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP, at_height
from mjgym.rotations import norm
from mjgym.tasks.robosuite.scripted_policies import handing, tools
from mjgym.tasks.robosuite.tabletop import Tabletop

START = np.array([0.2, -0.45, 0.0])  # m, centre of the start bin
ASIDE = np.array([-0.25, -0.39, 0.85])  # m, where the lid's handle is released
BETWEEN = np.array([0.0, -0.28, 1.04])  # m, on the first arm's way from the lid to the hammer
# m, from the centre of a bin's floor to the release, on the far side from the arm.
INTO_TRASH, INTO_TARGET = np.array([0.0, -0.05, 0.14]), np.array([0.0, -0.02, 0.15])
OVER_RIM = 0.2 * UP  # m, above an object in a bin, before the tool descends
CLEAR = 0.008 * UP  # m, from the handle to the tool: fingers stay off the floor
# m over the floor, of a carrying tool: higher up and near its base, an arm would fold its elbow to
# the limit; the hammer's head may hang down.
CARRY, HANGING = 1.04, 1.16
SPEED, SLOW = 0.5, 0.3  # fractions of the largest displacement: for loads, for the hammer
SETTLING = 25  # control steps for swinging joints to come to rest
ARRIVED = 0.03  # m, tolerance of the hammer's position at the handover
TAKEN, LEFT = 0.03, 0.12  # m, of a hand from its grasp of the hammer, and after the release
SLIPPED = 0.17  # m, from the second hand to the centre of a lost hammer
HOLDING, STILL = 0.06, 0.05  # m and m/s, of fingers that hold a handle


def transport(task: Tabletop) -> SideBySide:
    """Take lid and trash away at the same time, then hand over the hammer and put it down."""
    both = tools.tools_of(task, 2)
    first, second = both.arms
    return SideBySide(
        StagedPolicy(
            tools.Tools((first,), both.size, others=(second,)), _uncover, _present, _let_go
        ),
        StagedPolicy(tools.Tools((second,), both.size, others=(first,)), _tidy, _take),
    )


def _hammer(observation: Observation, first: tools.Tool, second: tools.Tool) -> handing.Handle:
    position, quaternion = observation["payload_pos"], observation["payload_quat"]
    return handing.Handle(first, second, position, quaternion, side=handing.TO_SECOND)


def _tidied(observation: Observation) -> np.ndarray:
    return observation["trash_in_trash_bin"].reshape(observation["trash_pos"].shape[:-1]) > 0


def _uncover(observation: Observation, first: tools.Tool, second: tools.Tool) -> list[Stage]:
    """The first arm takes the lid off."""
    lid = observation["lid_handle_pos"]
    turn = first.facing(tools.heading_of(observation["lid_handle_quat"]), tools.HALF_TURN)
    turn = first.within_reach(turn, tools.HALF_TURN)
    return [*tools.grasp(lid, turn), *_put(first, lid, START, ASIDE)]


def _present(observation: Observation, first: tools.Tool, second: tools.Tool) -> list[Stage]:
    """The first arm picks up the hammer and presents it, until the second has taken it."""
    handle = _hammer(observation, first, second)
    across = first.facing(handle.heading, tools.HALF_TURN)
    turn = first.within_reach(across, tools.HALF_TURN, handle.to_meeting())
    # The hammer over the centre of the bin, clear of its walls.
    centre = 2 * observation["payload_pos"] - handle.middle
    raised = at_height(first.position + (START - centre), HANGING)
    present = Stage(
        handle.held, CLOSE, handle.present, 0.02, tools.STRAIGHT, lost=handle.lost, speed=SLOW
    )
    # Fingers that have come to rest around something.
    opening = np.abs(second.entry("gripper_qpos")).sum(axis=-1)
    still = np.abs(second.entry("gripper_qvel")).max(axis=-1) < STILL
    at_end = norm(second.position - handle.free_end) < TAKEN
    taken = at_end & ((opening < HOLDING) & still)
    tidied = _tidied(observation)
    return [
        Stage(BETWEEN, OPEN, first.upright(), near=0.1, until=tidied, speed=SPEED),
        *_grasp_in_bin(handle.grip + CLEAR, turn),
        Stage(raised, CLOSE, turn, near=0.03, lost=handle.lost, speed=SLOW),
        present,
        replace(present, near=np.inf, straight=np.inf, until=taken),
    ]


def _let_go(observation: Observation, first: tools.Tool, second: tools.Tool) -> list[Stage]:
    return [
        Stage(first.position, OPEN, steps=tools.CLOSING),
        Stage(
            first.position - handing.BACK * handing.GIVING, OPEN, near=np.inf, steps=tools.CLOSING
        ),
        Stage(first.position, OPEN),
    ]


def _tidy(observation: Observation, second: tools.Tool, first: tools.Tool) -> list[Stage]:
    """The second arm removes the trash."""
    trash = observation["trash_pos"]
    turn = second.facing(tools.heading_across(observation["trash_quat"]), tools.QUARTER_TURN)
    turn = second.within_reach(turn, tools.QUARTER_TURN)
    place = observation["trash_bin_pos"] + INTO_TRASH
    littered = ~_tidied(observation)
    return [
        *_grasp_in_bin(trash, turn),
        *_put(second, trash, observation["target_bin_pos"], place, missed=littered),
    ]


def _take(observation: Observation, second: tools.Tool, first: tools.Tool) -> list[Stage]:
    """The second arm takes the hammer and puts it down."""
    handle = _hammer(observation, first, second)
    off = norm(handle.middle - handing.MEETING)
    presented = (off < ARRIVED) & (norm(handle.present) < 2 * tools.STRAIGHT)
    gone = off > 3 * ARRIVED
    alone = first.away_from(handle.middle, LEFT)
    place = observation["target_bin_pos"] + INTO_TARGET

    def take(fingers: float, back: float, near: float, steps: int = 0) -> Stage:
        target = handle.free_end - back * handing.TAKING
        turn, straight = handle.receive, 2 * tools.STRAIGHT
        return Stage(target, fingers, turn, near, straight, steps, lost=gone, speed=0.4)

    return [
        Stage(handing.WAITING, OPEN, handle.receive, near=np.inf, until=presented),
        take(OPEN, handing.BACK, 0.02),
        take(OPEN, 0.0, 0.025),
        take(CLOSE, 0.0, np.inf, tools.CLOSING),
        Stage(second.position, CLOSE, until=alone, lost=gone),
        *_put(
            second,
            observation["payload_pos"],
            handing.MEETING,
            place,
            HANGING,
            near=0.025,
            lost=SLIPPED,
        ),
    ]


def _grasp_in_bin(place: np.ndarray, turn: np.ndarray) -> tuple[Stage, ...]:
    """Stages that grasp an object in a bin, with time for the arm to settle; see `grasp`."""
    ahead, down, close = tools.grasp(place, turn, steps=SETTLING, above=OVER_RIM)
    settled = replace(down, near=0.012, straight=tools.STRAIGHT, steps=SETTLING, speed=SPEED)
    return ahead, settled, replace(close, steps=2 * tools.CLOSING)


def _put(
    tool: tools.Tool,
    thing: np.ndarray,
    start: np.ndarray,
    place: np.ndarray,
    height: float = CARRY,
    near: float = 0.015,
    lost: float = 0.06,
    missed: np.ndarray | None = None,
) -> tuple[Stage, ...]:
    """Stages that carry a held object to a place, from above, and release it.

    It is raised over `start`, whose height is ignored, carried at a height of the tool (m) and let
    go at `place`, to within `near` (m). It is `lost` further than that from the tool (m), and the
    part begins again where it has `missed` its place, (...) bool.
    """
    turn, slipped = tool.upright(), tool.away_from(thing, lost)
    raised = at_height(start + tool.position - thing, height)
    release = place + tool.position - thing
    over_place = at_height(release, height)
    return (
        Stage(raised, CLOSE, near=0.03, lost=slipped, speed=SPEED),
        Stage(over_place, CLOSE, turn, near, straight=0.15, lost=slipped, speed=SPEED),
        Stage(release, CLOSE, turn, near, lost=slipped),
        Stage(tool.position, OPEN, steps=tools.CLOSING),
        Stage(at_height(place, height), OPEN, near=0.05, lost=missed),
    )
