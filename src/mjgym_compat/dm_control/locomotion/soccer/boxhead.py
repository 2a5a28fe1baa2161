"""A football player that rolls on a ball under a head like a box."""

import math
from typing import Any, ClassVar

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.soccer.team import INVALID_WALKER_ID, require_number
from mjgym_compat.dm_control.locomotion.walkers import jumping_ball, known, legacy_base

_INVALID_WALKER_ID = INVALID_WALKER_ID
PITCH = (-0.35, 0.0)  # rad, of the camera


class BoxHead(jumping_ball.JumpingBallWithHead):
    """A ball with arms under a head: it rolls, steers and jumps, and cannot tip over.

    Args:
        walker_id: its number, from 0 to 10; not drawn.
    """

    file = "boxhead.xml"
    registered = "boxhead"
    markers = ("head", "arm_l", "arm_r")
    facing = math.pi / 2  # at an angle of 0 it faces -y

    def _build(
        self,
        name: str = "walker",
        marker_rgba: Any = None,
        camera_control: bool = False,
        camera_resolution: tuple[int, int] = (28, 28),
        roll_gear: float = -60,
        steer_gear: float = 55,
        walker_id: int | None = None,
        initializer: Any = None,
    ) -> None:
        require_number(walker_id)
        super()._build(name, marker_rgba, initializer=initializer)
        self._camera_resolution = camera_resolution
        for actuator, gear in (("roll", roll_gear), ("steer", steer_gear)):
            self._find("actuator", actuator)[0].gear = [gear]
        self.observable_camera_joints: list[mjcf.Element] = []
        (eye,) = self._find("body", "egocentric_camera")
        if camera_control:
            eye.gravcomp = 1
            yaw = eye.add("joint", name="camera_yaw", axis=(0, 1, 0), limited=False)
            pitch = eye.add("joint", name="camera_pitch", axis=(1, 0, 0), range=PITCH)
            self.observable_camera_joints = [yaw, pitch]
        for joint in self.observable_camera_joints:
            self._mjcf_root.actuator.add(
                "velocity", name=joint.name, joint=joint, ctrllimited=True, ctrlrange=(-1, 1)
            )

    def _build_observables(self) -> "BoxHeadObservables":
        return BoxHeadObservables(self)


class BoxHeadObservables(known.KnownObservables):
    """Observables of the player."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = legacy_base.WalkerObservables._groups | {
        "proprioception": (
            "joints_pos", "joints_vel", "body_height", "end_effectors_pos", "world_zaxis",
            "prev_action",
        ),
    }  # fmt: skip

    @composer.observable
    def egocentric_camera(self) -> Any:
        height, width = self._entity._camera_resolution
        return observable.MJCFCamera(self._entity.egocentric_camera, height=height, width=width)

    camera_joints_pos = define.feature("qpos", "observable_camera_joints")
    camera_joints_vel = define.feature("qvel", "observable_camera_joints")
