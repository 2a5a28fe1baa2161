"""A gamepad as an input device, by SDL, which knows the layouts of most and needs no window."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.util.packaged import install
from mjgym.viewing.devices import GRIP, OTHER, Device, DeviceError, outside

INSTALL = install("teleop")
DEAD = 0.15  # of a stick's deflection
_MOST = 32767.0  # of a stick's axis


class Gamepad(Device):
    """The first gamepad that is connected.

    Buttons are named after their positions on an Xbox controller.
    """

    controls: Mapping[str, str] = {
        "x": "left stick up, down",
        "y": "left stick left, right",
        "z": "right stick up, down",
        "rz": "right stick left, right",
        "ry": "directional pad up, down",
        "rx": "directional pad left, right",
        GRIP: "A",
        OTHER: "Y",
    }

    def __init__(self) -> None:
        super().__init__()
        self._sdl = sdl = _sdl()
        self._pad: Any = None
        # The terminal's signals remain ours, and a pad is read whichever window has the focus.
        sdl.SDL_SetHint(sdl.SDL_HINT_NO_SIGNAL_HANDLERS, b"1")
        sdl.SDL_SetHint(sdl.SDL_HINT_JOYSTICK_ALLOW_BACKGROUND_EVENTS, b"1")
        if sdl.SDL_InitSubSystem(sdl.SDL_INIT_GAMECONTROLLER):
            raise DeviceError(f"SDL finds no gamepads: {sdl.SDL_GetError().decode()}")
        sdl.SDL_JoystickEventState(sdl.SDL_IGNORE)  # it is polled
        sdl.SDL_GameControllerEventState(sdl.SDL_IGNORE)
        try:
            self._open()
        except DeviceError:
            self._quit()
            raise
        self._buttons = {sdl.SDL_CONTROLLER_BUTTON_A: GRIP, sdl.SDL_CONTROLLER_BUTTON_Y: OTHER}
        self._down = dict.fromkeys(self._buttons, False)

    def _open(self) -> None:
        sdl, others = self._sdl, []
        for i in range(sdl.SDL_NumJoysticks()):
            name = (sdl.SDL_JoystickNameForIndex(i) or b"without a name").decode()
            if not sdl.SDL_IsGameController(i):
                others.append(f"{name!r}, whose layout SDL does not know")
                continue
            self._pad = sdl.SDL_GameControllerOpen(i)
            if self._pad:
                self._name = name
                return
            others.append(f"{name!r}, which does not open: {sdl.SDL_GetError().decode()}")
        there = f"; there is {' and '.join(others)}" * bool(others)
        raise DeviceError(f"no gamepad is connected{there}")

    def _axes(self) -> np.ndarray:
        sdl, pad = self._sdl, self._pad
        if pad is None:
            raise DeviceError("the gamepad has been closed")
        sdl.SDL_GameControllerUpdate()
        if not sdl.SDL_GameControllerGetAttached(pad):
            raise DeviceError(f"the gamepad {self._name!r} is disconnected")
        for button, meaning in self._buttons.items():
            down = bool(sdl.SDL_GameControllerGetButton(pad, button))
            if down and not self._down[button]:
                self._presses.append(meaning)
            self._down[button] = down
        sticks = (
            sdl.SDL_CONTROLLER_AXIS_LEFTY,
            sdl.SDL_CONTROLLER_AXIS_LEFTX,
            sdl.SDL_CONTROLLER_AXIS_RIGHTY,
            sdl.SDL_CONTROLLER_AXIS_RIGHTX,
        )
        deflections = np.array([sdl.SDL_GameControllerGetAxis(pad, axis) for axis in sticks])
        x, y, z, rz = outside(-deflections / _MOST, DEAD)  # they count to the right and down
        directions = (
            (sdl.SDL_CONTROLLER_BUTTON_DPAD_RIGHT, sdl.SDL_CONTROLLER_BUTTON_DPAD_LEFT),
            (sdl.SDL_CONTROLLER_BUTTON_DPAD_UP, sdl.SDL_CONTROLLER_BUTTON_DPAD_DOWN),
        )
        get = sdl.SDL_GameControllerGetButton
        rx, ry = (float(get(pad, more)) - float(get(pad, less)) for more, less in directions)
        return np.array([x, y, z, rx, ry, rz])

    def close(self) -> None:
        if self._pad is not None:
            self._sdl.SDL_GameControllerClose(self._pad)
            self._pad = None
            self._quit()

    def _quit(self) -> None:
        self._sdl.SDL_QuitSubSystem(self._sdl.SDL_INIT_GAMECONTROLLER)


def _sdl() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has brought SDL along
        try:
            import sdl2
        except ImportError as error:  # also where it finds no SDL
            raise DeviceError(f"a gamepad needs PySDL2: {INSTALL} ({error})") from None
    return sdl2
