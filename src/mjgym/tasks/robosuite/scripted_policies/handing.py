"""Scripted policy of TwoArmHandover, and the handover shared with Transport."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.rotations import smallest_angle
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    QUARTER_TURN,
    STRAIGHT,
    away_from,
    facing,
    frame,
    grasp,
    over,
)
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, rotation_of, tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.two_arm_handover import TwoArmHandover

MEETING = np.array([0.0, 0.0, 1.08])  # m, of the handle's centre
APART, TO_TAIL = 0.035, 0.012  # m, of each hand from their middle, and of that from the handle's
SLOPE = np.pi / 3  # rad, tilt of the hands, which make room for each other
LIFTED, BACK = 0.95, 0.12  # m, of the hammer over the floor; of a hand before and after it holds
LOST = 0.13  # m, from the hand to the centre of a lost handle
TO_SECOND = np.array([0.0, 1.0, 0.0])  # from the first arm's side to the second's
ALONG = np.array([1.0, 0.0, 0.0])  # direction of the handle at the handover, towards its free end


class Handle:
    """A hammer's handle during a handover.

    The handle is handed over along x. The first arm holds one half, and the second takes the other.

    Args:
        first: the tool that gives.
        second: the tool that takes.
        pos: entry of the centre of the handle.
        quat: entry of the hammer's orientation; the handle lies along its z.
        side: direction, (3,), of the half that the first tool holds; None: the current one.
    """

    def __init__(
        self, first: Tool, second: Tool, pos: str, quat: str, side: np.ndarray | None = None
    ) -> None:
        self.first, self.second, self._pos, self._quat = first, second, pos, quat
        self._side = side

    def middle(self, observation: Observation) -> np.ndarray:
        """Midpoint of the two grasps, (..., 3) m: the head takes room at its end."""
        z = rotation_of(observation[self._quat])[..., 2::3]
        return np.asarray(observation[self._pos] - TO_TAIL * z)

    def centre(self, observation: Observation) -> np.ndarray:
        """Midpoint of the hammer's ends, (..., 3) m."""
        return np.asarray(2 * observation[self._pos] - self.middle(observation))

    def _along(self, observation: Observation, direction: np.ndarray) -> np.ndarray:
        """Direction of the handle, (..., 3), in the sense nearer to another direction."""
        z = rotation_of(observation[self._quat])[..., 2::3]
        return _nearer(z, direction)

    def to_free_end(self, observation: Observation) -> np.ndarray:
        """Direction of the handle from the holding first tool to its free end."""
        way = self.middle(observation) - self.first.position(observation)
        return self._along(observation, way)

    def grip(self, observation: Observation) -> np.ndarray:
        """Position of the first tool at the lying handle, (..., 3) m."""
        turned = -self.first.rotation(observation)[..., 1::3]
        along = self._along(observation, turned if self._side is None else self._side)
        return np.asarray(self.middle(observation) + APART * along)

    def heading(self, observation: Observation) -> np.ndarray:
        """Heading across the handle, (...) rad."""
        along = self._along(observation, ALONG)
        return np.asarray(np.arctan2(along[..., 0], -along[..., 1]))

    def to_meeting(self, observation: Observation) -> np.ndarray:
        """Angle about the vertical from `heading` to across x, (...) rad."""
        angle = QUARTER_TURN - self.heading(observation)
        return np.asarray(smallest_angle(angle, HALF_TURN))

    def held(self, observation: Observation) -> np.ndarray:
        """Position of the first tool that puts the handle's centre at the meeting point."""
        return np.asarray(MEETING + self.first.position(observation) - self.middle(observation))

    def free_end(self, observation: Observation, back: float = 0.0) -> np.ndarray:
        """Position of the second tool at the grasp, or further back."""
        place = self.middle(observation) + APART * self.to_free_end(observation)
        return np.asarray(place - back * pointing(-1.0))

    def present(self, observation: Observation) -> np.ndarray:
        """Rotation of the first tool to its slope, across a handle along x."""
        return self.first.turn_to(observation, _sloping(self.first, observation, 1.0))

    def receive(self, observation: Observation) -> np.ndarray:
        """Rotation of the second tool to slope towards the first, across the handle."""
        return self.second.turn_to(observation, _sloping(self.second, observation, -1.0))


def pointing(side: float) -> np.ndarray:
    """Direction of a sloping tool, down and to the second side (1) or the first one (-1)."""
    return np.asarray(np.sin(SLOPE) * side * TO_SECOND - np.cos(SLOPE) * np.array([0.0, 0.0, 1.0]))


def _sloping(tool: Tool, observation: Observation, side: float) -> np.ndarray:
    """Nearer of two rotations of a sloping tool that closes across x, (..., 9)."""
    y = _nearer(ALONG, tool.rotation(observation)[..., 1::3])
    z = np.broadcast_to(pointing(side), y.shape)
    return frame(np.cross(y, z), z)


def _nearer(axis: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """An axis or its opposite, (..., 3): the one nearer to a direction."""
    return np.where((axis * direction).sum(axis=-1, keepdims=True) < 0, -axis, axis)


def give_and_take(handle: Handle) -> list[tuple[Stage, Stage]]:
    """Stages of both tools that pass a hammer from the first to the second."""
    first, second = handle.first, handle.second
    lost = away_from(first, handle.middle, LOST)

    def holding(near: float = 0.03) -> Stage:
        return Stage(
            handle.held, CLOSE, handle.present, near=near, straight=STRAIGHT, lost=lost, speed=0.6
        )

    def taking(fingers: float, back: float, near: float = 0.01, steps: int = 0) -> Stage:
        def place(observation: Observation) -> np.ndarray:
            return handle.free_end(observation, back)

        return Stage(
            place, fingers, handle.receive, near=near, straight=STRAIGHT, steps=steps, speed=0.4
        )

    def away(observation: Observation) -> np.ndarray:
        return first.position(observation) - BACK * pointing(1.0)

    def kept(observation: Observation) -> np.ndarray:
        return second.position(observation)

    return [
        (holding(), taking(OPEN, BACK, near=0.05)),
        (holding(near=0.012), taking(OPEN, BACK, near=0.008, steps=CLOSING)),
        (holding(near=0.05), taking(OPEN, 0.0, near=0.012)),
        (holding(near=0.05), taking(CLOSE, 0.0, near=0.03, steps=CLOSING)),
        (Stage(first.position, OPEN, steps=CLOSING), Stage(kept, CLOSE)),
        (Stage(away, OPEN, near=np.inf, steps=CLOSING), Stage(kept, CLOSE)),
    ]


def pick_up(handle: Handle) -> tuple[Stage, ...]:
    """Stages of the first tool that pick the hammer up."""
    turn = facing(handle.first, handle.heading, HALF_TURN)

    def raised(observation: Observation) -> np.ndarray:
        return over(handle.grip(observation), LIFTED)

    lost = away_from(handle.first, handle.middle, LOST)
    lift = Stage(raised, CLOSE, turn, near=0.05, lost=lost)
    return (*grasp(handle.first, handle.grip, turn), lift)


def waiting(handle: Handle) -> Stage:
    """Stage of the second tool near the meeting point, as long as the first one's."""
    place = MEETING - 2 * BACK * pointing(-1.0)

    def there(observation: Observation) -> np.ndarray:
        return np.broadcast_to(place, handle.middle(observation).shape)

    return Stage(there, OPEN, handle.receive, near=np.inf)


def hand_over(task: "TwoArmHandover") -> StagedPolicy:
    """Pick the hammer up by one end of its handle, and take it by the other end."""
    tools = tools_of(task, 2)
    first, second = tools.tools
    handle = Handle(first, second, "handle_xpos", "hammer_quat")
    picking = pick_up(handle)
    giving, taking = zip(*give_and_take(handle), strict=True)
    wait = waiting(handle)
    return StagedPolicy(tools, [(*picking, *giving), (*([wait] * len(picking)), *taking)])
