"""Jacobians, velocities and the joint-space inertia from the engine's live arrays.

Pure functions on arrays of any leading shape, equal to the bit to the engine's functions for one
simulation, without running anything again. Indices into the arrays are computed once per model:
`chain_mask`, `inertia_index`.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from mjgym.arrays import METHODS, Array, columns, namespace
from mjgym.rotations import cross

_YZX, _ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])

Places = slice | np.ndarray
"""Indices along an axis; a slice gives a view instead of a copy."""


def places(numbers: np.ndarray) -> Places:
    """The indices as a slice if they are consecutive."""
    if (np.diff(numbers) != 1).any():
        return numbers
    first = int(numbers[0]) if numbers.size else 0
    return slice(first, first + numbers.size)


def taken(array: Array, where: Places, axis: int = -1) -> Array:
    """Entries (axis -1) or rows (axis -2) of an array at `Places`."""
    if isinstance(where, slice):
        return array[..., where] if axis == -1 else array[..., where, :]
    return columns(array, where, axis)


def taker(where: Places, axis: int = -1) -> Callable[[Array], Array]:
    """Function that returns the entries (axis -1) or rows (axis -2) of an array at `Places`."""
    if isinstance(where, slice):
        return operator.itemgetter((..., where) if axis == -1 else (..., where, slice(None)))
    return functools.partial(columns, places=where, axis=axis)


def chain_mask(model: mujoco.MjModel, body: int, dofs: np.ndarray) -> np.ndarray:
    """A mask of the degrees of freedom that move a body, (n,)."""
    chain = set()
    dof = -1
    while body > 0 and dof < 0:
        count = int(model.body_dofnum[body])
        dof = int(model.body_dofadr[body]) + count - 1 if count else -1
        body = int(model.body_parentid[body])
    while dof >= 0:
        chain.add(dof)
        dof = int(model.dof_parentid[dof])
    return np.array([int(d) in chain for d in dofs], dtype=bool)


def inertia_index(model: mujoco.MjModel, dofs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of some degrees of freedom's inertia matrix in the engine's sparse `M`.

    Returns:
        An index into `M` and a mask, (n, n) each; the mask is False where `M` has no entry and the
        matrix is 0, as between two arms.
    """
    n = len(dofs)
    index, there = np.zeros((n, n), dtype=np.int64), np.zeros((n, n), dtype=bool)
    for i, row in enumerate(dofs):
        start = int(model.M_rowadr[row])
        columns = model.M_colind[start : start + int(model.M_rownnz[row])].tolist()
        for j, column in enumerate(dofs):
            if int(column) in columns:  # M holds the lower triangle
                index[i, j] = index[j, i] = start + columns.index(int(column))
                there[i, j] = there[j, i] = True
    return index, there


def point_jacobian(
    cdof: Array, offset: Array, mask: np.ndarray | None = None, xp: Any = None
) -> Array:
    """The Jacobian of a point of a body.

    Args:
        cdof: motion axes of the degrees of freedom, (..., n, 6).
        offset: the point's position minus the `subtree_com` of its tree's root, (..., 3), m.
        mask: the degrees of freedom that move the body, (n,) bool; None for all.
        xp: the arrays' library, if known.

    Returns:
        (..., 6, n): three rows for the point's velocity (m/s) and three for the body's angular
        velocity (rad/s), in world axes.
    """
    xp, take = xp or namespace(cdof), METHODS[isinstance(cdof, np.ndarray)].take
    # By rows: these are longer than the columns' six numbers.
    rows = cdof.mT
    turning, moving = rows[..., 0:3, :], rows[..., 3:6, :]
    turned = (
        take(turning, _YZX, -2) * take(offset, _ZXY, -1)[..., None]
        - take(turning, _ZXY, -2) * take(offset, _YZX, -1)[..., None]
    )
    jacobian = xp.concat([moving + turned, turning], axis=-2)
    if mask is not None:
        jacobian = xp.where(xp.asarray(mask, device=jacobian.device), jacobian, 0.0)
    return jacobian


def point_velocity(cvel: Array, offset: Array) -> Array:
    """The velocity (m/s) and angular velocity (rad/s) of a body's point, (..., 6), world axes.

    Args:
        cvel: spatial velocity of the body, (..., 6).
        offset: the point's position minus the `subtree_com` of its tree's root, (..., 3), m.
    """
    turning = cvel[..., 0:3]
    moving = cvel[..., 3:6] + cross(turning, offset)
    return namespace(cvel).concat([moving, turning], axis=-1)


def dense_inertia(inertia: Array, index: np.ndarray, there: np.ndarray | None = None) -> Array:
    """Joint-space inertia matrix of some degrees of freedom, armature included.

    Args:
        inertia: the engine's sparse `M`, (..., nC).
        index: from `inertia_index`, (n, n).
        there: from `inertia_index`, (n, n) bool; None if `M` has every entry.

    Returns:
        (..., n, n): a block of the whole matrix, not the inertia with the other joints held.
    """
    take, reshape = METHODS[isinstance(inertia, np.ndarray)]
    dense = reshape(take(inertia, index.reshape(-1), -1), (*inertia.shape[:-1], *index.shape))
    if there is not None:
        xp = namespace(inertia)
        dense = xp.where(xp.asarray(there, device=inertia.device), dense, 0.0)
    return dense
