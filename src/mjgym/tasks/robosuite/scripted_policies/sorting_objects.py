"""Scripted policies of PickPlace and NutAssembly."""

from functools import partial

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP, at_height, level
from mjgym.rotations import norm, smallest_angle
from mjgym.tasks.robosuite.scripted_policies import tools
from mjgym.tasks.robosuite.sorting import Sorting

CARRY_HEIGHT = 1.1  # m, above the floor: clears the walls of the bins and the pegs
MISSED = 0.05  # m, from its destination, of an object that missed it
STRAIGHT = 0.06  # rad, largest rotation of a nut that still fits over its peg
TALL = 0.05  # m, of the grasp above its frame: an object that tall may be knocked over
KNOCKED = 0.4  # rad, rotation of an object that is knocked over by the descending hand
TIPPED = 0.8  # cosine of the angle from the vertical at which its axis counts as tipped
# For each object: the grasp along its x axis and above its frame, and the height of its frame at
# release, m. In this order: tall objects first, which the hand would knock over on its way to the
# others; the farthest last, from which a stretched arm returns badly.
GRIPS = {
    "Cereal": (0.0, 0.055, 0.904),
    "Milk": (0.0, 0.055, 0.89),
    "Bread": (0.0, 0.016, 0.92),
    "Can": (0.0, 0.022, 0.915),
    "SquareNut": (0.06, 0.004, 0.9),
    "RoundNut": (0.066, 0.004, 0.9),
}


def sort(task: Sorting, aligned: bool) -> StagedPolicy:
    """Put the objects away, one after the other."""
    order = list(GRIPS)
    labels = sorted(task.labels_of_objects.items(), key=lambda item: order.index(item[1][0]))
    parts = []
    for label, names in labels:
        constants = np.array([[*GRIPS[name], *task.goal(name)] for name in names])
        parts.append(partial(_put_away, label, constants, aligned))
    return StagedPolicy(tools.tools_of(task, 1), *parts)


def _put_away(
    label: str, constants: np.ndarray, aligned: bool, observation: Observation, tool: tools.Tool
) -> list[Stage]:
    """Stages that put one object away.

    `constants`, (n, 5), has its row of `GRIPS` and the centre of its destination, m, for each
    object that entries of this label may be of; the entry "<label>_id" tells which it is.
    """
    place, quaternion = observation[f"{label}_pos"], observation[f"{label}_quat"]
    which = np.zeros(place.shape[:-1], dtype=np.int64)
    if len(constants) > 1:
        which = observation[f"{label}_id"].reshape(which.shape).astype(np.int64)
    along, above, height, *goal = np.moveaxis(constants[which], -1, 0)
    heading, axis = tools.heading_of(quaternion), tools.rotation_of(quaternion)[..., 2::3]
    # A tall object that has been knocked over is grasped across its axis.
    fallen = (above >= TALL) & (axis[..., 2] < TIPPED)
    up = np.where(fallen[..., None], axis, UP)
    grip = place + along[..., None] * level(heading) + above[..., None] * up
    along_axis = np.arctan2(axis[..., 1], axis[..., 0])
    turn = tool.facing(np.where(fallen, along_axis, heading) + tools.QUARTER_TURN, tools.HALF_TURN)
    knocked = norm(turn) > KNOCKED
    # With the object's x axis towards the arm.
    to_place = smallest_angle(np.pi - heading, tools.WHOLE_TURN) * aligned
    turn_to_place = tool.within_reach(tool.upright(to_place), tools.WHOLE_TURN)
    ready = tool.within_reach(turn, tools.HALF_TURN, to_place)
    release = np.stack([*goal, height], axis=-1) + tool.position - place
    beside = np.abs(place[..., 0:2] - np.stack(goal, axis=-1)).max(axis=-1)
    missed = (beside > MISSED) | (place[..., 2] > height + MISSED)
    lost = tool.away_from(grip)
    over_grip, over_place = at_height(grip, CARRY_HEIGHT), at_height(release, CARRY_HEIGHT)
    # Turn near the arm: on the way, a handle that points away would stretch it.
    turning = Stage(tool.position, CLOSE, turn_to_place, straight=0.2, lost=lost)
    return [
        # High above: a stretched arm that descends on its way locks its elbow.
        Stage(over_grip, OPEN, ready, near=0.1, straight=STRAIGHT),
        *tools.grasp(grip, turn, lost=knocked),
        Stage(over_grip, CLOSE, turn, near=0.03),
        *((turning,) if aligned else ()),
        Stage(over_place, CLOSE, turn_to_place, near=0.005, straight=STRAIGHT, lost=lost),
        Stage(release, CLOSE, turn_to_place, near=0.008, lost=lost),
        Stage(tool.position, OPEN, steps=tools.CLOSING),
        Stage(at_height(tool.position, CARRY_HEIGHT), OPEN, tool.upright(), near=0.03, lost=missed),
    ]
