"""A task's model, compiled for simulations."""

import copy
import functools
import math
from collections.abc import Collection, Iterator
from typing import Any

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.task import WHOLE, Task
from mjgym.variation.varying import FRAMES

# Compiled models, of the tasks that were asked for last: more than there are ids, all of which take
# 62 MB, so that going through them again and again compiles each once.
KEPT = 160


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


def compile_undrawn(task: Task, model: mujoco.MjModel) -> tuple[mujoco.MjModel, np.ndarray]:
    """The task's model without geoms that only pictures need, and without idle tendons.

    Its states and what moves them are the same to the bit.

    Args:
        task: the task.
        model: of `compile_model`.

    Returns:
        The model, and which geoms it has, ids (n,): all, where others give bodies their inertia or
        the task's model is another by now.
    """
    spec = mjcf.without_textures(task.model())
    whole = spec.compile()
    _free_frames(whole, task.varies)
    felt = _felt_geoms(whole)
    for geom in [geom for geom in spec.geoms if not felt[geom.id]]:  # ids change meanwhile
        spec.delete(geom)
    for tendon in [tendon for tendon in spec.tendons if not _is_felt(whole, tendon.id)]:
        spec.delete(tendon)
    bare = spec.compile()
    _free_frames(bare, task.varies)
    of_geoms = (np.array_equal(getattr(whole, x), getattr(bare, x)) for x in _OF_GEOMS)
    if not (_same(whole, model) and _same(whole.opt, model.opt) and all(of_geoms)):
        return model, np.arange(model.ngeom)
    return bare, np.flatnonzero(felt)


def numbers(of: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and arrays of a model, or of its options, in the order of their names."""
    for name in sorted(dir(of)):
        if not name.startswith("_"):  # addresses
            value = getattr(of, name)
            if isinstance(value, np.ndarray | int | float):
                yield name, value


def _same(one: Any, other: Any) -> bool:
    """Whether all numbers of two models, or of their options, are the same."""
    return all(np.array_equal(value, getattr(other, name)) for name, value in numbers(one))


# What the compiler may work out from geoms.
_OF_GEOMS = ("body_mass", "body_inertia", "body_ipos", "body_iquat", "body_invweight0", "dof_M0")
_GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
_BY_RAYS = int(mujoco.mjtSensor.mjSENS_RANGEFINDER)
_BY_BODIES = tuple(
    int(getattr(mujoco.mjtSensor, f"mjSENS_GEOM{kind}")) for kind in ("DIST", "NORMAL", "FROMTO")
)
_AROUND = tuple(int(x) for x in (mujoco.mjtWrap.mjWRAP_SPHERE, mujoco.mjtWrap.mjWRAP_CYLINDER))


def _felt_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Which geoms can touch others, or are looked at by the engine in some other way, bool (n,)."""
    kinds = model.geom_contype, model.geom_conaffinity, model.geom_fluid[:, 0]
    felt: np.ndarray = np.any([kind != 0 for kind in kinds], axis=0)
    felt[model.pair_geom1] = felt[model.pair_geom2] = True
    felt[model.wrap_objid[np.isin(model.wrap_type, _AROUND)]] = True
    felt[model.sensor_objid[model.sensor_objtype == _GEOM]] = True
    felt[model.sensor_refid[model.sensor_reftype == _GEOM]] = True
    if np.isin(model.sensor_type, (_BY_RAYS, *_BY_BODIES)).any():
        felt[:] = True
    return felt


def _is_felt(model: mujoco.MjModel, tendon: int) -> bool:
    """Whether a tendon moves anything, or is looked at by the engine."""
    kind = int(mujoco.mjtObj.mjOBJ_TENDON)
    driven = model.actuator_trnid[model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON), 0]
    linked = model.eq_type == int(mujoco.mjtEq.mjEQ_TENDON)
    referred = [
        driven,
        model.eq_obj1id[linked],
        model.eq_obj2id[linked],
        model.sensor_objid[model.sensor_objtype == kind],
    ]
    forces = (
        model.tendon_limited,
        model.tendon_stiffness,
        model.tendon_damping,
        model.tendon_frictionloss,
        model.tendon_armature,
        model.tendon_actfrclimited,
    )
    return any(tendon in x for x in referred) or any(bool(np.any(x[tendon])) for x in forces)


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
