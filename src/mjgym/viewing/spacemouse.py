"""A SpaceMouse of 3Dconnexion as an input device, by its HID reports, without its maker's driver.

A report begins with its id. Values follow as little-endian int16 between -350 and 350:

- 1: translation along the device's x (right), y (towards the person) and z (down); the newer
  devices append the rotation;
- 2: rotation about x, y and z, of the older devices;
- 3: buttons, a bit each.

The layouts are those of pyspacemouse's table of devices.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mjgym.util.packaged import install
from mjgym.viewing.devices import GRIP, OTHER, Device, DeviceError, outside

INSTALL = install("teleop")
DEAD = 0.05  # of the greatest deflection
MOST = 350.0  # of a report's numbers
MAKERS = (0x256F, 0x046D)  # 3Dconnexion, and Logitech, which owned it
USAGE = (0x01, 0x08)  # HID's page "generic desktop", "multi-axis controller"
LONGEST = 64  # bytes of a report
_TRANSLATION, _ROTATION, _BUTTONS = 1, 2, 3
_PRESSES = (GRIP, OTHER)  # of the first button, and of the second


class Stream(Protocol):
    """A device's reports, as hidapi gives them."""

    def read(self, size: int) -> Sequence[int]:
        """The next report's bytes; none if there is no further one yet."""
        ...

    def close(self) -> None: ...


class SpaceMouse(Device):
    """A SpaceMouse."""

    controls: Mapping[str, str] = {
        "x": "push ahead",
        "y": "push to the left",
        "z": "lift",
        "rz": "twist",
        "ry": "tilt ahead",
        "rx": "tilt to the side",
        GRIP: "left button",
        OTHER: "right button",
    }

    def __init__(self, stream: Stream, name: str = "SpaceMouse") -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._raw = np.zeros(6)
        self._down = 0  # a bit for each button

    def _axes(self) -> np.ndarray:
        try:
            while report := self._stream.read(LONGEST):
                self._hear(bytes(report))
        except (OSError, ValueError) as error:
            raise DeviceError(f"the {self._name} is disconnected ({error})") from None
        x, y, z, rx, ry, rz = self._raw
        # Both frames are right-handed: a person behind the robot looks along its x.
        return outside(np.array([-y, -x, -z, -ry, -rx, -rz]), DEAD)

    def _hear(self, report: bytes) -> None:
        kind, content = report[0], report[1:]
        if kind == _BUTTONS:
            down = int.from_bytes(content, "little")
            for i, meaning in enumerate(_PRESSES):
                if down & ~self._down & 1 << i:
                    self._presses.append(meaning)
            self._down = down
        elif kind in (_TRANSLATION, _ROTATION):
            first = 3 if kind == _ROTATION else 0
            count = min(len(content) // 2, 6 - first)
            numbers = np.frombuffer(content[: 2 * count], "<i2") / MOST
            self._raw[first : first + count] = np.clip(numbers, -1, 1)

    def close(self) -> None:
        self._stream.close()


def first() -> SpaceMouse:
    """The first SpaceMouse that is connected."""
    hid = _hidapi()
    found = hid.enumerate()
    for about in found:
        if is_spacemouse(about):
            name = about["product_string"] or "SpaceMouse"
            device = hid.device()
            try:
                device.open_path(about["path"])
            except OSError as error:
                advice = "; let your user read /dev/hidraw* by a rule of udev" * (
                    sys.platform == "linux"
                )
                raise DeviceError(f"the {name} does not open ({error}){advice}") from None
            device.set_nonblocking(True)
            return SpaceMouse(device, name)
    names = sorted({about["product_string"] or "a device without a name" for about in found})
    there = f"; there is {', '.join(names)}" * bool(names)
    raise DeviceError(f"no SpaceMouse is connected{there}")


def is_spacemouse(about: dict[str, Any]) -> bool:
    return about["vendor_id"] in MAKERS and (about["usage_page"], about["usage"]) == USAGE


def _hidapi() -> Any:
    try:
        if sys.platform == "linux":
            import hidraw as hid
        else:
            import hid
    except ImportError as error:
        raise DeviceError(f"a SpaceMouse needs hidapi: {INSTALL} ({error})") from None
    return hid
