"""Compiled models of tasks, and their physics steps per control step."""

import copy
import functools
import math
import warnings
from collections.abc import Collection, Iterator
from typing import Any

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.mjcf.elements import require_spec
from mjgym.sim import model_writes
from mjgym.task import WHOLE_TOLERANCE, Task
from mjgym.util.suggestions import did_you_mean
from mjgym.variation.varying import FRAMES

_SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)

# More than there are ids, which take 62 MB in total, so that iterating over all of them repeatedly
# compiles each once.
CACHE_SIZE = 160

MOST_SUBSTEPS = 100_000  # a control step takes tenths of a second then


def compile_model(task: Task) -> mujoco.MjModel:
    """A copy of the task's compiled model without textures, which only rendering needs.

    Each task is compiled once: a copy takes a hundredth of the time.
    """
    try:
        hash(task)
    except TypeError:  # a field is a list or a dict
        return compile_anew(task)
    return copy.copy(_compiled(task))


def compile_anew(task: Task) -> mujoco.MjModel:
    """As `compile_model`, without the cache."""
    model = physics_spec(task).compile()
    _check_varies(task)
    free_frames(model, task.varies)
    return model


def physics_spec(task: Task) -> mujoco.MjSpec:
    """The spec of a task's model for simulation: a copy without textures and without sleeping.

    MuJoCo keeps what it knows of sleeping bodies in MjData alone, which no state restores.
    """
    spec = task.model()
    hook = f"{type(task).__name__}.model()"
    require_spec(hook, spec)
    spec = mjcf.without_textures(spec)
    if spec.option.enableflags & _SLEEP:
        warnings.warn(f'{hook}: bodies stay awake, <flag sleep="enable"/> is ignored', stacklevel=2)
        spec.option.enableflags &= ~_SLEEP
    return spec


def _check_varies(task: Task) -> None:
    hook, varies = f"{type(task).__name__}.varies", task.varies
    if isinstance(varies, str):
        raise TypeError(f"{hook}: expected names of fields, got text; write ({varies!r},)")
    known = model_writes.field_names()
    for name in varies:
        if name not in known:
            raise ValueError(f"{hook}: no field {name!r} of MjModel{did_you_mean(name, known)}")


def fields(model: mujoco.MjModel) -> Iterator[tuple[str, Any]]:
    """Arrays of a model and numbers of its options ("opt.<name>"), in the order of their names."""
    for name, value in numbers(model):
        if isinstance(value, np.ndarray):
            yield name, value
    for name, value in numbers(model.opt):
        yield f"opt.{name}", value


def numbers(of: Any) -> Iterator[tuple[str, Any]]:
    """Numbers and arrays of a model, or of its options, in the order of their names."""
    for name in sorted(dir(of)):
        if not name.startswith("_"):  # addresses
            value = getattr(of, name)
            if isinstance(value, np.ndarray | int | float):
                yield name, value


def free_frames(model: mujoco.MjModel, varies: Collection[str]) -> None:
    """Have the engine recompute frames that episodes write.

    The compiler marks frames that coincide with those of their bodies or inertias, which are then
    copied from there.
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


_compiled = functools.lru_cache(CACHE_SIZE)(compile_anew)


def clear_cache() -> None:
    """Drop all compiled models, for a task with a `model()` that reads a changed file."""
    _compiled.cache_clear()


def substeps(task: Task, model: mujoco.MjModel) -> int:
    """Physics steps per control step.

    Raises:
        ValueError: the control timestep is not a multiple of the physics timestep.
    """
    ratio = task.control_timestep / model.opt.timestep
    n = round(ratio) if math.isfinite(ratio) else 0
    if n > MOST_SUBSTEPS:
        raise ValueError(
            f"{type(task).__name__}: control_timestep {task.control_timestep} s is {n} physics"
            f" steps; there may be {MOST_SUBSTEPS}"
        )
    if n < 1 or abs(ratio - n) > WHOLE_TOLERANCE:
        raise ValueError(
            f"{type(task).__name__}: control_timestep {task.control_timestep} s must be a whole"
            f" number of physics timesteps of {model.opt.timestep} s"
        )
    return int(n)
