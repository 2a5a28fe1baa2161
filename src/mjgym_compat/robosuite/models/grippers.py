"""Grippers, as `_check_grasp` takes them."""

from dataclasses import dataclass, field

import numpy as np

from mjgym.robots import hands
from mjgym_compat.robosuite.models.objects import MujocoModel

ALL_GRIPPERS = tuple(name for name in hands.names() if hands.find(name).law is not None)


@dataclass(frozen=True, eq=False)
class GripperModel(MujocoModel):
    """The gripper of a robot's arm.

    Args:
        dof: numbers of an action that move it.
        speed: of its fingers, half strokes per control step.
        init_qpos: initial joint positions, m or rad.
        actuators: of its fingers.
        important_geoms: "left_fingerpad" and "right_fingerpad", both touching a grasped object.
        important_sites: "grip_site", the tool.
        important_sensors: "force_ee" and "torque_ee".
    """

    dof: int = 0
    speed: float = 0.0
    init_qpos: np.ndarray = field(default_factory=lambda: np.zeros(0))
    actuators: tuple[str, ...] = ()
    important_geoms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    important_sites: dict[str, str] = field(default_factory=dict)
    important_sensors: dict[str, str] = field(default_factory=dict)
