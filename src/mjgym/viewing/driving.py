"""An arm's tool driven by hand: what devices report becomes the action of a control step."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.actions import UNLIMITED, Action
from mjgym.util.bounded import UserError
from mjgym.viewing import devices
from mjgym.viewing.devices import AXES, Device
from mjgym.viewing.keyboard import Keyboard

PLACE, TURN = 0.5, 0.2  # shares of the greatest action at a device's full deflection
_GRIPPER = "gripper"
COMMAND = {"x": "walk ahead or back", "y": "walk to the left or right", "rz": "turn"}


class DrivingError(UserError, ValueError):
    """An environment cannot be driven by hand; the message says why."""


class Hands:
    """Input from the keyboard and an optional second device."""

    help: tuple[tuple[str, str], ...]

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, device: Device | None = None
    ) -> None:
        self._keyboard = Keyboard(clock)
        self._devices: list[Device] = [self._keyboard]
        if device is not None:
            self._devices.append(device)

    def _explain(self, meanings: Mapping[str, str]) -> None:
        controls = self._devices[-1].controls
        self.help = tuple((controls[name], meaning) for name, meaning in meanings.items())

    def begin(self) -> None:
        for device in self._devices:
            device.begin()

    def press(self, key: str) -> None:
        self._keyboard.press(key)

    def touched(self) -> bool:
        touched = [device.touched() for device in self._devices]  # all are asked
        return any(touched)

    def read(self) -> tuple[np.ndarray, list[str]]:
        """Deflections of the axes now, -1 to 1, and presses since the last reading."""
        motions = [device.read() for device in self._devices]
        axes = sum((motion.axes for motion in motions), np.zeros(len(AXES)))
        return np.clip(axes, -1, 1), [press for motion in motions for press in motion.presses]


class Driver(Hands):
    """Manual control of an action whose numbers move tools along axes and close fingers.

    Args:
        actions: what the numbers of an action do: "<arm> x" and so on, "<arm> gripper".
        controlled: the task accepts a controller that has such actions.

    Attributes:
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
        super().__init__(clock, device)
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
        used = {axis for axes in self._moved.values() for axis in axes}
        used |= {devices.GRIP} if self._fingers else set()
        used |= {devices.OTHER} if len(self.arms) > 1 else set()
        self._explain({n: meaning for n, meaning in devices.MEANINGS.items() if n in used})
        self.begin()

    def begin(self) -> None:
        self.arm = self.arms[0]
        self._closing = dict.fromkeys(self.arms, 0.0)  # 1 closes, -1 opens, 0 holds
        super().begin()

    def act(self, observation: object = None) -> np.ndarray:
        """The action of the keys held and sticks deflected now, float64."""
        action = np.zeros(self._size)
        axes, presses = self.read()
        for press in presses:
            if press == devices.GRIP:
                self._closing[self.arm] = -1.0 if self._closing[self.arm] > 0 else 1.0
            else:
                self.arm = self.arms[(self.arms.index(self.arm) + 1) % len(self.arms)]
        for axis, deflection in zip(AXES, axes, strict=True):
            if axis in self._moved[self.arm]:
                i, most = self._moved[self.arm][axis]
                action[i] = deflection * most
        for arm, numbers in self._fingers.items():
            for i, most in numbers:
                action[i] = self._closing.get(arm, 0.0) * most
        return action


class Commander(Hands):
    """A legged robot's command by hand, which a policy follows."""

    def __init__(
        self,
        env: Any,
        policy: Callable[[Any], Any],
        clock: Callable[[], float] = time.monotonic,
        device: Device | None = None,
    ) -> None:
        super().__init__(clock, device)
        self._env, self._policy = env.unwrapped, policy
        self._low, self._high = np.array(self._env.task.command_ranges).T
        ranges = zip(COMMAND, self._low, self._high, strict=True)
        self._explain({axis: COMMAND[axis] for axis, low, high in ranges if low < high})

    def act(self, observation: object = None) -> np.ndarray:
        """The policy's action, once it has been told the command."""
        axes, _ = self.read()
        ways = axes[[AXES.index(axis) for axis in COMMAND]]
        command = np.where(ways < 0, -ways * self._low, ways * self._high)
        held = self._env.task.commanded(command)
        told = self._env.set_state({f"memory.{name}": value for name, value in held.items()})
        return np.asarray(self._policy(told))


def open_device(name: str) -> Device | None:
    """The first connected device of a kind."""
    if name == "gamepad":
        from mjgym.viewing.gamepad import Gamepad

        return Gamepad()
    if name == "spacemouse":
        from mjgym.viewing import spacemouse

        return spacemouse.first()
    return None
