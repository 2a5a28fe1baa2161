"""Scripted policy of ToolHang."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    WHOLE_TURN,
    across,
    away_from,
    frame,
    grasp,
    heading_of,
    over,
    upright,
    within_reach,
)
from mjgym.tasks.robosuite.scripted_policies.tools import rotation_between, rotation_of, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.tool_hang import ToolHang

CARRY_HEIGHT = 1.22  # m, above the floor: the frame clears the stand, the tool the frame
UP, DOWN = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])

# The frame, from its corner: along its post downwards, and along its rod.
GRIP = 0.034  # m, to the middle of its grip
TIP = 0.2207  # m, to the tip
STUB = 0.0875  # m, to the hook, which points up at the end of the rod
ROD_TOP, HOOK_TOP = 0.00375, 0.01575  # m, upwards
# The stand, from its foot's middle.
HOLE = np.array([0.0, 0.045, 0.0])  # m, to the hole's axis
HOLE_TOP, HOLE_FLOOR = 0.155, 0.005  # m, upwards
ABOVE_HOLE = 0.02  # m, from the hole's rim to the frame's tip before it is lowered
# The tool, from its middle.
RING = 0.0935  # m, to the middle of the larger ring, against its x axis
ABOVE_HOOK = 0.03  # m, from the hook to the ring before it is lowered
ON_ROD = 0.005  # m, from the rod to the middle of the ring at release

LEAN = 0.3  # rad, of the hand that grasps the frame
RETREAT = 0.008  # m, of the tool from the middle of the grip: long fingers clear the table
BACK = 0.1  # m, from the grasp of the frame to the tool before and after it
SIDE = np.array([0.0, -1.0, 0.0])  # in which the hand points, besides down, at the stand


def hang(task: "ToolHang") -> StagedPolicy:
    """Stick the frame into the stand, then lower the tool's ring over its hook and let go."""
    tools = tools_of(task, 1)
    (tool,) = tools.tools

    def axes(observation: Observation) -> tuple[np.ndarray, ...]:
        """The frame's x, y and z axes."""
        turned = rotation_of(observation["frame_quat"])
        return turned[..., 0::3], turned[..., 1::3], turned[..., 2::3]

    def side(observation: Observation) -> np.ndarray:
        """1 or -1: the hand comes from the frame's -y or +y, (..., 1)."""
        _, y, _ = axes(observation)
        return np.where((y * (SIDE + 2 * DOWN)).sum(axis=-1, keepdims=True) > 0, 1.0, -1.0)

    def pointing(observation: Observation) -> np.ndarray:
        _, y, z = axes(observation)
        return np.asarray(np.cos(LEAN) * side(observation) * y - np.sin(LEAN) * z)

    def grip(observation: Observation) -> np.ndarray:
        middle = observation["frame_pos"] - GRIP * axes(observation)[2]
        return np.asarray(middle - RETREAT * pointing(observation))

    def before(observation: Observation) -> np.ndarray:
        return np.asarray(grip(observation) - BACK * pointing(observation))

    def turn_to_grip(observation: Observation) -> np.ndarray:
        x, _, _ = axes(observation)
        x = side(observation) * x
        return tool.turn_to(observation, frame(x, pointing(observation)))

    def set_upright(observation: Observation) -> np.ndarray:
        y = side(observation) * SIDE
        x = np.cross(y, UP)
        now = rotation_of(observation["frame_quat"])
        return rotation_between(now, frame(x, np.broadcast_to(UP, x.shape)))

    def tip_at(height: float):  # type: ignore[no-untyped-def]
        def target(observation: Observation) -> np.ndarray:
            tip = observation["frame_pos"] - TIP * axes(observation)[2]
            hole = observation["base_pos"] + HOLE + height * UP
            return np.asarray(tool.position(observation) + hole - tip)

        return target

    lost = away_from(tool, grip)
    assembled = lambda observation: observation["frame_is_assembled"][..., 0] > 0
    insert = (
        Stage(before, OPEN, turn_to_grip, near=0.02, straight=0.1, steps=CLOSING),
        Stage(grip, OPEN, turn_to_grip, near=0.012, straight=0.1, steps=CLOSING),
        Stage(grip, CLOSE, turn_to_grip, near=np.inf, steps=CLOSING),
        Stage(lambda o: over(tool.position(o), CARRY_HEIGHT), CLOSE, near=0.05, lost=lost),
        Stage(
            lambda o: over(tool.position(o), CARRY_HEIGHT), CLOSE, set_upright,
            near=0.05, straight=0.1, lost=lost,
        ),
        Stage(
            tip_at(HOLE_TOP + ABOVE_HOLE), CLOSE, set_upright, near=0.003, straight=0.03, lost=lost,
        ),
        Stage(tip_at(HOLE_FLOOR), CLOSE, set_upright, near=0.008, speed=0.3, lost=lost),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(before, OPEN, turn_to_grip, near=0.02, lost=lambda o: ~assembled(o)),
    )

    def ring(observation: Observation) -> np.ndarray:
        return observation["tool_pos"] - RING * rotation_of(observation["tool_quat"])[..., 0::3]

    def hook(observation: Observation) -> np.ndarray:
        return observation["frame_pos"] - STUB * axes(observation)[0]

    def outwards(observation: Observation) -> np.ndarray:
        x = axes(observation)[0]
        return np.arctan2(-x[..., 1], -x[..., 0]) - heading_of(observation["tool_quat"])

    def ring_at(height: float):  # type: ignore[no-untyped-def]
        def target(observation: Observation) -> np.ndarray:
            to = hook(observation) + height * UP
            return np.asarray(tool.position(observation) + to - ring(observation))

        return target

    def middle(observation: Observation) -> np.ndarray:
        return np.asarray(observation["tool_pos"] + RETREAT * UP)

    turn = across(tool, "tool_quat", HALF_TURN)
    from mjgym.rotations import smallest_angle
    turn_out = within_reach(
        tool, upright(tool, lambda o: smallest_angle(outwards(o), WHOLE_TURN)), WHOLE_TURN
    )
    slipped = away_from(tool, middle)
    hang_up = (
        Stage(lambda o: over(tool.position(o), CARRY_HEIGHT), OPEN, near=0.05),
        Stage(
            lambda o: over(middle(o), CARRY_HEIGHT), OPEN,
            within_reach(tool, turn, HALF_TURN, outwards), near=0.1, straight=0.1,
        ),
        *grasp(tool, middle, turn),
        Stage(lambda o: over(middle(o), CARRY_HEIGHT), CLOSE, turn, near=0.03, lost=slipped),
        Stage(
            lambda o: over(ring_at(0.0)(o), CARRY_HEIGHT), CLOSE, turn_out,
            near=0.005, straight=0.05, lost=slipped,
        ),
        Stage(ring_at(HOOK_TOP + ABOVE_HOOK), CLOSE, turn_out, near=0.003, straight=0.03, lost=slipped),
        Stage(ring_at(ROD_TOP + ON_ROD), CLOSE, turn_out, near=0.006, speed=0.3, lost=slipped),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(lambda o: over(tool.position(o), CARRY_HEIGHT), OPEN, near=0.05, steps=40),
        Stage(tool.position, OPEN),
    )
    return StagedPolicy(tools, [(*insert, *hang_up)], parts=(len(insert),))
