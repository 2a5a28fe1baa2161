"""Scripted policy of ToolHang."""

from functools import partial

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import DOWN, UP, at_height, frame, rotation_between
from mjgym.rotations import smallest_angle, to_world, unit
from mjgym.tasks.robosuite.scripted_policies import tools
from mjgym.tasks.robosuite.tabletop import Tabletop

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


def hang_up(task: Tabletop) -> StagedPolicy:
    """Insert the frame into the stand, then lower the tool's ring over the hook and release it.

    The hand grasps the lying frame from above and turns about the line of its fingers until the
    frame's post stands upright below them. The tool lies with level rings: beyond the hook, the
    ring goes over it from above, and the handle swings down once the fingers open.
    """
    return StagedPolicy(tools.tools_of(task, 1), _insert, _hang)


def _axes(rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rotation[..., 0::3], rotation[..., 1::3], rotation[..., 2::3]


def _insert(observation: Observation, hand: tools.Tool) -> list[Stage]:
    """Insert the frame into the stand, which an arm may have pushed on its way."""
    corner, rotation = observation["frame_pos"], tools.rotation_of(observation["frame_quat"])
    x, y, z = _axes(rotation)  # x against its rod, z up its post
    stand = tools.rotation_of(observation["base_quat"])

    def of_stand(vector: np.ndarray) -> np.ndarray:
        return np.asarray(to_world(stand, np.broadcast_to(vector, x.shape)))

    # 1 if the hand points along the lying or upright frame's y axis, -1 if against it.
    face = np.where((y * (SIDE + 2 * DOWN)).sum(axis=-1, keepdims=True) > 0, 1.0, -1.0)
    pointing = np.cos(SLANT) * face * y - np.sin(SLANT) * z
    grip = corner - FRAME_GRIP * z
    before = grip - BACK * pointing
    to_grip = hand.turn_to(frame(face * x, pointing))
    standing = frame(unit(np.cross(face * of_stand(SIDE), UP)), np.broadcast_to(UP, x.shape))
    set_upright = rotation_between(rotation, standing)
    high = at_height(hand.position, CARRY_HEIGHT)
    dropped = hand.away_from(grip)
    fallen = observation["frame_is_assembled"][..., 0] == 0

    def tip_at(height: float) -> np.ndarray:
        """Position of the hand with the frame's tip on the hole's axis, at a height."""
        to = observation["base_pos"] + of_stand(HOLE) + height * UP
        return np.asarray(hand.position + to - (corner - TIP * z))

    above_hole, inserted = tip_at(HOLE_TOP + ABOVE_HOLE), tip_at(HOLE_FLOOR)

    carry = partial(Stage, fingers=CLOSE, lost=dropped)
    insert = partial(carry, turn=set_upright)
    return [
        Stage(before, OPEN, to_grip, near=0.02, straight=tools.STRAIGHT, steps=tools.CLOSING),
        Stage(grip, OPEN, to_grip, near=DEEP, straight=tools.STRAIGHT, steps=LOWERING),
        Stage(grip, CLOSE, to_grip, near=np.inf, steps=tools.CLOSING),
        carry(high, near=0.05),
        insert(high, near=0.05, straight=tools.STRAIGHT),
        insert(above_hole, near=0.003, straight=ALIGNED),
        insert(inserted, near=np.inf, steps=INSERTING, speed=GENTLE),
        insert(inserted, near=0.008, speed=FIRM),
        Stage(hand.position, OPEN, steps=tools.CLOSING),
        Stage(before, OPEN, to_grip, near=0.02, lost=fallen),
    ]


def _hang(observation: Observation, hand: tools.Tool) -> list[Stage]:
    tool, quaternion = observation["tool_pos"], observation["tool_quat"]
    x, *_ = _axes(tools.rotation_of(observation["frame_quat"]))
    grip = tool + TOOL_GRIP * UP
    ring = tool - RING * tools.rotation_of(quaternion)[..., 0::3]
    # Angle to a handle that points away from the post.
    outwards = np.arctan2(-x[..., 1], -x[..., 0]) - tools.heading_of(quaternion)
    outwards = smallest_angle(outwards, tools.WHOLE_TURN)
    turn = hand.facing(tools.heading_across(quaternion), tools.HALF_TURN)
    ready = hand.within_reach(turn, tools.HALF_TURN, outwards)
    turn_outwards = hand.within_reach(hand.upright(outwards), tools.WHOLE_TURN)
    high = at_height(hand.position, CARRY_HEIGHT)
    slipped = hand.away_from(grip)
    down = observation["tool_on_frame"][..., 0] == 0

    def ring_at(height: float) -> np.ndarray:
        """Position of the hand with the ring's centre above the hook, (m) over the corner."""
        to = observation["frame_pos"] - HOOK * x + height * UP
        return np.asarray(hand.position + to - ring)

    above_hook, on_rod = ring_at(HOOK_TOP + ABOVE_HOOK), ring_at(ROD_TOP + ON_ROD)
    high_above_hook = at_height(above_hook, CARRY_HEIGHT)
    carry = partial(Stage, fingers=CLOSE, lost=slipped)
    hang = partial(carry, turn=turn_outwards)
    return [
        Stage(high, OPEN, near=0.05, until=down),
        Stage(at_height(grip, CARRY_HEIGHT), OPEN, ready, near=0.1, straight=tools.STRAIGHT),
        *tools.grasp(grip, turn),
        carry(high, turn=turn, near=0.03),
        hang(high_above_hook, near=0.005, straight=0.05),
        hang(above_hook, near=0.004, straight=ALIGNED),
        hang(on_rod, near=0.006, speed=GENTLE),
        Stage(hand.position, OPEN, steps=tools.CLOSING),
        Stage(high, OPEN, near=0.05, steps=SETTLED),
        Stage(high, OPEN, lost=down),
    ]
