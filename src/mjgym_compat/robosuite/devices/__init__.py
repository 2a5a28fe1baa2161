"""Keyboard and SpaceMouse as devices of robosuite, over those of `mjgym teleop`."""

from typing import Any

import numpy as np

from mjgym.viewing import devices
from mjgym.viewing.keyboard import KEYS
from mjgym.viewing.keyboard import Keyboard as Keys
from mjgym.viewing.spacemouse import first


class Device:
    """A device that drives one arm at a time.

    Attributes:
        active_robot: number of the robot that it drives.
        active_arm: "right" or "left".
    """

    def __init__(
        self,
        env: Any,
        source: devices.Device,
        pos_sensitivity: float = 1.0,
        rot_sensitivity: float = 1.0,
    ) -> None:
        self.env, self._source = env, source
        self.pos_sensitivity, self.rot_sensitivity = pos_sensitivity, rot_sensitivity
        self._arms = [(i, arm) for i, robot in enumerate(env.robots) for arm in robot.arms]
        self.start_control()

    def start_control(self) -> None:
        """Begin an episode with open fingers and the first arm."""
        self._source.begin()
        self._active, self.grasp = 0, False

    @property
    def active_robot(self) -> int:
        return self._arms[self._active][0]

    @property
    def active_arm(self) -> str:
        return str(self._arms[self._active][1])

    def get_controller_state(self) -> dict[str, Any]:
        """Displacement `dpos` and rotation `raw_drotation`, within -1 and 1, and `grasp`."""
        motion = self._source.read()
        for press in motion.presses:
            if press == devices.GRIP:
                self.grasp = not self.grasp
            else:
                self._active = (self._active + 1) % len(self._arms)
        axes = np.clip(motion.axes, -1, 1)
        return {
            "dpos": np.clip(axes[:3] * self.pos_sensitivity, -1, 1),
            "raw_drotation": np.clip(axes[3:] * self.rot_sensitivity, -1, 1),
            "grasp": int(self.grasp),
            "reset": 0,
        }

    def input2action(self, mirror_actions: bool = False) -> dict[str, np.ndarray]:
        """Parts of the driven robot's action, for `Robot.create_action_vector`.

        Each arm has `<arm>_delta`, six numbers, also as `<arm>`, and `<arm>_gripper`.

        Args:
            mirror_actions: whether a person looks at the robot from before it.
        """
        state = self.get_controller_state()
        delta = np.concatenate([state["dpos"], state["raw_drotation"]])
        if mirror_actions:
            delta[[0, 1, 3, 4]] *= -1
        robot = self.env.robots[self.active_robot]
        action: dict[str, np.ndarray] = {}
        for arm in robot.arms:
            driven = arm == self.active_arm
            count = robot.composite_controller.get_control_dim(f"{arm}_gripper")
            fingers = np.full(count, 1.0 if self.grasp else -1.0) if driven else np.zeros(count)
            width = robot.composite_controller.get_control_dim(arm)
            action[f"{arm}_delta"] = (delta if driven else np.zeros(6))[:width]
            action[arm] = action[f"{arm}_delta"]
            if count:
                action[f"{arm}_gripper"] = fingers
        return action


class Keyboard(Device):
    """The keys of `mjgym teleop`; a window, or a listener, calls `on_press`."""

    def __init__(
        self, env: Any, pos_sensitivity: float = 1.0, rot_sensitivity: float = 1.0
    ) -> None:
        self._keys = Keys()
        super().__init__(env, self._keys, pos_sensitivity, rot_sensitivity)

    def on_press(self, key: Any) -> None:
        """Handle a key press, given as a name or an object with `char` or `name`."""
        name = key if isinstance(key, str) else getattr(key, "char", None) or key.name
        name = str(name).replace("_", " ")
        if name in KEYS:
            self._keys.press(name)

    def on_release(self, key: Any) -> None:
        """Do nothing: a key counts as released some time after its last press."""


class SpaceMouse(Device):
    """The first SpaceMouse that is connected.

    Raises:
        DeviceError: there is none, or it does not open.
    """

    def __init__(
        self, env: Any, pos_sensitivity: float = 1.0, rot_sensitivity: float = 1.0
    ) -> None:
        super().__init__(env, first(), pos_sensitivity, rot_sensitivity)


__all__ = ["Device", "Keyboard", "SpaceMouse"]
