"""Input devices that drive a robot's tool."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mjgym.util.bounded import UserError

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Along and about the axes of the robot's base: x points ahead, y to the left, z up."""

GRIP = "grip"  # closes or opens the fingers
OTHER = "other"  # goes on to the next arm

MEANINGS = {
    "x": "along x, which points ahead of the robot",
    "y": "along y, to its left",
    "z": "along z",
    **{f"r{axis}": f"turn about {axis}" for axis in "zyx"},
    GRIP: "close or open the fingers",
    OTHER: "the next arm",
}
"""Motion of an arm's tool along axes and at presses."""


class DeviceError(UserError, RuntimeError):
    """A device cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Motion:
    """Deflection and presses of a device."""

    axes: np.ndarray  # (6,), -1 to 1, in the order of `AXES`
    presses: tuple[str, ...] = ()  # GRIP and OTHER since the last reading, in their order


class Device(ABC):
    """An input device with six axes and two buttons."""

    controls: Mapping[str, str]
    """The names of its controls, by axis and press."""

    def __init__(self) -> None:
        self._presses: list[str] = []

    @abstractmethod
    def _axes(self) -> np.ndarray:
        """The deflections now, (6,); presses are noted."""

    def begin(self) -> None:
        """Forget all pressed keys, at the start of an episode."""
        self._axes()
        self._presses.clear()

    def touched(self) -> bool:
        """Tell whether it is in use, or something has been pressed since the last reading."""
        return bool(self._axes().any() or self._presses)

    def read(self) -> Motion:
        """The deflection now, and the presses since the last reading."""
        axes = self._axes()
        presses, self._presses = self._presses, []
        return Motion(axes, tuple(presses))

    def close(self) -> None:  # noqa: B027
        """Release it; more than once is fine."""


def outside(values: np.ndarray, dead: float) -> np.ndarray:
    """Deflections without a dead zone around 0, rescaled to reach -1 and 1."""
    return np.asarray(np.sign(values) * np.clip((np.abs(values) - dead) / (1 - dead), 0.0, 1.0))
