"""Stages, rotations and angles that several scripted policies share."""

from collections.abc import Callable

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage
from mjgym.rotations import smallest_angle
from mjgym.tasks.robosuite.scripted_policies.tools import Tool

Reading = Callable[[Observation], np.ndarray]

ABOVE = np.array([0.0, 0.0, 0.1])  # m, from an object to the tool before it descends
CLOSING = 10  # control steps that the fingers take for their whole stroke
STRAIGHT = 0.1  # rad, of a tool that is turned as asked
QUARTER_TURN, HALF_TURN, WHOLE_TURN = np.pi / 2, np.pi, 2 * np.pi  # rad, symmetries of objects
LOST = 0.06  # m, from the tool to what it holds: it has slipped away


def heading_of(quaternion: np.ndarray) -> np.ndarray:
    """The angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def frame(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The rotation (..., 9) with two given axes, unit vectors (..., 3) at a right angle."""
    return np.stack([x, np.cross(z, x), z], axis=-1).reshape(*x.shape[:-1], 9)


def level(heading: np.ndarray) -> np.ndarray:
    """The level unit vector at an angle about the vertical, (...) rad to (..., 3)."""
    return np.stack([np.cos(heading), np.sin(heading), np.zeros_like(heading)], axis=-1)


def pointing_down(heading: np.ndarray) -> np.ndarray:
    """The rotation of a tool that points down and closes along a heading, (...) rad to (..., 9)."""
    x = level(heading)
    return frame(x, np.broadcast_to([0.0, 0.0, -1.0], x.shape))


def upright(tool: Tool, angle: Reading | None = None) -> Reading:
    """The turn of a tool to point down, and by an angle about the vertical.

    Args:
        tool: that turns.
        angle: (...) rad; None: 0.
    """

    def turn(observation: Observation) -> np.ndarray:
        x = tool.rotation(observation)[..., 0::3]
        wanted = np.arctan2(x[..., 1], x[..., 0]) + (0.0 if angle is None else angle(observation))
        return tool.turn_to(observation, pointing_down(wanted))

    return turn


def facing(tool: Tool, heading: Reading, symmetry: float) -> Reading:
    """The turn of a tool to point down and close along a heading.

    Args:
        tool: that turns.
        heading: about the vertical, (...) rad.
        symmetry: the angle after which another heading does as well, rad; the nearest is taken.
    """

    def angle(observation: Observation) -> np.ndarray:
        x = tool.rotation(observation)[..., 0::3]
        now = np.arctan2(x[..., 1], x[..., 0])
        return np.asarray(smallest_angle(heading(observation) - now, symmetry))

    return upright(tool, angle)


def within_reach(
    tool: Tool, turn: Reading, symmetry: float, then: Reading | None = None
) -> Reading:
    """A turn about the vertical that leaves the wrist clear of its limits.

    Args:
        tool: that turns.
        turn: of the tool, which points down, see `Stage`.
        symmetry: the angle after which another turn does as well, rad; the given turn is taken
            unless it, or what follows, comes near the wrist's limits.
        then: the angle about the vertical, (...) rad, of a turn that follows.
    """

    def turn_within(observation: Observation) -> np.ndarray:
        first = turn(observation)
        angle = first[..., 2]
        last = angle if then is None else angle + then(observation)
        more = tool.wrist.away_from_limits(observation, angle, last, symmetry)
        return np.asarray(first + more[..., None] * np.array([0.0, 0.0, 1.0]))

    return turn_within


def across(tool: Tool, quaternion: str, symmetry: float) -> Reading:
    """The turn of a tool to point down and close along an object's y axis; see `facing`.

    Args:
        tool: that turns.
        quaternion: the entry of the object's orientation, x, y, z, w.
        symmetry: the angle after which the object looks the same, rad.
    """
    return facing(
        tool, lambda observation: heading_of(observation[quaternion]) + QUARTER_TURN, symmetry
    )


def over(place: np.ndarray, height: float) -> np.ndarray:
    """A place at another height, (..., 3) m."""
    return np.concatenate([place[..., 0:2], np.full_like(place[..., 0:1], height)], axis=-1)


def away_from(tool: Tool, place: Reading, distance: float = LOST) -> Reading:
    """Whether a tool is further than that from a place: it has lost what it held there."""

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
        tool: that grasps.
        place: the tool's position at the grasp, (..., 3) m.
        turn: of the tool to the grasp, see `Stage`.
        steps: the least number of control steps above the object.
        above: from the grasp to the tool before it descends, m.
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
    """A stage in which a tool stays where it is."""
    return Stage(tool.position, fingers, steps=steps)
