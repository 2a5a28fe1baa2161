"""A task's model, compiled for simulations."""

import copy
import functools
import math
from collections.abc import Collection

import mujoco

from mjgym import mjcf
from mjgym.task import WHOLE, Task
from mjgym.variation.varying import FRAMES

KEPT = 64  # compiled models, of the tasks that were asked for last


def compile_model(task: Task) -> mujoco.MjModel:
    """The task's model without textures, which only pictures need; the caller owns it.

    It is compiled once for each frozen task: a copy takes a hundredth of the time.
    """
    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        return compile_anew(task)
    return copy.copy(_compiled(task))


def compile_anew(task: Task) -> mujoco.MjModel:
    """The same, whether or not it has been compiled before."""
    model = mjcf.without_textures(task.model()).compile()
    _free_frames(model, task.varies)
    return model


def _free_frames(model: mujoco.MjModel, varies: Collection[str]) -> None:
    """Have the engine look at the places that episodes write.

    It notes which frames coincide with those of their bodies or inertias when it compiles, and then
    copies these.
    """
    same = mujoco.mjtSameFrame
    for kind, fields in FRAMES.items():
        written = fields.intersection(varies)
        frames = getattr(model, f"{kind}_sameframe")
        if written == {f"{kind}_pos"}:
            frames[frames == same.mjSAMEFRAME_BODY] = same.mjSAMEFRAME_BODYROT
            frames[frames == same.mjSAMEFRAME_INERTIA] = same.mjSAMEFRAME_INERTIAROT
        elif written:
            frames[:] = same.mjSAMEFRAME_NONE


_compiled = functools.lru_cache(KEPT)(compile_anew)


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
