"""Writes of hooks to the model: a batch shares it, but for the fields that `varies` names."""

import contextlib
import copy
from collections.abc import Collection
from typing import Any, NoReturn

import mujoco
import mujoco.batch
import numpy as np

from mjgym.sim.engine import ASSET_FIELDS, get_field, set_field
from mjgym.sim.single import Single, SingleView
from mjgym.task import Task
from mjgym.task.models import compile_model, numbers

VARIABLE = mujoco.batch.MODEL_FIELDS | ASSET_FIELDS
"""Fields of MjModel of which each simulation of a batch can have its own."""
TRIES = 30  # starts in which a refused write is looked for, to name its field


def initialize(task: Task, scratch: Single, rng: Any) -> None:
    """Write the start of an episode into a simulation at the model's defaults.

    The view refuses writes to fields that `varies` does not name. Those through `v.model` are found
    in the first start of each scratch simulation: a comparison in every start would take long.

    Raises:
        ValueError: the task writes a field of the model that its `varies` does not name.
    """
    before = copy.copy(scratch.model) if scratch.untried else None
    try:
        task.initialize(scratch.view, rng)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        _refuse(task, _written(task), error)
    if before is not None:
        if names := undo_writes(scratch.model, before, scratch.view.writable or ()):
            _refuse(task, names)
        scratch.untried = False


def undo_writes(
    model: mujoco.MjModel, before: mujoco.MjModel, varies: Collection[str] = ()
) -> tuple[str, ...]:
    """Restore the fields of a model that `varies` does not name, and return which had changed.

    Args:
        before: a copy of the model; its fields in `varies` are overwritten.
    """
    for name in varies:
        set_field(before, name, get_field(model, name))
    if _saved(model) == _saved(before):  # in a hundredth of the time of what follows
        return ()
    names = [name for name, _ in numbers(model)] + [f"opt.{n}" for n, _ in numbers(model.opt)]
    changed = tuple(name for name in names if _bytes(model, name) != _bytes(before, name))
    for name in changed:
        set_field(model, name, get_field(before, name))
    return changed


def _saved(model: mujoco.MjModel) -> bytes:
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def _bytes(model: mujoco.MjModel, name: str) -> bytes:
    return np.asarray(get_field(model, name)).tobytes()


def _written(task: Task) -> tuple[str, ...]:
    """Fields that `initialize` writes beyond `varies` in the first start that writes any."""
    model = compile_model(task)
    for seed in range(TRIES):
        with contextlib.suppress(Exception):  # the caller reports the one that it has met
            task.initialize(SingleView(model, mujoco.MjData(model)), np.random.default_rng(seed))
        if names := undo_writes(model, compile_model(task), task.varies):
            return names
    return ()


def _refuse(task: Task, names: tuple[str, ...], cause: Exception | None = None) -> NoReturn:
    if fixed := [name for name in names if name not in VARIABLE]:
        advice = f"; {', '.join(fixed)} cannot differ between simulations: write it in model()"
    elif names:
        advice = f": set varies = {(*task.varies, *names)!r}"
    else:
        advice = f": it names {', '.join(task.varies) or 'none'}"
    raise ValueError(
        f"{type(task).__name__}.initialize writes {', '.join(names) or 'a field'} of the model,"
        f" which a batch would lose, as `varies` does not name it{advice}"
    ) from cause
