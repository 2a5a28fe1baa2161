"""A Gymnasium-native registry of MuJoCo control tasks; importing it registers the ids."""

import os

try:
    import mujoco as _mujoco  # noqa: F401
except Exception as _error:  # what PyOpenGL raises is not always an ImportError
    if not os.environ.get("MUJOCO_GL"):
        raise
    raise ImportError(
        f"MuJoCo cannot be imported with MUJOCO_GL={os.environ['MUJOCO_GL']}:"
        f" {type(_error).__name__}: {_error}. Unset the environment variable MUJOCO_GL, and an"
        " OpenGL that works here is found when something is drawn; or set it to egl, osmesa or"
        ' glfw, whichever is installed, or to disable. "mjgym doctor" tries them'
    ) from _error

from mjgym import registry, variation
from mjgym.describe.fingerprint import fingerprint
from mjgym.entities import Entity, WithEntities
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.loop.episode import DivergenceError
from mjgym.observables import Observable, observe
from mjgym.registry import parallel_env
from mjgym.task import Action, GoalTask, Task, Viewpoint, register
from mjgym.version import __version__

__all__ = [
    "Action",
    "DivergenceError",
    "Entity",
    "Env",
    "GoalTask",
    "Observable",
    "Task",
    "VectorEnv",
    "Viewpoint",
    "WithEntities",
    "__version__",
    "fingerprint",
    "observe",
    "parallel_env",
    "register",
    "registry",
    "variation",
]
