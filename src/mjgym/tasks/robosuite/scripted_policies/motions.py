"""Stages, rotations and angles shared by scripted policies."""

from collections.abc import Callable

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage
from mjgym.rotations import smallest_angle
from mjgym.tasks.robosuite.scripted_policies.tools import Tool

Reading = Callable[[Observation], np.ndarray]

ABOVE = np.array([0.0, 0.0, 0.1])  # m, from an object to the tool before it descends
CLOSING = 10  # control steps of a full finger stroke
STRAIGHT = 0.1  # rad, tolerance of a tool's orientation
QUARTER_TURN, HALF_TURN, WHOLE_TURN = np.pi / 2, np.pi, 2 * np.pi  # rad, symmetries of objects
LOST = 0.06  # m, from the tool to a lost object


def heading_of(quaternion: np.ndarray) -> np.ndarray:
    """Angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def frame(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Rotation (..., 9) with x and z axes, orthogonal unit vectors (..., 3)."""
    return np.stack([x, np.cross(z, x), z], axis=-1).reshape(*x.shape[:-1], 9)


def level(heading: np.ndarray) -> np.ndarray:
    """Horizontal unit vector at an angle about the vertical, (...) rad to (..., 3)."""
    return np.stack([np.cos(heading), np.sin(heading), np.zeros_like(heading)], axis=-1)


def pointing_down(heading: np.ndarray) -> np.ndarray:
    """Rotation of a tool that points down and closes along a heading, (...) rad to (..., 9)."""
    x = level(heading)
    return frame(x, np.broadcast_to([0.0, 0.0, -1.0], x.shape))


def upright(tool: Tool, angle: Reading | None = None) -> Reading:
    """Rotation of a tool to point down, and by an angle about the vertical.

    Args:
        tool: the tool.
        angle: (...) rad; None: 0.
    """

    def turn(observation: Observation) -> np.ndarray:
        x = tool.rotation(observation)[..., 0::3]
        wanted = np.arctan2(x[..., 1], x[..., 0]) + (0.0 if angle is None else angle(observation))
        return tool.turn_to(observation, pointing_down(wanted))

    return turn


def facing(tool: Tool, heading: Reading, symmetry: float) -> Reading:
    """Rotation of a tool to point down and close along a heading.

    Args:
        tool: the tool.
        heading: about the vertical, (...) rad.
        symmetry: period of equivalent headings, rad; the nearest is taken.
    """

    def angle(observation: Observation) -> np.ndarray:
        x = tool.rotation(observation)[..., 0::3]
        now = np.arctan2(x[..., 1], x[..., 0])
        return np.asarray(smallest_angle(heading(observation) - now, symmetry))

    return upright(tool, angle)


def within_reach(
    tool: Tool, turn: Reading, symmetry: float, then: Reading | None = None
) -> Reading:
    """Turn about the vertical that keeps the wrist clear of its limits.

    Args:
        tool: the tool.
        turn: rotation of the tool, which points down, see `Stage`.
        symmetry: period of equivalent turns, rad; the turn is kept unless it, or the following one,
            comes near the wrist's limits.
        then: angle about the vertical, (...) rad, of a following turn.
    """

    def turn_within(observation: Observation) -> np.ndarray:
        first = turn(observation)
        angle = first[..., 2]
        last = angle if then is None else angle + then(observation)
        more = tool.wrist.away_from_limits(observation, angle, last, symmetry)
        return np.asarray(first + more[..., None] * np.array([0.0, 0.0, 1.0]))

    return turn_within


def across(tool: Tool, quaternion: str, symmetry: float) -> Reading:
    """Rotation of a tool to point down and close along an object's y axis; see `facing`.

    Args:
        tool: the tool.
        quaternion: entry of the object's orientation, x, y, z, w.
        symmetry: rotational symmetry of the object, rad.
    """
    return facing(
        tool, lambda observation: heading_of(observation[quaternion]) + QUARTER_TURN, symmetry
    )


def over(place: np.ndarray, height: float) -> np.ndarray:
    """Raise a position by a height, (..., 3) m."""
    return np.concatenate([place[..., 0:2], np.full_like(place[..., 0:1], height)], axis=-1)


def away_from(tool: Tool, place: Reading, distance: float = LOST) -> Reading:
    """Whether a tool is further than `distance` from a place: it has lost its object."""

    def lost(observation: Observation) -> np.ndarray:
        way = place(observation) - tool.position(observation)
        return np.asarray((way * way).sum(axis=-1) > distance * distance)

    return lost


def grasp(
    tool: Tool,
    place: Reading,
    turn: Reading,
    steps: int = CLOSING,
    above: np.ndarray = ABOVE,
    lost: Reading | None = None,
) -> tuple[Stage, ...]:
    """Stages that grasp an object: above it, down to it, close the fingers.

    Args:
        tool: the tool.
        place: position of the tool at the grasp, (..., 3) m.
        turn: rotation of the tool to the grasp, see `Stage`.
        steps: least number of control steps above the object.
        above: height above the grasp before it descends, m.
        lost: the condition, bool, for another attempt as the tool descends, see `Stage`.
    """
    return (
        Stage(
            lambda observation: place(observation) + above,
            OPEN,
            turn,
            near=0.015,
            straight=STRAIGHT,
            steps=steps,
        ),
        Stage(place, OPEN, turn, near=0.008, lost=lost),
        Stage(place, CLOSE, turn, near=np.inf, steps=CLOSING),
    )


def held_still(tool: Tool, fingers: float, steps: int = 0) -> Stage:
    """Stage in which a tool keeps its position."""
    return Stage(tool.position, fingers, steps=steps)
