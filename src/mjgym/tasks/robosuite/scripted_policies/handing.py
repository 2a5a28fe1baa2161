"""Scripted policy of TwoArmHandover, and the handover shared with Transport."""

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import UP, at_height, frame
from mjgym.rotations import smallest_angle
from mjgym.tasks.robosuite.scripted_policies import tools
from mjgym.tasks.robosuite.tabletop import Tabletop

MEETING = np.array([0.0, 0.0, 1.08])  # m, of the handle's centre
APART, TO_TAIL = 0.035, 0.012  # m, of each hand from their middle, and of that from the handle's
SLOPE = np.pi / 3  # rad, tilt of the hands, which make room for each other
LIFTED, BACK = 0.95, 0.12  # m, of the hammer over the floor; of a hand before and after it holds
LOST = 0.13  # m, from the hand to the centre of a lost handle
TO_SECOND = np.array([0.0, 1.0, 0.0])  # from the first arm's side to the second's
ALONG = np.array([1.0, 0.0, 0.0])  # direction of the handle at the handover, towards its free end


def pointing(side: float) -> np.ndarray:
    """Direction of a sloping tool, down and to the second side (1) or the first one (-1)."""
    return np.asarray(np.sin(SLOPE) * side * TO_SECOND - np.cos(SLOPE) * UP)


GIVING, TAKING = pointing(1.0), pointing(-1.0)  # directions of the tools at the handover
WAITING = MEETING - 2 * BACK * TAKING  # m, of the second tool as long as the first one picks up


class Handle:
    """A hammer's handle during a handover along x; each arm holds one half.

    Poses are the centre of the handle, (..., 3) m, and the hammer's orientation, x, y, z, w; the
    handle lies along its z. `side` is the direction, (3,), of the half that the first tool holds,
    None for the current one. Positions are (..., 3) m, turns rotation vectors (..., 3) rad.
    """

    def __init__(
        self,
        first: tools.Tool,
        second: tools.Tool,
        position: np.ndarray,
        quaternion: np.ndarray,
        side: np.ndarray | None = None,
    ) -> None:
        z = tools.rotation_of(quaternion)[..., 2::3]
        # Between the grasps: the head takes room at its end.
        self.middle = position - TO_TAIL * z
        toward = _nearer(z, -first.rotation[..., 1::3] if side is None else side)
        self.grip = self.middle + APART * toward  # of the first tool at the lying handle
        along = _nearer(z, ALONG)
        self.heading = np.arctan2(along[..., 0], -along[..., 1])  # across the handle, (...) rad
        # The first tool's with the handle at the meeting point, and the second's at its grasp.
        self.held = MEETING + first.position - self.middle
        self.free_end = self.middle + APART * _nearer(z, self.middle - first.position)
        self.present = first.turn_to(_sloping(first, GIVING))
        self.receive = second.turn_to(_sloping(second, TAKING))
        self.lost = first.away_from(self.middle, LOST)

    def to_meeting(self) -> np.ndarray:
        """Angle about the vertical from `heading` to across x, (...) rad."""
        return np.asarray(smallest_angle(tools.QUARTER_TURN - self.heading, tools.HALF_TURN))


def _sloping(tool: tools.Tool, z: np.ndarray) -> np.ndarray:
    """Nearer of two rotations of a tool that points along z and closes across x, (..., 9)."""
    y = _nearer(ALONG, tool.rotation[..., 1::3])
    z = np.broadcast_to(z, y.shape)
    return frame(np.cross(y, z), z)


def _nearer(axis: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """An axis or its opposite, (..., 3): the one nearer to a direction."""
    return np.where((axis * direction).sum(axis=-1, keepdims=True) < 0, -axis, axis)


def hand_over(task: Tabletop) -> StagedPolicy:
    """Pick the hammer up by one end of its handle, and take it by the other end."""

    def stages(
        observation: Observation, first: tools.Tool, second: tools.Tool
    ) -> list[tuple[Stage, Stage]]:
        handle = Handle(first, second, observation["handle_xpos"], observation["hammer_quat"])
        turn = first.facing(handle.heading, tools.HALF_TURN)
        lifted = at_height(handle.grip, LIFTED)
        lift = Stage(lifted, CLOSE, turn, near=0.05, lost=handle.lost)
        wait = Stage(WAITING, OPEN, handle.receive, near=np.inf)

        def hold(near: float) -> Stage:
            held, present = handle.held, handle.present
            return Stage(held, CLOSE, present, near, tools.STRAIGHT, lost=handle.lost, speed=0.6)

        def take(fingers: float, back: float, near: float, steps: int = 0) -> Stage:
            target = handle.free_end - back * TAKING
            return Stage(target, fingers, handle.receive, near, tools.STRAIGHT, steps, speed=0.4)

        keep = Stage(second.position, CLOSE)
        away = first.position - BACK * GIVING
        return [
            *((stage, wait) for stage in (*tools.grasp(handle.grip, turn), lift)),
            (hold(near=0.03), take(OPEN, BACK, near=0.05)),
            (hold(near=0.012), take(OPEN, BACK, near=0.008, steps=tools.CLOSING)),
            (hold(near=0.05), take(OPEN, 0.0, near=0.012)),
            (hold(near=0.05), take(CLOSE, 0.0, near=0.03, steps=tools.CLOSING)),
            (Stage(first.position, OPEN, steps=tools.CLOSING), keep),
            (Stage(away, OPEN, near=np.inf, steps=tools.CLOSING), keep),
        ]

    return StagedPolicy(tools.tools_of(task, 2), stages)
