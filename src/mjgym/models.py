"""A task's model, compiled for simulations."""

import copy
import functools
import math

import mujoco

from mjgym import mjcf
from mjgym.task import WHOLE, Task

KEPT = 64  # compiled models, of the tasks that were asked for last


def compile_model(task: Task) -> mujoco.MjModel:
    """The task's model without textures, which only pictures need; the caller owns it.

    It is compiled once for each frozen task: a copy takes a hundredth of the time.
    """
    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        return _compile(task)
    return copy.copy(_compiled(task))


def _compile(task: Task) -> mujoco.MjModel:
    return mjcf.without_textures(task.model()).compile()


_compiled = functools.lru_cache(KEPT)(_compile)


def clear_cache() -> None:
    """Forget all compiled models, for a task whose `model()` reads a file that has changed."""
    _compiled.cache_clear()


def substeps(task: Task, model: mujoco.MjModel) -> int:
    """Physics steps in a control step.

    Raises:
        ValueError: the control timestep is not a whole number of physics timesteps.
    """
    ratio = task.control_timestep / model.opt.timestep
    n = round(ratio) if math.isfinite(ratio) else 0
    if n < 1 or abs(ratio - n) > WHOLE:
        raise ValueError(
            f"{type(task).__name__}: control_timestep {task.control_timestep} s must be a whole"
            f" number of physics timesteps of {model.opt.timestep} s"
        )
    return int(n)
