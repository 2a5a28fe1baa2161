"""Tools of tabletop arms, as observed and as moved by actions of OSC_POSE."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjgym.robots.staged_policy import CLOSE, OPEN, Motion, Observation, Stage
from mjgym.robots.tool_poses import UP, heading_of_x, pointing_down, rotation_between
from mjgym.rotations import (
    about_z,
    compose,
    from_rotation_vector,
    quaternion_to_rotation_vector,
    smallest_angle,
    to_local,
)
from mjgym.sim import Single, SingleView
from mjgym.task.models import compile_model
from mjgym.tasks.robosuite.tabletop import Tabletop
from mjgym.tasks.robosuite.team import Manipulator, action_slices

STEP, TURN = 0.05, 0.5  # m and rad per control step, at an action of 1
LEAD = 2.0  # the action asks for twice the remaining displacement, because the tool lags
LEAD_TURN = 1.5  # and for more of the remaining rotation
CLEAR = 0.35  # rad, clearance of a planned turn to the limits of the last joint
LOST = 0.06  # m, from the tool to a lost object
PARALLEL = (1, 2)  # actuators of a hand with two parallel fingers
ABOVE = 0.1 * UP  # m, from an object to the tool before it descends
CLOSING = 10  # control steps of a full finger stroke
STRAIGHT = 0.1  # rad, tolerance of a tool's orientation
QUARTER_TURN, HALF_TURN, WHOLE_TURN = np.pi / 2, np.pi, 2 * np.pi  # rad, symmetries of objects


@dataclass(frozen=True)
class Wrist:
    """Last joint of an arm, which turns the tool about its pointing direction."""

    entry: str  # observation entry of the arm's joints
    number: int  # index of the joint in it
    sign: float  # 1 if a tool that points down turns about the vertical as the joint does, else -1
    middle: float  # centre of the joint's range, rad
    half: float  # half that range, rad; infinity without limits

    def away_from_limits(
        self, observation: Observation, turn: np.ndarray, last: np.ndarray, symmetry: float
    ) -> np.ndarray:
        """0, or the symmetry period to either side (...) rad that keeps two turns about the
        vertical clear of the limits.
        """
        now = observation[self.entry][..., self.number] - self.middle
        shifts = symmetry * np.array([0.0, 1.0, -1.0])
        ends = [(now + self.sign * end)[..., None] + self.sign * shifts for end in (turn, last)]
        excess = np.abs(ends).max(axis=0) - (self.half - CLEAR)
        return np.asarray(shifts[np.maximum(excess, 0.0).argmin(axis=-1)])


@dataclass(frozen=True)
class Arm:
    """An arm with its tool."""

    label: str  # prefix of its observation entries
    numbers: np.ndarray  # indices of its 6 pose actions
    gripper: int | None  # index of its finger action; None without fingers
    origin: np.ndarray  # rotation of the action's axes, (9,)
    wrist: Wrist  # the joint that turns the tool
    hand: np.ndarray  # rotation from the tool's site to the hand, which closes along x, (9,)


class Tool:
    """The tool of an arm at the time of an observation."""

    def __init__(self, arm: Arm, observation: Observation) -> None:
        self._arm, self._observation = arm, observation
        self.position = self.entry("eef_pos")  # (..., 3) m
        # (..., 9); the fingers close along its x and point along its z.
        self.rotation = np.asarray(compose(rotation_of(self.entry("eef_quat_site")), arm.hand))

    def entry(self, name: str) -> np.ndarray:
        return self._observation[self._arm.label + name]

    def turn_to(self, rotation: np.ndarray) -> np.ndarray:
        return rotation_between(self.rotation, rotation)

    def upright(self, angle: float | np.ndarray = 0.0) -> np.ndarray:
        """Rotation vector (..., 3) rad to point down, turned by (...) rad about the vertical."""
        return self.turn_to(pointing_down(heading_of_x(self.rotation) + angle))

    def facing(self, heading: np.ndarray, symmetry: float) -> np.ndarray:
        """Rotation to point down and close along a heading (...) about the vertical or an
        equivalent one, a multiple of `symmetry` off; (..., 3), all rad.
        """
        return self.upright(smallest_angle(heading - heading_of_x(self.rotation), symmetry))

    def within_reach(
        self, turn: np.ndarray, symmetry: float, then: float | np.ndarray = 0.0
    ) -> np.ndarray:
        """Turn about the vertical that keeps the wrist clear of its limits, (..., 3) rad.

        It is `turn`, of a tool that points down, unless that or the angle `then`, (...) rad, of a
        turn that follows comes near the limits; else the equivalent one a `symmetry` (rad) off.
        """
        angle = turn[..., 2]
        more = self._arm.wrist.away_from_limits(self._observation, angle, angle + then, symmetry)
        return np.asarray(turn + more[..., None] * UP)

    def away_from(self, place: np.ndarray, distance: float = LOST) -> np.ndarray:
        """Tell whether it is further than a distance, m, from a place: it has lost its object."""
        way = place - self.position
        return np.asarray((way * way).sum(axis=-1) > distance * distance)


@dataclass(frozen=True)
class Tools:
    """Tools that a policy moves."""

    arms: tuple[Arm, ...]  # with their tools
    size: int
    others: tuple[Arm, ...] = ()  # arms that are observed as well, but stand still

    def tools(self, observation: Observation) -> tuple[Tool, ...]:
        return tuple(Tool(arm, observation) for arm in self.arms + self.others)

    def action(self, observation: Observation, motions: Sequence[Motion]) -> np.ndarray:
        """Action, (..., numbers) float32, for the remaining motion of each tool."""
        action = np.zeros((*motions[0].speed.shape, self.size), dtype=np.float32)
        for arm, motion in zip(self.arms, motions, strict=False):
            way = to_local(arm.origin, LEAD * motion.way / STEP)
            turn = to_local(arm.origin, LEAD_TURN * motion.turn / TURN)
            most = motion.speed[..., None]
            action[..., arm.numbers[:3]] = np.clip(way, -most, most)
            action[..., arm.numbers[3:]] = np.clip(turn, -most, most)
            if arm.gripper is not None:
                action[..., arm.gripper] = motion.fingers
        return action


def tools_of(task: Tabletop, arms: int, hands: bool = True) -> Tools:
    """Tools of a task's arms."""
    if task.controller != "OSC_POSE":
        raise ValueError(f"controller: a script moves arms by OSC_POSE, not {task.controller!r}")
    if task.grouped or not task.object_entries:
        raise ValueError("a script reads the single observation entries of robots and objects")
    if len(task.manipulators) != arms:
        raise ValueError(f"robot: the script moves {arms} arm(s), not {task.robot!r}")
    model = compile_model(task)
    rest = Single(model).view  # all joints are at 0
    rest.kinematics()
    numbers, grippers = action_slices(task.robots)
    places = np.concatenate([np.arange(rows.start, rows.stop).reshape(-1, 6) for rows in numbers])
    script_arms = []
    for i, arm in enumerate(task.manipulators):
        if hands and not (arm.hand.fingers and len(arm.hand.actuators) in PARALLEL):
            raise ValueError(
                f"gripper: a script grasps with two parallel fingers, which the hand of {arm.name}"
                " has not"
            )
        gripper = grippers[i].start if grippers[i].stop > grippers[i].start else None
        origin = rest.site(arm.origin).xmat.copy()
        wrist = _wrist(rest, arm, task.robots[arm.robot].joints)
        hand = _hand(rest, arm) if hands else np.eye(3).reshape(9)
        script_arms.append(Arm(arm.label, places[i], gripper, origin, wrist, hand))
    return Tools(tuple(script_arms), len(task.actions(model)))


def _wrist(rest: SingleView, manipulator: Manipulator, joints: Sequence[str]) -> Wrist:
    """Last joint of an arm, among the joints of its robot."""
    last = manipulator.joints[-1]
    joint, pointing = rest.model.joint(last), rest.site(manipulator.tool).xmat[2::3]
    sign = -float(np.sign(rest.joint(last).xaxis @ pointing))
    middle, half = 0.0, np.inf
    if joint.limited[0]:
        low, high = joint.range
        middle, half = float(low + high) / 2, float(high - low) / 2
    return Wrist(f"robot{manipulator.robot}_joint_pos", joints.index(last), sign, middle, half)


def _hand(rest: SingleView, manipulator: Manipulator) -> np.ndarray:
    """Rotation from a tool's site to axes in which the fingers close along x, (9,)."""
    first, second = (
        np.mean([rest.geom(manipulator.hand_prefix + pad).xpos for pad in pads], axis=0)
        for pads in manipulator.hand.fingers
    )
    way = np.abs(to_local(rest.site(manipulator.tool).xmat, second - first))
    return _matrix(about_z(np.pi / 2 if way[1] > way[0] else 0.0))


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix (..., 9) of a quaternion w, x, y, z (..., 4)."""
    return np.asarray(from_rotation_vector(quaternion_to_rotation_vector(quaternion)))


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix (..., 9) of an observed quaternion x, y, z, w (..., 4)."""
    scalar_first = np.concatenate([quaternion[..., 3:4], quaternion[..., 0:3]], axis=-1)
    return _matrix(scalar_first)


def heading_of(quaternion: np.ndarray) -> np.ndarray:
    """Angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def heading_across(quaternion: np.ndarray) -> np.ndarray:
    """Angle about the vertical of a frame's y axis if its z is vertical, rad, from x, y, z, w."""
    return heading_of(quaternion) + QUARTER_TURN


def grasp(
    place: np.ndarray,
    turn: np.ndarray,
    steps: int = CLOSING,
    above: np.ndarray = ABOVE,
    lost: np.ndarray | None = None,
) -> tuple[Stage, ...]:
    """Stages that grasp an object: above it, down to it, close the fingers.

    `place`, (..., 3) m, and `turn` are those of the tool at the grasp. It stays `above`, (3,) m
    from there, for at least some `steps`; where it is `lost`, it tries again as it descends.
    """
    return (
        Stage(place + above, OPEN, turn, near=0.015, straight=STRAIGHT, steps=steps),
        Stage(place, OPEN, turn, near=0.008, lost=lost),
        Stage(place, CLOSE, turn, near=np.inf, steps=CLOSING),
    )
