"""The interface of MuJoCo's models and states: `mujoco.Physics`, beside MuJoCo's own names."""

from typing import Any

import mujoco

from mjgym_compat.dm_control.mujoco.engine import (
    Camera,
    CameraMatrices,
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
from mjgym_compat.importing import submodules

__all__ = [
    "Camera",
    "CameraMatrices",
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

_submodule = submodules(__name__)


def __getattr__(name: str) -> Any:
    return getattr(mujoco, name) if hasattr(mujoco, name) else _submodule(name)
