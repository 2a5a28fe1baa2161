"""An arm's tool driven by keys: those that are held become the action of a control step.

Keys have names of their own, which every viewer gives to its own codes: those below that no viewer
of MuJoCo has another use for.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from mjgym.actions import UNLIMITED, Action

# The number of the action that a key moves, and which way.
MOVES = {
    "up": ("x", 1.0),
    "down": ("x", -1.0),
    "left": ("y", 1.0),
    "right": ("y", -1.0),
    "page up": ("z", 1.0),
    "page down": ("z", -1.0),
    "home": ("rx", 1.0),
    "end": ("rx", -1.0),
    "8": ("ry", 1.0),
    "9": ("ry", -1.0),
    "6": ("rz", 1.0),
    "7": ("rz", -1.0),
}
GRIP = "."  # closes and opens the fingers
OTHER = "f9"  # goes on to the next arm
KEYS = (*MOVES, GRIP, OTHER)
HELP = (
    ("up, down", "along x, which points ahead of the robot"),
    ("left, right", "along y, to its left"),
    ("page up, page down", "along z"),
    ("6, 7 / 8, 9 / home, end", "turn about z / y / x"),
    (GRIP, "close or open the fingers"),
    (OTHER.upper(), "the next arm"),
)

PLACE, TURN = 0.5, 0.2  # shares of the greatest action while a key is held
HELD = 0.15  # s that a key counts as held after it has last been heard of
LATE = 1.0  # s that it counts until the next action, where pictures come more slowly than that
APART = 0.6  # s of silence between two strokes of a key, over the delay of a keyboard's repetition
_AXES = ("x", "y", "z", "rx", "ry", "rz")
_GRIPPER = "gripper"


class DrivingError(ValueError):
    """An environment whose actions keys cannot give; the message says why and what to do."""


class Driver:
    """Keyboard control of an action whose numbers move tools along axes and close fingers.

    Args:
        actions: what the numbers of an action do: "<arm> x" and so on, "<arm> gripper".
        clock: s.
        controlled: the task takes controllers, one of which gives such actions.

    Attributes:
        arms: the names of the arms.
        arm: the one that is driven.

    Raises:
        DrivingError: the numbers are others.
    """

    def __init__(
        self,
        actions: Sequence[Action],
        clock: Callable[[], float] = time.monotonic,
        controlled: bool = False,
    ) -> None:
        advice = ": use --set controller=OSC_POSE" if controlled else ""
        self._clock = clock
        self._size = len(actions)
        self._moved: dict[str, dict[str, tuple[int, float]]] = {}  # of each arm, by axis
        self._fingers: dict[str, list[tuple[int, float]]] = {}
        for i, action in enumerate(actions):
            arm, _, what = action.name.rpartition(" ")
            if _GRIPPER in action.name.split():
                arm = action.name.partition(" ")[0]
                self._fingers.setdefault(arm, []).append((i, action.high))
            elif what in _AXES and " " not in arm and action.high < UNLIMITED:
                share = PLACE if what in _AXES[:3] else TURN
                self._moved.setdefault(arm, {})[what] = (i, share * action.high)
            else:
                raise DrivingError(
                    "keys move a robot's tool along x, y and z, which takes actions that are"
                    f" displacements; {action.name!r} ({action.meaning}) is not one{advice}"
                )
        if not self._moved:
            raise DrivingError("keys move the tools of robots, and the task has none")
        self.arms = tuple(self._moved)
        self.begin()

    def begin(self) -> None:
        """Forget all keys, at the start of an episode."""
        self.arm = self.arms[0]
        self._heard: dict[str, float] = {}  # s on the clock
        self._unused: set[str] = set()  # heard of since the last action
        self._closing = dict.fromkeys(self.arms, 0.0)  # 1 closes, -1 opens, 0 holds

    def press(self, key: str) -> None:
        """Hear of a key that is down; again and again while it is held. From any thread."""
        now = self._clock()
        stroke = now - self._heard.get(key, -np.inf) > APART
        self._heard[key] = now
        self._unused.add(key)
        if stroke and key == GRIP:
            self._closing[self.arm] = -1.0 if self._closing[self.arm] > 0 else 1.0
        elif stroke and key == OTHER:
            self.arm = self.arms[(self.arms.index(self.arm) + 1) % len(self.arms)]

    def act(self, observation: object = None) -> np.ndarray:
        """The action of the keys that are held now, float64."""
        action = np.zeros(self._size)
        now = self._clock()
        unused, self._unused = self._unused, set()
        for key, (axis, way) in MOVES.items():
            patience = LATE if key in unused else HELD
            held = now - self._heard.get(key, -np.inf) <= patience
            if held and axis in self._moved[self.arm]:
                i, most = self._moved[self.arm][axis]
                action[i] += way * most
        for arm, numbers in self._fingers.items():
            for i, most in numbers:
                action[i] = self._closing.get(arm, 0.0) * most
        return action
