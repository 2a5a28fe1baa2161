"""The interface of MuJoCo's models and states: `mujoco.Physics`."""

from mjgym_compat.dm_control.mujoco.engine import (
    Camera,
    MovableCamera,
    Physics,
    TextOverlay,
    action_spec,
)
from mjgym_compat.dm_control.mujoco.math import (
    euler2quat,
    mj_quat2vel,
    mj_quatdiff,
    mj_quatneg,
    mj_quatprod,
)
from mjgym_compat.dm_control.mujoco.wrapper import MjData, MjModel, MjrContext, MjvScene
from mjgym_compat.importing import submodules

__all__ = [
    "Camera",
    "MjData",
    "MjModel",
    "MjrContext",
    "MjvScene",
    "MovableCamera",
    "Physics",
    "TextOverlay",
    "action_spec",
    "euler2quat",
    "mj_quat2vel",
    "mj_quatdiff",
    "mj_quatneg",
    "mj_quatprod",
]

__getattr__ = submodules(__name__)
