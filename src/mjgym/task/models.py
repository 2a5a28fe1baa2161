"""A task's model, compiled for simulations."""

import copy
import functools
from collections.abc import Collection, Iterator
from typing import Any

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.task import Task
from mjgym.variation.varying import FRAMES

# Compiled models, of the tasks that were asked for last: more than there are ids, all of which take
# 62 MB, so that going through them again and again compiles each once.
CACHE_SIZE = 160


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
    free_frames(model, task.varies)
    return model


def numbers(of: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and arrays of a model, or of its options, in the order of their names."""
    for name in sorted(dir(of)):
        if not name.startswith("_"):  # addresses
            value = getattr(of, name)
            if isinstance(value, np.ndarray | int | float):
                yield name, value


def free_frames(model: mujoco.MjModel, varies: Collection[str]) -> None:
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


_compiled = functools.lru_cache(CACHE_SIZE)(compile_anew)


def clear_cache() -> None:
    """Forget all compiled models, for a task whose `model()` reads a file that has changed."""
    _compiled.cache_clear()
