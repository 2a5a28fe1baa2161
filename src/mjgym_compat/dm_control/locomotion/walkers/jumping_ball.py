"""Balls under a head that stays on top: one that jumps, and one that rolls only."""

import math
from typing import Any

from mjgym_compat.dm_control.locomotion.walkers import known

EAR = 0.22, 0.26  # m, to the side, and radius
CAMERA_SPEEDS = {
    "camera_height": ("slide", (0, 1, 0), 0.5),
    "camera_tilt": ("hinge", (1, 0, 0), 0.35),
}


class JumpingBallWithHead(known.Known):
    """A ball that rolls, steers and jumps, and cannot tip over."""

    file = "jumping_ball.xml"
    registered = "jumping_ball"
    markers: tuple[str, ...] = ("head",)
    facing = 0.0  # rad, about the steering axis, when it faces +x

    def _build(
        self,
        name: str = "walker",
        marker_rgba: Any = None,
        camera_control: bool = False,
        initializer: Any = None,
        add_ears: bool = False,
        camera_height: float | None = None,
    ) -> None:
        super()._build(name, marker_rgba, initializer)
        (eye,) = self._find("body", "egocentric_camera")
        if camera_height is not None:
            eye.pos = (*eye.pos[:2], camera_height)
        for speed, (kind, axis, most) in CAMERA_SPEEDS.items() if camera_control else ():
            joint = eye.add("joint", name=speed, type=kind, axis=axis, range=(-most, most))
            self._mjcf_root.actuator.add(
                "velocity", name=speed, joint=joint, ctrllimited=True, ctrlrange=(-1, 1)
            )
        for side, colour in ((1, (0.7, 0, 0, 1)), (-1, (0, 0, 0.7, 1))) if add_ears else ():
            self.root_body.add(
                "site", type="sphere", pos=(side * EAR[0], 0, 0), size=(EAR[1],), rgba=colour
            )

    def create_root_joints(self, attachment_frame: Any) -> None:
        self._slides = [
            attachment_frame.add(
                "joint", name=f"root_{letter}", type="slide", axis=[letter == a for a in "xyz"]
            )
            for letter in "xyz"
        ]

    def set_pose(self, physics: Any, position: Any = None, quaternion: Any = None) -> None:
        if position is not None:
            physics.bind(self._slides).qpos = position
        if quaternion is not None:
            turn = -2 * math.atan2(quaternion[3], quaternion[0]) - self.facing
            physics.bind(self._find("joint", "steer")).qpos = math.remainder(turn, 2 * math.pi)

    def set_velocity(
        self, physics: Any, velocity: Any = None, angular_velocity: Any = None
    ) -> None:
        """Set the velocity of its slides; it has no angular velocity of its own."""
        if velocity is not None:
            physics.bind(self._slides).qvel = velocity


class RollingBallWithHead(JumpingBallWithHead):
    """A ball that rolls and steers."""

    file = "rolling_ball.xml"
    registered = "rolling_ball"
