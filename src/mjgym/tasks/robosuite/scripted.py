"""Scripted policies that solve tasks of one arm by the actions of OSC_POSE.

    script = Script.of(env.unwrapped.task)
    observation, info = env.reset()           # of an environment with observation="dict"
    while not info.get("success"):
        observation, _, _, _, info = env.step(script(observation))

A script is a row of stages. In each the tool goes to a place that depends on what is observed, with
its fingers open or closed, and the next stage begins when it is there. One script drives one
environment or, with the observation of a vector environment, all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.task import Task
from mjgym.tasks.robosuite.door import Door
from mjgym.tasks.robosuite.lift import Lift
from mjgym.tasks.robosuite.nut_assembly import NutAssembly
from mjgym.tasks.robosuite.pick_place import PickPlace
from mjgym.tasks.robosuite.sorting import ALL, RANDOM, Sorting
from mjgym.tasks.robosuite.stack import HALF_A, HALF_B, Stack

Seen = Mapping[str, np.ndarray]

OPEN, CLOSE = -1.0, 1.0  # of the gripper's number of an action
STEP, TURN = 0.05, 0.5  # m and rad, that an action of 1 asks for
HASTE = 2.0  # how much more of the way is asked for than there is: the tool lags behind
ABOVE = np.array([0.0, 0.0, 0.1])  # m, over what is to be grasped
HIGH = 1.0  # m, over the floor, where things are carried
GAP = 0.003  # m, that a cube is let go above the other one
HANDLE_LENGTH, HANDLE_ASIDE, HANDLE_OUT = 0.125, -0.175, 0.1  # m, of the door's handle
OUTER_HALF = 0.03  # m, from the middle of the handle to that of the fingers that press on it
FREE = 1.25  # rad, of the handle's turn: the latch lets go at 1.16
CLOSING = 10  # control steps that the fingers take for their whole way
QUARTER_TURN, HALF_TURN = np.pi / 2, np.pi  # rad, after which a thing looks the same to the fingers
STRAIGHT = 0.06  # rad, that nuts may be turned by over their pegs
OVER_WALLS = 1.1  # m, over the floor, where things are carried over the walls of bins and over pegs
# Where each object is grasped, along its x axis and above its frame, and how high its frame is as
# it is let go, m.
GRIPS = {
    "Milk": (0.0, 0.055, 0.89),
    "Bread": (0.0, 0.016, 0.92),
    "Cereal": (0.0, 0.055, 0.904),
    "Can": (0.0, 0.022, 0.915),
    "SquareNut": (0.06, 0.004, 0.9),
    "RoundNut": (0.066, 0.004, 0.9),
}


@dataclass(frozen=True)
class Stage:
    """One move of a script.

    Args:
        target: where the tool is to go, (..., 3) m, from what is observed.
        fingers: `OPEN` or `CLOSE`.
        near: m, from the target where the next stage begins.
        steps: control steps before it may begin.
        until: what else has to be seen before, bool.
        turn: the angle (rad) about the vertical that the tool is to turn by; None for no turn.
    """

    target: Callable[[Seen], np.ndarray]
    fingers: float
    near: float = 0.01
    steps: int = 0
    until: Callable[[Seen], np.ndarray] | None = None
    turn: Callable[[Seen], np.ndarray] | None = None


class Script:
    """Stages of which each environment goes through at its own pace.

    Args:
        stages: in their order; the last one goes on.
    """

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self._stages = stages
        self._stage: Any = None
        self._steps: Any = None

    @classmethod
    def of(cls, task: Task) -> "Script":
        """The script that solves a task.

        Raises:
            ValueError: there is none for the task, or its robot has two arms or is driven by
                another controller.
        """
        scripts: dict[type, Callable[[Any], Script]] = {
            Lift: _lift,
            Stack: _stack,
            Door: _door,
            PickPlace: _sort,
            NutAssembly: _sort,
        }
        script = scripts.get(type(task))
        if script is None or not isinstance(task, Lift | Stack | Door | Sorting):
            known = ", ".join(kind.__name__ for kind in scripts)
            raise ValueError(f"no script for {type(task).__name__}, only for {known}")
        if len(task.manipulators) != 1 or task.controller != "OSC_POSE" or task.grouped:
            raise ValueError("a script moves one arm by OSC_POSE, and sees single entries")
        return script(task)

    def restart(self, where: np.ndarray | None = None) -> None:
        """Begin anew: everywhere, or in some environments of many, bool."""
        if where is None or self._stage is None:
            self._stage = None
        else:
            self._stage, self._steps = (np.where(where, 0, x) for x in (self._stage, self._steps))

    def __call__(self, seen: Seen) -> np.ndarray:
        """The action, (..., 7) float32, for an observation's entries."""
        tool = seen["robot0_eef_pos"]
        if self._stage is None:
            self._stage = self._steps = np.zeros(tool.shape[:-1], dtype=np.int64)
        ways = np.stack([stage.target(seen) - tool for stage in self._stages])
        way = _chosen(ways, self._stage)
        action = np.zeros((*tool.shape[:-1], 7), dtype=np.float32)
        action[..., 0:3] = np.clip(HASTE * way / STEP, -1, 1)
        for i, stage in enumerate(self._stages):
            if stage.turn is not None:
                turn = np.clip(stage.turn(seen) / TURN, -1, 1)
                action[..., 5] += np.where(self._stage == i, turn, 0)
        action[..., 6] = np.array([stage.fingers for stage in self._stages])[self._stage]
        self._go_on(seen, np.sqrt((ways * ways).sum(axis=-1)))
        return action

    def _go_on(self, seen: Seen, distances: np.ndarray) -> None:
        ready = [
            (distances[i] < stage.near)
            & (self._steps >= stage.steps)
            & (True if stage.until is None else stage.until(seen))
            for i, stage in enumerate(self._stages[:-1])
        ]
        ready.append(np.zeros_like(ready[0]))
        done = _chosen(np.stack(ready), self._stage)
        self._stage = self._stage + done
        self._steps = np.where(done, 0, self._steps + 1)


def _chosen(rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Of rows (stages, ..., *rest), the one of each environment's stage, (..., *rest)."""
    index = which.reshape(1, *which.shape, *[1] * (rows.ndim - 1 - which.ndim))
    return np.asarray(np.take_along_axis(rows, index, axis=0)[0])


def _heading(quaternion: np.ndarray) -> np.ndarray:
    """The angle about the vertical of a frame's x axis, rad, from x, y, z, w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def _smallest(angle: np.ndarray, symmetry: float) -> np.ndarray:
    """Of the angles that are a symmetry (rad) apart from each other, the smallest."""
    return np.asarray((angle + symmetry / 2) % symmetry - symmetry / 2)


def _facing(thing: str, symmetry: float) -> Callable[[Seen], np.ndarray]:
    """The turn after which the fingers, along the tool's x axis, close along a thing's y axis.

    Args:
        thing: the entry with its orientation, a quaternion x, y, z, w.
        symmetry: rad, after which it looks the same.
    """

    def turn(seen: Seen) -> np.ndarray:
        tool = _heading(seen["robot0_eef_quat_site"])
        return _smallest(_heading(seen[thing]) + QUARTER_TURN - tool, symmetry)

    return turn


def _over(place: np.ndarray, height: float) -> np.ndarray:
    """A place at another height, (..., 3) m."""
    return np.concatenate([place[..., 0:2], np.full_like(place[..., 0:1], height)], axis=-1)


def _grasp(
    at: Callable[[Seen], np.ndarray],
    turned: str,
    symmetry: float = QUARTER_TURN,
    steps: int = CLOSING,
) -> tuple[Stage, ...]:
    return (
        Stage(
            lambda seen: at(seen) + ABOVE,
            OPEN,
            near=0.015,
            steps=steps,
            turn=_facing(turned, symmetry),
        ),
        Stage(at, OPEN, near=0.008),
        Stage(at, CLOSE, near=0.03, steps=CLOSING),
    )


def _lift(_: Lift) -> Script:
    carry = Stage(lambda seen: _over(seen["cube_pos"], HIGH), CLOSE)
    return Script((*_grasp(lambda seen: seen["cube_pos"], "cube_quat"), carry))


def _stack(_: Stack) -> Script:
    def held(seen: Seen) -> np.ndarray:
        """The tool from cube A's middle."""
        return seen["robot0_eef_pos"] - seen["cubeA_pos"]

    def onto(seen: Seen) -> np.ndarray:
        over = np.array([0, 0, HALF_A + HALF_B + GAP])
        return np.asarray(seen["cubeB_pos"] + over + held(seen))

    stages = (
        *_grasp(lambda seen: seen["cubeA_pos"], "cubeA_quat"),
        Stage(lambda seen: _over(seen["cubeA_pos"], HIGH), CLOSE, near=0.03),
        Stage(lambda seen: _over(seen["cubeB_pos"] + held(seen), HIGH), CLOSE, near=0.005),
        Stage(onto, CLOSE, near=0.004),
        Stage(lambda seen: seen["robot0_eef_pos"], OPEN, steps=CLOSING),
        Stage(lambda seen: _over(seen["robot0_eef_pos"], HIGH), OPEN),
    )
    return Script(stages)


def _sort(task: Sorting) -> Script:
    """Put away one object after the other."""
    if task.choice == RANDOM:
        return Script(_put_away(task, task.drawn, task.object_names))
    names = task.object_names if task.choice == ALL else (task.kinds[task.choice],)
    return Script(tuple(stage for name in names for stage in _put_away(task, name, (name,))))


def _put_away(task: Sorting, label: str, names: tuple[str, ...]) -> tuple[Stage, ...]:
    """Put away one object, whose entries begin with a label: of several, the one of its number."""
    pos, quat = f"{label}_pos", f"{label}_quat"
    fits = isinstance(task, NutAssembly)  # only if it is turned as the pegs are
    known = np.array([[*GRIPS[name], *task.goal(name)] for name in names])

    def numbers(seen: Seen) -> tuple[np.ndarray, ...]:
        """Those of `GRIPS` and the middle of the object's place, (..., 1) each."""
        which = np.zeros(seen[pos].shape[:-1], dtype=np.int64)
        if len(names) > 1:
            which = seen[f"{label}_id"].reshape(which.shape).astype(np.int64)
        return tuple(np.moveaxis(known[which][..., None], -2, 0))

    def grip(seen: Seen) -> np.ndarray:
        along, above, *_ = numbers(seen)
        heading = _heading(seen[quat])
        flat = np.zeros_like(heading)
        forward = np.stack([np.cos(heading), np.sin(heading), flat], axis=-1)
        return np.asarray(seen[pos] + along * forward + above * np.array([0.0, 0.0, 1.0]))

    def down(seen: Seen) -> np.ndarray:
        """Where the tool is as the object is let go."""
        _, _, *frame = (numbers(seen)[i] for i in (0, 1, 3, 4, 2))
        return np.concatenate(frame, axis=-1) + seen["robot0_eef_pos"] - seen[pos]

    def straight(seen: Seen) -> np.ndarray:
        """The turn after which a square opening is square to the world's axes."""
        return _smallest(-_heading(seen[quat]), QUARTER_TURN)

    return (
        *_grasp(grip, quat, HALF_TURN, steps=3 * CLOSING),
        Stage(lambda seen: _over(grip(seen), OVER_WALLS), CLOSE, near=0.03),
        Stage(
            lambda seen: _over(down(seen), OVER_WALLS),
            CLOSE,
            near=0.005,
            turn=straight if fits else None,
            until=(lambda seen: np.abs(straight(seen)) < STRAIGHT) if fits else None,
        ),
        Stage(down, CLOSE, near=0.008),
        Stage(lambda seen: seen["robot0_eef_pos"], OPEN, steps=CLOSING),
        Stage(lambda seen: _over(seen["robot0_eef_pos"], OVER_WALLS), OPEN, near=0.03),
    )


def _door(_: Door) -> Script:
    """Push the handle's end down its arc with closed fingers, then draw it away by friction.

    The hand is wider than there is room behind the handle: the fingers press on its outer half.
    """

    def axes(seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """The directions in which the handle's end moves, and out of the door."""
        shape = seen["handle_pos"].shape[:-1]
        angle = seen["handle_qpos"].reshape(shape)
        known = np.arctan2(-HANDLE_OUT, HANDLE_ASIDE + HANDLE_LENGTH * np.cos(angle))
        offset = seen["handle_pos"] - seen["door_pos"]
        yaw = np.arctan2(offset[..., 1], offset[..., 0]) - known
        flat = np.zeros(shape)
        along = np.stack([np.cos(yaw), np.sin(yaw), flat], axis=-1)
        out = np.stack([np.sin(yaw), -np.cos(yaw), flat], axis=-1)
        down = np.array([0.0, 0.0, -1.0])
        sine, cosine = np.sin(angle)[..., None], np.cos(angle)[..., None]
        return cosine * down - sine * along, out

    def press(seen: Seen, ahead: float, away: float) -> np.ndarray:
        moves, out = axes(seen)
        return seen["handle_pos"] + ahead * moves + (OUTER_HALF + away) * out

    def turned(seen: Seen) -> np.ndarray:
        return seen["handle_qpos"].reshape(seen["handle_pos"].shape[:-1]) > FREE

    stages = (
        Stage(lambda seen: press(seen, -0.08, 0.05), CLOSE, near=0.02, steps=CLOSING),
        Stage(lambda seen: press(seen, -0.06, 0.0), CLOSE, near=0.01),
        Stage(lambda seen: press(seen, 0.05, 0.0), CLOSE, near=1.0, until=turned),
        Stage(lambda seen: press(seen, 0.04, 0.05), CLOSE),
    )
    return Script(stages)
