"""Inverse kinematics by damped least squares."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np

_INVALID_JOINT_NAMES_TYPE = "joint_names: expected None, a list, a tuple or an array, got {}"
_REQUIRE_TARGET_POS_OR_QUAT = "give target_pos, target_quat, or both"


class IKResult(NamedTuple):
    """Joint positions, the error's norm, the number of steps, and whether they solve the task."""

    qpos: np.ndarray
    err_norm: float
    steps: int
    success: bool


def nullspace_method(
    jac_joints: np.ndarray, delta: np.ndarray, regularization_strength: float = 0.0
) -> np.ndarray:
    """Joint velocities for a velocity of the site, by (damped) least squares."""
    if regularization_strength > 0:
        normal = jac_joints.T @ jac_joints
        damped = normal + np.eye(len(normal)) * regularization_strength
        solution: np.ndarray = np.linalg.solve(damped, jac_joints.T @ delta)
        return solution
    least: np.ndarray = np.linalg.lstsq(jac_joints, delta, rcond=-1)[0]
    return least


def qpos_from_site_pose(
    physics: Any,
    site_name: str,
    target_pos: Any = None,
    target_quat: Any = None,
    joint_names: Sequence[str] | None = None,
    tol: float = 1e-14,
    rot_weight: float = 1.0,
    regularization_threshold: float = 0.1,
    regularization_strength: float = 3e-2,
    max_update_norm: float = 2.0,
    progress_thresh: float = 20.0,
    max_steps: int = 100,
    inplace: bool = False,
) -> IKResult:
    """Joint positions that bring a site to a pose."""
    if target_pos is None and target_quat is None:
        raise ValueError(_REQUIRE_TARGET_POS_OR_QUAT)
    if joint_names is not None and not isinstance(joint_names, list | tuple | np.ndarray):
        raise ValueError(_INVALID_JOINT_NAMES_TYPE.format(type(joint_names)))
    if not inplace:
        physics = physics.copy(share_model=True)
    model, data = physics.model.ptr, physics.data.ptr
    mujoco.mj_fwdPosition(model, data)
    site = physics.model.name2id(site_name, "site")
    dofs = np.arange(model.nv)
    if joint_names is not None:
        field = physics.named.model.dof_jntid
        dofs = np.arange(model.nv)[field._convert_key(list(joint_names))]
    aimed = [target_pos is not None] * 3 + [target_quat is not None] * 3
    rows = np.flatnonzero(aimed)
    jacobian, error, success, steps, norm = np.zeros((6, model.nv)), np.zeros(6), False, 0, 0.0
    for steps in range(max_steps):  # noqa: B007  (returned)
        norm = 0.0
        if target_pos is not None:
            error[:3] = target_pos - data.site_xpos[site]
            norm += float(np.linalg.norm(error[:3]))
        if target_quat is not None:
            error[3:] = _rotation(data.site_xmat[site], np.asarray(target_quat, dtype=np.float64))
            norm += float(np.linalg.norm(error[3:])) * rot_weight
        if norm < tol:
            success = True
            break
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
        damping = regularization_strength if norm > regularization_threshold else 0.0
        update = nullspace_method(jacobian[rows][:, dofs], error[rows], damping)
        length = float(np.linalg.norm(update))
        if norm / length > progress_thresh:
            break
        velocity = np.zeros(model.nv)
        velocity[dofs] = update * min(1.0, max_update_norm / length)
        mujoco.mj_integratePos(model, data.qpos, velocity, 1)
        mujoco.mj_fwdPosition(model, data)
    return IKResult(data.qpos.copy(), norm, steps, success)


def _rotation(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rotation vector from one orientation to another, world frame."""
    present, inverse, difference, vector = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(present, matrix)
    mujoco.mju_negQuat(inverse, present)
    mujoco.mju_mulQuat(difference, wanted, inverse)
    mujoco.mju_quat2Vel(vector, difference, 1)
    return vector
