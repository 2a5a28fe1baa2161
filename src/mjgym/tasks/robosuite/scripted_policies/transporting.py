"""Scripted policy of TwoArmTransport."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, SideBySide, Stage, StagedPolicy
from mjgym.rotations import norm
from mjgym.tasks.robosuite.scripted_policies.handing import (
    BACK,
    LOST,
    MEETING,
    TO_SECOND,
    Handle,
    pointing,
    waiting,
)
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    QUARTER_TURN,
    STRAIGHT,
    Reading,
    across,
    away_from,
    facing,
    grasp,
    heading_of,
    held_still,
    over,
    upright,
    within_reach,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, Tools, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.two_arm_transport import TwoArmTransport

START = np.array([0.2, -0.45, 0.0])  # m, centre of the start bin
ASIDE = np.array([-0.25, -0.39, 0.85])  # m, where the lid's handle is released
BETWEEN = np.array([0.0, -0.28, 1.04])  # m, on the first arm's way from the lid to the hammer
# m, from the centre of a bin's floor to the release, on the far side from the arm.
INTO_TRASH, INTO_TARGET = np.array([0.0, -0.05, 0.14]), np.array([0.0, -0.02, 0.15])
OVER_RIM = np.array([0.0, 0.0, 0.2])  # m, above an object in a bin, before the tool descends
CLEAR = np.array([0.0, 0.0, 0.008])  # m, from the handle to the tool: fingers stay off the floor
# m over the floor, of a carrying tool: higher up and near its base, an arm would fold its elbow to
# the limit; the hammer's head may hang down.
CARRY, HANGING = 1.04, 1.16
SPEED, SLOW = 0.5, 0.3  # fractions of the largest displacement: for loads, for the hammer
SETTLING = 25  # control steps for swinging joints to come to rest
ARRIVED = 0.03  # m, tolerance of the hammer's position at the handover
TAKEN, LEFT = 0.03, 0.12  # m, of a hand from its grasp of the hammer, and after the release
SLIPPED = 0.17  # m, from the second hand to the centre of a lost hammer
HOLDING, STILL = 0.06, 0.05  # m and m/s, of fingers that hold a handle


def transport(task: "TwoArmTransport") -> SideBySide:
    """Take lid and trash away at the same time, then hand over the hammer and put it down."""
    both = tools_of(task, 2)
    first, second = both.tools
    handle = Handle(first, second, "payload_pos", "payload_quat", side=TO_SECOND)
    return SideBySide(
        (_give(Tools((first,), both.size), handle), _take(Tools((second,), both.size), handle))
    )


def _lid(observation: Observation) -> np.ndarray:
    """Position of the lid's handle, (..., 3) m."""
    return observation["lid_handle_pos"]


def _trash(observation: Observation) -> np.ndarray:
    """Position of the trash, (..., 3) m."""
    return observation["trash_pos"]


def _tidied(observation: Observation) -> np.ndarray:
    """Whether the trash is in its bin, (...) bool."""
    inside = observation["trash_in_trash_bin"] > 0
    return np.asarray(inside.reshape(_trash(observation).shape[:-1]))


def _holding(tool: Tool, observation: Observation) -> np.ndarray:
    """Whether a tool's fingers have come to rest around something, (...) bool."""
    opening = np.abs(observation[f"{tool.label}gripper_qpos"]).sum(axis=-1)
    speed = np.abs(observation[f"{tool.label}gripper_qvel"]).max(axis=-1)
    return np.asarray((opening < HOLDING) & (speed < STILL))


def _give(tools: Tools, handle: Handle) -> StagedPolicy:
    """Stages of the first arm: take the lid off, pick up the hammer, hand it over."""
    first, second = handle.first, handle.second

    def start_bin(observation: Observation) -> np.ndarray:
        return np.broadcast_to(START, _lid(observation).shape)

    def aside(observation: Observation) -> np.ndarray:
        return np.broadcast_to(ASIDE, _lid(observation).shape)

    def along_x(observation: Observation) -> np.ndarray:
        """Heading across the lid's handle."""
        return heading_of(observation["lid_handle_quat"])

    def grip(observation: Observation) -> np.ndarray:
        return np.asarray(handle.grip(observation) + CLEAR)

    def raised(observation: Observation) -> np.ndarray:
        """Position of the tool with the hammer over the centre of the bin, clear of its walls."""
        way = START - handle.centre(observation)
        return over(first.position(observation) + way, HANGING)

    def taken(observation: Observation) -> np.ndarray:
        """Whether the second tool has closed around the free end."""
        way = second.position(observation) - handle.free_end(observation)
        return np.asarray((norm(way) < TAKEN) & _holding(second, observation))

    def away(observation: Observation) -> np.ndarray:
        return first.position(observation) - BACK * pointing(1.0)

    turn = within_reach(first, facing(first, along_x, HALF_TURN), HALF_TURN)
    uncover = (*grasp(first, _lid, turn), *_put(first, _lid, start_bin, aside))
    across_handle = facing(first, handle.heading, HALF_TURN)
    turn_hammer = within_reach(first, across_handle, HALF_TURN, handle.to_meeting)
    lost = away_from(first, handle.middle, LOST)
    picking = (
        *_grasp_in_bin(first, grip, turn_hammer),
        Stage(raised, CLOSE, turn_hammer, near=0.03, lost=lost, speed=SLOW),
    )
    present = Stage(
        handle.held, CLOSE, handle.present, near=0.02, straight=STRAIGHT, lost=lost, speed=SLOW
    )
    rest = Stage(first.position, OPEN)
    between = Stage(
        lambda observation: np.broadcast_to(BETWEEN, _lid(observation).shape),
        OPEN,
        upright(first),
        near=0.1,
        until=_tidied,
        speed=SPEED,
    )
    stages = (
        *uncover,
        between,
        *picking,
        present,
        replace(present, near=np.inf, straight=np.inf, until=taken),
        held_still(first, OPEN, CLOSING),
        Stage(away, OPEN, near=np.inf, steps=CLOSING),
        rest,
    )
    handover = len(stages) - 3
    return StagedPolicy(tools, [stages], parts=[len(uncover), handover])


def _take(tools: Tools, handle: Handle) -> StagedPolicy:
    """Stages of the second arm: remove the trash, take the hammer, put it down."""
    first, second = handle.first, handle.second

    def target_bin(observation: Observation) -> np.ndarray:
        return observation["target_bin_pos"]

    def meeting(observation: Observation) -> np.ndarray:
        return np.broadcast_to(MEETING, payload(observation).shape)

    def over_trash_bin(observation: Observation) -> np.ndarray:
        return np.asarray(observation["trash_bin_pos"] + INTO_TRASH)

    def payload(observation: Observation) -> np.ndarray:
        return observation["payload_pos"]

    def over_target_bin(observation: Observation) -> np.ndarray:
        return np.asarray(target_bin(observation) + INTO_TARGET)

    def at_meeting(observation: Observation) -> np.ndarray:
        return np.asarray(
            (norm(handle.middle(observation) - MEETING) < ARRIVED)
            & (norm(handle.present(observation)) < 2 * STRAIGHT)
        )

    def gone(observation: Observation) -> np.ndarray:
        """Whether the hammer is far from the meeting point."""
        return np.asarray(norm(handle.middle(observation) - MEETING) > 3 * ARRIVED)

    def alone(observation: Observation) -> np.ndarray:
        """Whether the first hand has left."""
        return away_from(first, handle.middle, LEFT)(observation)

    def taking(fingers: float, back: float, near: float, steps: int = 0) -> Stage:
        def place(observation: Observation) -> np.ndarray:
            return handle.free_end(observation, back)

        return Stage(
            place,
            fingers,
            handle.receive,
            near=near,
            straight=2 * STRAIGHT,
            steps=steps,
            lost=gone,
            speed=0.4,
        )

    def littered(observation: Observation) -> np.ndarray:
        return ~_tidied(observation)

    turn = within_reach(second, across(second, "trash_quat", QUARTER_TURN), QUARTER_TURN)
    tidy = (
        *_grasp_in_bin(second, _trash, turn),
        *_put(second, _trash, target_bin, over_trash_bin, missed=littered),
    )
    wait = replace(waiting(handle), until=at_meeting)
    kept = taking(CLOSE, 0.0, np.inf, CLOSING)
    take = (
        wait,
        taking(OPEN, BACK, 0.02),
        taking(OPEN, 0.0, 0.025),
        kept,
        Stage(second.position, CLOSE, until=alone, lost=gone),
    )
    place = _put(second, payload, meeting, over_target_bin, HANGING, near=0.025, lost=SLIPPED)
    return StagedPolicy(tools, [(*tidy, *take, *place)], parts=[len(tidy)])


def _grasp_in_bin(tool: Tool, place: Reading, turn: Reading) -> tuple[Stage, ...]:
    """Stages that grasp an object in a bin, with time for the arm to settle; see `grasp`."""
    ahead, down, close = grasp(tool, place, turn, steps=SETTLING, above=OVER_RIM)
    settled = replace(down, near=0.012, straight=STRAIGHT, steps=SETTLING, speed=SPEED)
    return ahead, settled, replace(close, steps=2 * CLOSING)


def _put(
    tool: Tool,
    thing: Reading,
    start: Reading,
    place: Reading,
    height: float = CARRY,
    near: float = 0.015,
    lost: float = 0.06,
    missed: Reading | None = None,
) -> tuple[Stage, ...]:
    """Stages that carry a held object to a place, from above, and release it.

    Args:
        tool: the tool that holds it.
        thing: position of the object, (..., 3) m.
        start: position over which it is raised; the height is ignored.
        place: position of the release.
        height: of the tool on the way, m over the floor.
        near: largest distance from the place, m.
        lost: distance from the tool to a lost object, m.
        missed: whether the object missed its place, (...) bool.
    """
    turn = upright(tool)

    def moved(to: Reading, observation: Observation) -> np.ndarray:
        """Position of the tool that moves the object to another."""
        return np.asarray(to(observation) + tool.position(observation) - thing(observation))

    slipped = away_from(tool, thing, lost)
    return (
        Stage(
            lambda observation: over(moved(start, observation), height),
            CLOSE,
            near=0.03,
            lost=slipped,
            speed=SPEED,
        ),
        Stage(
            lambda observation: over(moved(place, observation), height),
            CLOSE,
            turn,
            near=near,
            straight=0.15,
            lost=slipped,
            speed=SPEED,
        ),
        Stage(lambda observation: moved(place, observation), CLOSE, turn, near=near, lost=slipped),
        held_still(tool, OPEN, CLOSING),
        Stage(lambda observation: over(place(observation), height), OPEN, near=0.05, lost=missed),
    )
