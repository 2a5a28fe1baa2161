"""Scripted policies of PickPlace and NutAssembly."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.rotations import norm, smallest_angle
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    QUARTER_TURN,
    WHOLE_TURN,
    away_from,
    facing,
    grasp,
    heading_of,
    level,
    over,
    upright,
    within_reach,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tools, rotation_of, tools_of

if TYPE_CHECKING:
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


def sort(task: "Sorting", aligned: bool) -> StagedPolicy:
    """Put the objects away, one after the other.

    Args:
        task: the task.
        aligned: whether objects fit their places only when aligned with the world's axes.
    """
    tools = tools_of(task, 1)
    order = list(GRIPS)
    labels = sorted(task.labels_of_objects.items(), key=lambda item: order.index(item[1][0]))
    objects = [_put_away(task, tools, label, names, aligned) for label, names in labels]
    parts = np.cumsum([len(stages) for stages in objects])[:-1].tolist()
    return StagedPolicy(tools, [[stage for stages in objects for stage in stages]], parts=parts)


def _put_away(
    task: "Sorting", tools: Tools, label: str, names: tuple[str, ...], aligned: bool
) -> tuple[Stage, ...]:
    """Stages that put one object away.

    Args:
        task: the task.
        tools: tools, including the one that carries it.
        label: prefix of the object's observation entries.
        names: possible objects of that prefix; the entry "<label>_id" tells which it is.
        aligned: see `sort`.
    """
    (tool,) = tools.tools
    pos, quat = f"{label}_pos", f"{label}_quat"
    constants = np.array([[*GRIPS[name], *task.goal(name)] for name in names])

    def constants_of(observation: Observation) -> tuple[np.ndarray, ...]:
        """Row of `GRIPS` of the object and the centre of its destination, (..., 1) each."""
        which = np.zeros(observation[pos].shape[:-1], dtype=np.int64)
        if len(names) > 1:
            which = observation[f"{label}_id"].reshape(which.shape).astype(np.int64)
        return tuple(np.moveaxis(constants[which][..., None], -2, 0))

    def tipped(observation: Observation) -> tuple[np.ndarray, np.ndarray]:
        """z axis of the object, (..., 3), and whether it is tall and has been knocked over."""
        axis = rotation_of(observation[quat])[..., 2::3]
        _, above, *_ = constants_of(observation)
        return axis, np.asarray((above[..., 0] >= TALL) & (axis[..., 2] < TIPPED))

    def grip(observation: Observation) -> np.ndarray:
        along, above, *_ = constants_of(observation)
        axis, fallen = tipped(observation)
        forward = level(heading_of(observation[quat]))
        up = np.where(fallen[..., None], axis, np.array([0.0, 0.0, 1.0]))
        return np.asarray(observation[pos] + along * forward + above * up)

    def crosswise(observation: Observation) -> np.ndarray:
        """Heading along which the fingers close: y, or across the axis of a fallen object."""
        axis, fallen = tipped(observation)
        along_axis = np.arctan2(axis[..., 1], axis[..., 0])
        return np.where(fallen, along_axis, heading_of(observation[quat])) + QUARTER_TURN

    def down(observation: Observation) -> np.ndarray:
        """Position of the tool at release."""
        _, _, *place = (constants_of(observation)[i] for i in (0, 1, 3, 4, 2))
        return np.asarray(
            np.concatenate(place, axis=-1) + tool.position(observation) - observation[pos]
        )

    def to_place(observation: Observation) -> np.ndarray:
        """Angle to an object with its x axis towards the arm, within reach."""
        turn = smallest_angle(np.pi - heading_of(observation[quat]), WHOLE_TURN)
        return np.asarray(turn * aligned)

    def away(observation: Observation) -> np.ndarray:
        """Whether the object has missed its destination."""
        _, _, height, *goal = constants_of(observation)
        beside = np.abs(observation[pos][..., 0:2] - np.concatenate(goal, axis=-1)).max(axis=-1)
        return np.asarray((beside > MISSED) | (observation[pos][..., 2] > height[..., 0] + MISSED))

    turn = facing(tool, crosswise, HALF_TURN)

    def turned(observation: Observation) -> np.ndarray:
        """Whether the object has turned under the hand, as when knocked over."""
        return np.asarray(norm(turn(observation)) > KNOCKED)

    turn_to_place = within_reach(tool, upright(tool, to_place), WHOLE_TURN)
    lost = away_from(tool, grip)
    # Turn near the arm: on the way, a handle that points away would stretch it.
    turning = Stage(tool.position, CLOSE, turn_to_place, straight=0.2, lost=lost)
    return (
        # High above: a stretched arm that descends on its way locks its elbow.
        Stage(
            lambda observation: over(grip(observation), CARRY_HEIGHT),
            OPEN,
            within_reach(tool, turn, HALF_TURN, to_place),
            near=0.1,
            straight=STRAIGHT,
        ),
        *grasp(tool, grip, turn, lost=turned),
        Stage(lambda observation: over(grip(observation), CARRY_HEIGHT), CLOSE, turn, near=0.03),
        *((turning,) if aligned else ()),
        Stage(
            lambda observation: over(down(observation), CARRY_HEIGHT),
            CLOSE,
            turn_to_place,
            near=0.005,
            straight=STRAIGHT,
            lost=lost,
        ),
        Stage(down, CLOSE, turn_to_place, near=0.008, lost=lost),
        Stage(tool.position, OPEN, steps=CLOSING),
        Stage(
            lambda observation: over(tool.position(observation), CARRY_HEIGHT),
            OPEN,
            upright(tool),
            near=0.03,
            lost=away,
        ),
    )
