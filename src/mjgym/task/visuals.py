"""Models without visual geoms and idle tendons, for simulation without rendering."""

from typing import Any

import mujoco
import numpy as np

from mjgym.task import Task
from mjgym.task.models import free_frames, numbers, physics_spec


def compile_without_visuals(task: Task, model: mujoco.MjModel) -> tuple[mujoco.MjModel, np.ndarray]:
    """Compile the task's model without geoms that only rendering needs, and without idle tendons.

    States and dynamics are the same to the bit.

    Returns:
        The model, and the ids (n,) of its geoms: `model` and all geoms, if visual geoms affect
        inertias or the task's model has changed.
    """
    spec = physics_spec(task)
    whole = spec.compile()
    free_frames(whole, task.varies)
    physical = _physical_geoms(whole)
    for geom in [geom for geom in spec.geoms if not physical[geom.id]]:  # deleting changes ids
        spec.delete(geom)
    for tendon in [tendon for tendon in spec.tendons if not _is_physical(whole, tendon.id)]:
        spec.delete(tendon)
    every = model, np.arange(model.ngeom)
    try:
        bare = spec.compile()
    except ValueError:  # a body that moves has its mass from them
        return every
    free_frames(bare, task.varies)
    of_geoms = (np.array_equal(getattr(whole, x), getattr(bare, x)) for x in _OF_GEOMS)
    if not (_same(whole, model) and _same(whole.opt, model.opt) and all(of_geoms)):
        return every
    return bare, np.flatnonzero(physical)


def _same(one: Any, other: Any) -> bool:
    return all(np.array_equal(value, getattr(other, name)) for name, value in numbers(one))


# Fields that the compiler may infer from geoms.
_OF_GEOMS = ("body_mass", "body_inertia", "body_ipos", "body_iquat", "body_invweight0", "dof_M0")
_GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
_BY_RAYS = int(mujoco.mjtSensor.mjSENS_RANGEFINDER)
_BY_BODIES = tuple(
    int(getattr(mujoco.mjtSensor, f"mjSENS_GEOM{kind}")) for kind in ("DIST", "NORMAL", "FROMTO")
)
_AROUND = tuple(int(x) for x in (mujoco.mjtWrap.mjWRAP_SPHERE, mujoco.mjtWrap.mjWRAP_CYLINDER))


def _is_physical(model: mujoco.MjModel, tendon: int) -> bool:
    """Tell whether a tendon exerts a force, or an actuator, constraint or sensor refers to it."""
    kind = int(mujoco.mjtObj.mjOBJ_TENDON)
    linked = model.eq_type == int(mujoco.mjtEq.mjEQ_TENDON)
    referred = (
        model.actuator_trnid[model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON), 0],
        model.eq_obj1id[linked],
        model.eq_obj2id[linked],
        model.sensor_objid[model.sensor_objtype == kind],
    )
    forces = (
        model.tendon_limited,
        model.tendon_stiffness,
        model.tendon_damping,
        model.tendon_frictionloss,
        model.tendon_armature,
        model.tendon_actfrclimited,
    )
    return any(tendon in x for x in referred) or any(bool(np.any(x[tendon])) for x in forces)


def _physical_geoms(model: mujoco.MjModel) -> np.ndarray:
    """A mask of the geoms that can collide, or that sensors, tendons or fluids need, (n,)."""
    kinds = model.geom_contype, model.geom_conaffinity, model.geom_fluid[:, 0]
    physical: np.ndarray = np.any([kind != 0 for kind in kinds], axis=0)
    physical[model.pair_geom1] = physical[model.pair_geom2] = True
    physical[model.wrap_objid[np.isin(model.wrap_type, _AROUND)]] = True
    physical[model.sensor_objid[model.sensor_objtype == _GEOM]] = True
    physical[model.sensor_refid[model.sensor_reftype == _GEOM]] = True
    if np.isin(model.sensor_type, (_BY_RAYS, *_BY_BODIES)).any():
        physical[:] = True
    return physical
