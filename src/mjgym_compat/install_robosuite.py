"""Patches under which the published robosuite runs on this MuJoCo, one function for each change."""

import importlib
import types
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from mjgym.sim.fields import QPOS, QVEL, spans


def apply() -> None:
    """Apply all patches."""
    compare_joint_types()
    restore_sparse_inertia()
    restore_full_inertia()


def compare_joint_types() -> None:
    """Addresses of joints: members of `mjtJoint` no longer equal NumPy's integers."""
    if mujoco.mjtJoint.mjJNT_HINGE == np.int32(3):
        return
    binding: Any = importlib.import_module("robosuite.utils.binding_utils").MjModel
    binding.get_joint_qpos_addr = _address(QPOS)
    binding.get_joint_qvel_addr = _address(QVEL)


def _address(field: Any) -> Callable[[Any, str], Any]:
    def address(self: Any, name: str) -> Any:
        """First row of a joint, or first and end of one with several rows."""
        joints = np.array([self.joint_name2id(name)])
        first, width = (int(x[0]) for x in spans(self._model, field, joints))
        return first if width == 1 else (first, first + width)

    return address


def restore_sparse_inertia() -> None:
    """`sim.data.qM`: MuJoCo 4 keeps the inertia matrix by rows, as `MjData.M`."""
    if not hasattr(mujoco.MjData, "qM"):
        binding: Any = importlib.import_module("robosuite.utils.binding_utils").MjData
        binding.qM = property(lambda self: self._data.M)


def restore_full_inertia() -> None:
    """`mj_fullM(model, dst, M)`: MuJoCo 4 takes the data in place of M, and before dst."""
    if hasattr(mujoco.MjData, "qM"):
        return
    controller: Any = importlib.import_module("robosuite.controllers.parts.controller")
    # The module sees a MuJoCo that differs by one function; the real one stays as it is.
    engine = types.ModuleType("mujoco")
    engine.__dict__.update(mujoco.__dict__, mj_fullM=_dense)
    controller.mujoco = engine


def _dense(model: Any, dst: np.ndarray, M: np.ndarray) -> None:
    rows, columns = np.repeat(np.arange(model.nv), model.M_rownnz), model.M_colind
    dst[:] = 0.0
    dst[rows, columns] = dst[columns, rows] = M
