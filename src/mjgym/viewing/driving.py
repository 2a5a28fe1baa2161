"""An arm's tool driven by hand: what devices report becomes the action of a control step."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from mjgym.actions import UNLIMITED, Action
from mjgym.viewing import devices
from mjgym.viewing.devices import AXES, Device
from mjgym.viewing.keyboard import Keyboard

PLACE, TURN = 0.5, 0.2  # shares of the greatest action at a device's full deflection
_GRIPPER = "gripper"


class DrivingError(ValueError):
    """An environment whose actions nobody can give by hand; the message says why."""


class Driver:
    """Manual control of an action whose numbers move tools along axes and close fingers.

    Args:
        actions: what the numbers of an action do: "<arm> x" and so on, "<arm> gripper".
        clock: s, of the keyboard.
        controlled: the task accepts a controller that has such actions.
        device: beside the keyboard; None for none.

    Attributes:
        arms: the names of the arms.
        arm: the one that is driven.
        help: the controls, and their meanings.

    Raises:
        DrivingError: the numbers are others.
    """

    def __init__(
        self,
        actions: Sequence[Action],
        clock: Callable[[], float] = time.monotonic,
        controlled: bool = False,
        device: Device | None = None,
    ) -> None:
        advice = ": use --set controller=OSC_POSE" if controlled else ""
        self._keyboard = Keyboard(clock)
        self._devices: list[Device] = [self._keyboard]
        if device is not None:
            self._devices.append(device)
        self.help = self._devices[-1].help
        self._size = len(actions)
        self._moved: dict[str, dict[str, tuple[int, float]]] = {}  # of each arm, by axis
        self._fingers: dict[str, list[tuple[int, float]]] = {}
        for i, action in enumerate(actions):
            arm, _, what = action.name.rpartition(" ")
            if _GRIPPER in action.name.split():
                arm = action.name.partition(" ")[0]
                self._fingers.setdefault(arm, []).append((i, action.high))
            elif what in AXES and " " not in arm and action.high < UNLIMITED:
                share = PLACE if what in AXES[:3] else TURN
                self._moved.setdefault(arm, {})[what] = (i, share * action.high)
            else:
                raise DrivingError(
                    "devices move a robot's tool along x, y and z, which takes actions that are"
                    f" displacements; {action.name!r} ({action.meaning}) is not one{advice}"
                )
        if not self._moved:
            raise DrivingError("devices move the tools of robots, and the task has none")
        self.arms = tuple(self._moved)
        self.begin()

    def begin(self) -> None:
        """Forget all keys and buttons, at the start of an episode."""
        self.arm = self.arms[0]
        self._closing = dict.fromkeys(self.arms, 0.0)  # 1 closes, -1 opens, 0 holds
        for device in self._devices:
            device.begin()

    def press(self, key: str) -> None:
        """Hear of a key that is down; again and again while it is held. From any thread."""
        self._keyboard.press(key)

    def touched(self) -> bool:
        """Whether a device is in use, or something has been pressed since the last action."""
        touched = [device.touched() for device in self._devices]  # all are asked
        return any(touched)

    def act(self, observation: object = None) -> np.ndarray:
        """The action of the keys held and sticks deflected now, float64."""
        action = np.zeros(self._size)
        axes = np.zeros(len(AXES))
        for device in self._devices:
            motion = device.read()
            axes += motion.axes
            for press in motion.presses:
                self._obey(press)
        for axis, deflection in zip(AXES, np.clip(axes, -1, 1), strict=True):
            if axis in self._moved[self.arm]:
                i, most = self._moved[self.arm][axis]
                action[i] = deflection * most
        for arm, numbers in self._fingers.items():
            for i, most in numbers:
                action[i] = self._closing.get(arm, 0.0) * most
        return action

    def _obey(self, press: str) -> None:
        if press == devices.GRIP:
            self._closing[self.arm] = -1.0 if self._closing[self.arm] > 0 else 1.0
        else:
            self.arm = self.arms[(self.arms.index(self.arm) + 1) % len(self.arms)]


def open_device(name: str) -> Device | None:
    """The first connected device of a kind.

    Args:
        name: "gamepad" or "spacemouse"; "keyboard" for None: viewers hear of keys by themselves.

    Raises:
        DeviceError: there is none, it cannot be opened, or a package is missing.
    """
    if name == "gamepad":
        from mjgym.viewing.gamepad import Gamepad

        return Gamepad()
    if name == "spacemouse":
        from mjgym.viewing import spacemouse

        return spacemouse.first()
    return None
