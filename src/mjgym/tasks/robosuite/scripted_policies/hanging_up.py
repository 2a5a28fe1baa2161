"""Scripted policy of ToolHang."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.rotations import smallest_angle, to_world, unit
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    STRAIGHT,
    WHOLE_TURN,
    Reading,
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

UP, DOWN = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])
CARRY_HEIGHT = 1.22  # m, above the floor, of the hand: its load clears the stand

# The stand, from the centre of its foot upwards.
HOLE = np.array([0.0, 0.045, 0.0])  # m, to the axis of its hole
HOLE_TOP, HOLE_FLOOR = 0.155, 0.005  # m
# The frame, from its corner: down its post, and along its rod.
FRAME_GRIP, TIP = 0.034, 0.2207  # m, to the centre of its grip and to its tip
HOOK = 0.0875  # m, to the hook, which points up
ROD_TOP, HOOK_TOP = 0.00375, 0.01575  # m, upwards
# The tool, from its centre.
RING = 0.0935  # m, to the centre of its larger ring, against its x axis
TOOL_GRIP = 0.005  # m, upwards, to its grasp: long fingers clear the table

SIDE = np.array([0.0, -1.0, 0.0])  # direction of the hand that holds the upright frame
SLANT = np.pi / 4  # rad, down, of that hand: it tilts as much at its grasp of the lying frame
BACK = 0.1  # m, from the hand to the frame, before its grasp and after it
DEEP = 0.02  # m, from the grasp: long fingers stand on the table
LOWERING = 20  # control steps from there to the grasp
SETTLED = 40  # control steps until a released tool hangs still

ABOVE_HOLE, ABOVE_HOOK = 0.02, 0.03  # m, from there to the tip or the ring, until it is aligned
ON_ROD = 0.005  # m, from the rod to the centre of a released ring
ALIGNED = 0.03  # rad, tolerance for insertion
GENTLE, FIRM = 0.3, 0.6  # fractions of the largest displacement, as speed and as force
INSERTING = 50  # control steps to insert a frame


def hang_up(task: "ToolHang") -> StagedPolicy:
    """Insert the frame into the stand, then lower the tool's ring over the hook and release it.

    The hand grasps the lying frame from above and turns about the line of its fingers until the
    frame's post stands upright below them. The tool lies with level rings: beyond the hook, the
    ring goes over it from above, and the handle swings down once the fingers open.
    """
    tools = tools_of(task, 1)
    (tool,) = tools.tools

    def axes(observation: Observation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axes of the frame: x against its rod, y, and z up its post."""
        turned = rotation_of(observation["frame_quat"])
        return turned[..., 0::3], turned[..., 1::3], turned[..., 2::3]

    def high(observation: Observation) -> np.ndarray:
        return over(tool.position(observation), CARRY_HEIGHT)

    # Insert the frame into the stand, which an arm may have pushed on its way.

    def of_stand(observation: Observation, vector: np.ndarray) -> np.ndarray:
        turned = rotation_of(observation["base_quat"])
        return np.asarray(to_world(turned, np.broadcast_to(vector, (*turned.shape[:-1], 3))))

    def face(observation: Observation) -> np.ndarray:
        """1 if the hand points along the lying or upright frame's y axis, -1 if against it."""
        along = (axes(observation)[1] * (SIDE + 2 * DOWN)).sum(axis=-1, keepdims=True)
        return np.where(along > 0, 1.0, -1.0)

    def pointing(observation: Observation) -> np.ndarray:
        """Direction of the hand at its grasp of the frame."""
        _, y, z = axes(observation)
        return np.asarray(np.cos(SLANT) * face(observation) * y - np.sin(SLANT) * z)

    def frame_grip(observation: Observation) -> np.ndarray:
        return np.asarray(observation["frame_pos"] - FRAME_GRIP * axes(observation)[2])

    def before(observation: Observation) -> np.ndarray:
        return np.asarray(frame_grip(observation) - BACK * pointing(observation))

    def turn_to_grip(observation: Observation) -> np.ndarray:
        x = face(observation) * axes(observation)[0]
        return tool.turn_to(observation, frame(x, pointing(observation)))

    def set_upright(observation: Observation) -> np.ndarray:
        x = unit(np.cross(face(observation) * of_stand(observation, SIDE), UP))
        standing = frame(x, np.broadcast_to(UP, x.shape))
        return rotation_between(rotation_of(observation["frame_quat"]), standing)

    def tip_at(height: float) -> Reading:
        """Position of the tool that puts the frame's tip on the hole's axis, at a height."""

        def target(observation: Observation) -> np.ndarray:
            tip = observation["frame_pos"] - TIP * axes(observation)[2]
            to = observation["base_pos"] + of_stand(observation, HOLE) + height * UP
            return np.asarray(tool.position(observation) + to - tip)

        return target

    def fallen(observation: Observation) -> np.ndarray:
        return np.asarray(observation["frame_is_assembled"][..., 0] == 0)

    dropped = away_from(tool, frame_grip)
    insert = (
        Stage(before, OPEN, turn_to_grip, near=0.02, straight=STRAIGHT, steps=CLOSING),
        Stage(frame_grip, OPEN, turn_to_grip, near=DEEP, straight=STRAIGHT, steps=LOWERING),
        Stage(frame_grip, CLOSE, turn_to_grip, near=np.inf, steps=CLOSING),
        Stage(high, CLOSE, near=0.05, lost=dropped),
        Stage(high, CLOSE, set_upright, near=0.05, straight=STRAIGHT, lost=dropped),
        Stage(
            tip_at(HOLE_TOP + ABOVE_HOLE),
            CLOSE,
            set_upright,
            near=0.003,
            straight=ALIGNED,
            lost=dropped,
        ),
        Stage(
            tip_at(HOLE_FLOOR),
            CLOSE,
            set_upright,
            near=np.inf,
            steps=INSERTING,
            speed=GENTLE,
            lost=dropped,
        ),
        Stage(tip_at(HOLE_FLOOR), CLOSE, set_upright, near=0.008, speed=FIRM, lost=dropped),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(before, OPEN, turn_to_grip, near=0.02, lost=fallen),
    )

    # The tool onto the hook.

    def tool_grip(observation: Observation) -> np.ndarray:
        return np.asarray(observation["tool_pos"] + TOOL_GRIP * UP)

    def ring_at(height: float) -> Reading:
        """Position of the tool with the ring's centre above the hook, (m) over the corner."""

        def target(observation: Observation) -> np.ndarray:
            handle = rotation_of(observation["tool_quat"])[..., 0::3]
            ring = observation["tool_pos"] - RING * handle
            to = observation["frame_pos"] - HOOK * axes(observation)[0] + height * UP
            return np.asarray(tool.position(observation) + to - ring)

        return target

    def high_above_hook(observation: Observation) -> np.ndarray:
        return over(ring_at(HOOK_TOP)(observation), CARRY_HEIGHT)

    def outwards(observation: Observation) -> np.ndarray:
        """Angle to a handle that points away from the post."""
        x = axes(observation)[0]
        heading = np.arctan2(-x[..., 1], -x[..., 0])
        now = heading_of(observation["tool_quat"])
        return np.asarray(smallest_angle(heading - now, WHOLE_TURN))

    def down(observation: Observation) -> np.ndarray:
        return np.asarray(observation["tool_on_frame"][..., 0] == 0)

    turn = across(tool, "tool_quat", HALF_TURN)
    turn_outwards = within_reach(tool, upright(tool, outwards), WHOLE_TURN)
    slipped = away_from(tool, tool_grip)
    hang = (
        Stage(high, OPEN, near=0.05, until=down),
        Stage(
            lambda observation: over(tool_grip(observation), CARRY_HEIGHT),
            OPEN,
            within_reach(tool, turn, HALF_TURN, outwards),
            near=0.1,
            straight=STRAIGHT,
        ),
        *grasp(tool, tool_grip, turn),
        Stage(high, CLOSE, turn, near=0.03, lost=slipped),
        Stage(high_above_hook, CLOSE, turn_outwards, near=0.005, straight=0.05, lost=slipped),
        Stage(
            ring_at(HOOK_TOP + ABOVE_HOOK),
            CLOSE,
            turn_outwards,
            near=0.004,
            straight=ALIGNED,
            lost=slipped,
        ),
        Stage(
            ring_at(ROD_TOP + ON_ROD),
            CLOSE,
            turn_outwards,
            near=0.006,
            speed=GENTLE,
            lost=slipped,
        ),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(high, OPEN, near=0.05, steps=SETTLED),
        Stage(high, OPEN, lost=down),
    )
    return StagedPolicy(tools, [(*insert, *hang)], parts=(len(insert),))
