"""Driving by gamepad and SpaceMouse: a virtual pad of SDL; reports as a SpaceMouse sends them."""

import sys
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from helpers.commands import called, refused_call
from mjgym.viewing import Session, devices, driving, spacemouse
from mjgym.viewing.devices import AXES, DeviceError
from mjgym.viewing.driving import PLACE, TURN, Driver
from mjgym.viewing.spacemouse import SpaceMouse

ID = "robosuite/Lift-v0"


def drive(device, id=ID):
    env = gymnasium.make(id)
    return env, Driver(env.unwrapped.task.actions(env.unwrapped.model), device=device)


# SpaceMouse: bytes as they come from its HID interface.


class Reports:
    """Reports that a device has sent, one a call, then none; or it is gone."""

    def __init__(self, *reports: str) -> None:
        self.waiting = [bytes.fromhex(report) for report in reports]
        self.gone = self.closed = False

    def read(self, size: int) -> list[int]:
        if self.gone:
            raise OSError("read error")
        return list(self.waiting.pop(0))[:size] if self.waiting else []

    def send(self, *reports: str) -> None:
        self.waiting += [bytes.fromhex(report) for report in reports]

    def close(self) -> None:
        self.closed = True


# Of a SpaceMouse Compact: 350 = 0x015e, -350 = 0xfea2, 175 = 0x00af, little-endian.
AHEAD = "01 0000 a2fe 0000"  # pushed away from the person, fully
LIFT = "01 0000 0000 51ff"  # lifted by a half
LEFT = "01 a2fe 0000 0000"
REST = "01 0000 0000 0000"
TWIST = "02 0000 0000 a2fe"  # to the left, seen from above
TILT = "02 5e01 0000 0000"  # its front upwards, about the axis to the right
STILL = "02 0000 0000 0000"


@pytest.mark.parametrize(
    ("report", "axis", "expected"),
    [
        (AHEAD, "x", 1.0),
        (LEFT, "y", 1.0),
        (LIFT, "z", (175 / 350 - spacemouse.DEAD) / (1 - spacemouse.DEAD)),
        (TWIST, "rz", 1.0),
        (TILT, "ry", -1.0),
    ],
)
def test_reports_are_deflections_in_the_robots_axes(report, axis, expected):
    axes = SpaceMouse(Reports(report)).read().axes
    assert axes[AXES.index(axis)] == pytest.approx(expected)
    assert np.count_nonzero(axes) == 1


def test_a_newer_device_sends_all_six_numbers_at_once():
    # A SpaceMouse Wireless: x, y, z, rx, ry, rz.
    mouse = SpaceMouse(Reports("01 a2fe 0000 0000 0000 0000 5e01"))
    np.testing.assert_allclose(mouse.read().axes, [0, 1, 0, 0, 0, -1])


def test_what_was_reported_holds_until_another_report():
    stream = Reports(AHEAD, TWIST)
    mouse = SpaceMouse(stream)
    for _ in range(2):
        np.testing.assert_allclose(mouse.read().axes, [1, 0, 0, 0, 0, 1])
    stream.send(REST)
    np.testing.assert_allclose(mouse.read().axes, [0, 0, 0, 0, 0, 1])
    stream.send(STILL, AHEAD, REST)  # the last one counts
    assert not mouse.read().axes.any()


def test_a_hand_that_rests_on_it_moves_nothing():
    mouse = SpaceMouse(Reports("01 0f00 f1ff 0c00", "02 0500 0300 f4ff"))
    assert not mouse.touched()
    assert not mouse.read().axes.any()


def test_buttons_count_once_a_stroke():
    stream = Reports("03 0100", "03 0100", "03 0000", "03 0200", "03 0300")
    mouse = SpaceMouse(stream)
    assert mouse.touched()
    assert mouse.read().presses == (devices.GRIP, devices.OTHER, devices.GRIP)
    assert mouse.read().presses == ()
    stream.send("03 0000", "03 0100")
    mouse.begin()  # an episode begins: what was pressed before is forgotten
    assert mouse.read().presses == ()


def test_a_spacemouse_moves_the_tool_and_begins_the_episode():
    stream = Reports()
    env, driver = drive(SpaceMouse(stream))
    session = Session(env, driver.act, 0, driver)
    session.advance()
    assert (session.progress.waiting, session.progress.steps) == (True, 0)
    tool = env.unwrapped.view.site("gripper0_right_grip_site")
    before = tool.xpos.copy()
    stream.send(AHEAD, "03 0100")
    session.advance()
    assert not session.progress.waiting
    for _ in range(10):
        session.step()
    moved = tool.xpos - before
    assert moved[0] > 0.03
    assert np.abs(moved[1:]).max() < 0.01
    assert driver.act()[6] == 1.0
    stream.send(REST)
    np.testing.assert_allclose(driver.act()[:6], 0)


def test_keys_work_beside_a_device():
    _, driver = drive(SpaceMouse(Reports("01 a2fe 0000 0000", TWIST)))
    driver.press("left")  # as the device already does
    driver.press("page up")
    np.testing.assert_allclose(driver.act(), [0, PLACE, PLACE, 0, 0, TURN, 0])


def test_a_button_goes_on_to_the_next_arm():
    stream = Reports()
    _, driver = drive(SpaceMouse(stream), "robosuite/TwoArmLift-v0")
    stream.send("03 0200", AHEAD)
    action = driver.act()
    assert driver.arm == driver.arms[1]
    assert action[7] == PLACE
    assert np.count_nonzero(action) == 1


def test_a_device_that_is_pulled_out_says_so():
    stream = Reports()
    mouse = SpaceMouse(stream, "SpaceMouse Compact")
    stream.gone = True
    with pytest.raises(DeviceError, match="SpaceMouse Compact is disconnected"):
        mouse.read()
    mouse.close()
    assert stream.closed


def test_only_multi_axis_controllers_of_its_makers_are_taken():
    compact = {"vendor_id": 0x256F, "product_id": 0xC635, "usage_page": 1, "usage": 8}
    assert spacemouse.is_spacemouse(compact)
    assert spacemouse.is_spacemouse({**compact, "vendor_id": 0x046D, "product_id": 0xC626})
    assert not spacemouse.is_spacemouse({**compact, "vendor_id": 0x046D, "usage": 2})  # a mouse
    assert not spacemouse.is_spacemouse({**compact, "vendor_id": 0x045E})


# Gamepad: a virtual one of SDL, read by the same calls as a real one.


@pytest.fixture
def pad() -> Iterator["VirtualPad"]:
    pytest.importorskip("sdl2", reason='needs pip install -e ".[teleop]"', exc_type=ImportError)
    virtual = VirtualPad()
    yield virtual
    virtual.detach()


class VirtualPad:
    """A gamepad that SDL has without any hardware."""

    def __init__(self, kind: str = "SDL_JOYSTICK_TYPE_GAMECONTROLLER") -> None:
        import sdl2

        self.sdl = sdl2
        assert sdl2.SDL_InitSubSystem(sdl2.SDL_INIT_GAMECONTROLLER) == 0
        self.index = sdl2.SDL_JoystickAttachVirtual(
            getattr(sdl2, kind), sdl2.SDL_CONTROLLER_AXIS_MAX, sdl2.SDL_CONTROLLER_BUTTON_MAX, 0
        )
        assert self.index >= 0
        self.stick = sdl2.SDL_JoystickOpen(self.index)

    def set(self, **values: float) -> None:
        """Move sticks (lefty=-1.0) and buttons (a=1)."""
        for name, value in values.items():
            axis = getattr(self.sdl, f"SDL_CONTROLLER_AXIS_{name.upper()}", None)
            if axis is not None:
                self.sdl.SDL_JoystickSetVirtualAxis(self.stick, axis, round(32767 * value))
            else:
                button = getattr(self.sdl, f"SDL_CONTROLLER_BUTTON_{name.upper()}")
                self.sdl.SDL_JoystickSetVirtualButton(self.stick, button, int(value))

    def detach(self) -> None:
        if self.stick is not None:
            self.sdl.SDL_JoystickDetachVirtual(self.index)
            self.sdl.SDL_JoystickClose(self.stick)
            self.sdl.SDL_QuitSubSystem(self.sdl.SDL_INIT_GAMECONTROLLER)
            self.stick = None


def opened():
    device = driving.open_device("gamepad")
    assert device is not None
    return device


@pytest.mark.parametrize(
    ("held", "axis", "expected"),
    [
        ({"lefty": -1.0}, "x", 1.0),
        ({"leftx": -1.0}, "y", 1.0),
        ({"righty": -0.575}, "z", 0.5),
        ({"rightx": -1.0}, "rz", 1.0),
        ({"dpad_up": 1}, "ry", 1.0),
        ({"dpad_right": 1}, "rx", 1.0),
    ],
    ids=str,
)
def test_sticks_are_deflections_in_the_robots_axes(pad, held, axis, expected):
    gamepad = opened()
    assert not gamepad.touched()
    pad.set(**held)
    assert gamepad.touched()
    axes = gamepad.read().axes
    assert axes[AXES.index(axis)] == pytest.approx(expected, abs=1e-3)
    assert np.count_nonzero(axes) == 1
    gamepad.close()


def test_a_stick_that_does_not_quite_return_moves_nothing(pad):
    gamepad = opened()
    pad.set(leftx=0.1, righty=-0.12)
    assert not gamepad.read().axes.any()
    gamepad.close()


def test_a_gamepads_buttons_count_once_a_stroke(pad):
    gamepad = opened()
    pad.set(a=1)
    assert gamepad.touched()
    assert gamepad.read().presses == (devices.GRIP,)
    assert gamepad.read().presses == ()
    pad.set(a=0)
    gamepad.read()
    pad.set(a=1, y=1)
    assert gamepad.read().presses == (devices.GRIP, devices.OTHER)
    gamepad.close()


def test_a_gamepad_is_the_action(pad):
    _, driver = drive(opened())
    pad.set(lefty=-1.0, rightx=1.0, a=1)
    np.testing.assert_allclose(driver.act(), [PLACE, 0, 0, 0, 0, -TURN, 1.0], atol=1e-12)
    assert dict(driver.help)["A"] == "close or open the fingers"


def test_a_gamepad_that_is_pulled_out_says_so(pad):
    gamepad = opened()
    pad.detach()
    with pytest.raises(DeviceError, match="'Virtual Controller' is disconnected"):
        gamepad.read()
    gamepad.close()
    gamepad.close()


def test_a_joystick_that_is_no_gamepad_is_named():
    pytest.importorskip("sdl2", reason='needs pip install -e ".[teleop]"', exc_type=ImportError)
    wheel = VirtualPad("SDL_JOYSTICK_TYPE_WHEEL")
    try:
        with pytest.raises(
            DeviceError, match=r"no gamepad is connected; there is '.*', whose layout"
        ):
            opened()
    finally:
        wheel.detach()


# The command.


@pytest.mark.parametrize(
    ("device", "module", "message"),
    [
        ("gamepad", "sdl2", "no gamepad is connected"),
        ("spacemouse", "hid", "no SpaceMouse is connected"),
    ],
)
def test_a_device_that_is_not_there_is_a_sentence(device, module, message):
    pytest.importorskip(module, reason='needs pip install -e ".[teleop]"', exc_type=ImportError)
    assert message in called("teleop", ID, "--device", device, code=1).output


@pytest.mark.parametrize("device", ["gamepad", "spacemouse"])
def test_without_its_package_a_device_says_how_to_get_it(device, monkeypatch):
    for name in ("sdl2", "hid", "hidraw"):
        monkeypatch.setitem(sys.modules, name, None)
    assert 'pip install -e ".[teleop]"' in called("teleop", ID, "--device", device, code=1).output


def test_other_devices_are_refused():
    said = refused_call("teleop", ID, "--device", "joystick")
    assert "'keyboard', 'gamepad', 'spacemouse'" in said
