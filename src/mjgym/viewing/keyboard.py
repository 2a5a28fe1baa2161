"""A keyboard as an input device, by the names of its keys.

Every viewer gives these names to its own codes: those below that no viewer of MuJoCo has another
use for.
"""

import time
from collections.abc import Callable, Mapping

import numpy as np

from mjgym.viewing import devices
from mjgym.viewing.devices import AXES, Device

# The axis that a key moves, and which way.
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
GRIP = "."
OTHER = "f9"
KEYS = (*MOVES, GRIP, OTHER)
HELD = 0.15  # s that a key counts as held after it has last been heard of
LATE = 1.0  # s that a stroke counts until the next action, for slower frames
APART = 0.6  # s of silence between two strokes of a key, over the delay of a keyboard's repetition
_PRESSES = {GRIP: devices.GRIP, OTHER: devices.OTHER}


class Keyboard(Device):
    """Keys as an input device."""

    controls: Mapping[str, str] = {
        **{axis: ", ".join(key for key in MOVES if MOVES[key][0] == axis) for axis in AXES},
        devices.GRIP: GRIP,
        devices.OTHER: OTHER.upper(),
    }

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._heard: dict[str, float] = {}  # s on the clock
        self._unused: set[str] = set()  # heard of since the last reading
        self._presses.clear()

    def press(self, key: str) -> None:
        """Hear of a key that is down; again and again while it is held. From any thread."""
        now = self._clock()
        stroke = now - self._heard.get(key, -np.inf) > APART
        self._heard[key] = now
        self._unused.add(key)
        if stroke and key in _PRESSES:
            self._presses.append(_PRESSES[key])

    def touched(self) -> bool:
        return bool(self._unused)

    def _axes(self) -> np.ndarray:
        axes = np.zeros(len(AXES))
        now = self._clock()
        unused, self._unused = self._unused, set()
        for key, (axis, way) in MOVES.items():
            patience = LATE if key in unused else HELD
            if now - self._heard.get(key, -np.inf) <= patience:
                axes[AXES.index(axis)] += way
        return axes
