"""Products and symmetric systems of small matrices, on stacks of any leading shape.

Each matrix of a stack is one call of the library's own BLAS or LAPACK, so that a result is the same
to the bit whether its matrix stands alone or in a stack.
"""

import functools
from typing import Any

from mjgym.arrays import Array, namespace, trace

# What is added to the diagonal of a system, as a share of the sum of the diagonal. An arm at a
# singularity (a stretched elbow, fewer joints than six) has a system without a solution: this keeps
# what comes out finite, and is below the rounding of the entries of a sound one.
RIDGE = 1e-16


def times(matrix: Array, vector: Array) -> Array:
    """Matrix times vector, (..., m, n) and (..., n) to (..., m)."""
    return (matrix @ vector[..., None])[..., 0]


def solve(matrix: Array, right: Array) -> Array:
    """The solution x of A x = b, (..., n, n) and (..., n) to (..., n)."""
    solution: Array = namespace(matrix).linalg.solve(matrix, right[..., None])
    return solution[..., 0]


def gram(matrix: Array, ridge: float = 0.0) -> Array:
    """A A^T, (..., m, n) to (..., m, m), plus a small diagonal that makes it regular.

    Args:
        matrix: A.
        ridge: what to add, besides `RIDGE`.
    """
    return _regular(matrix @ matrix.mT, ridge)


def mobility(inertia: Array, jacobian: Array) -> Array:
    """J M^-1 J^T, the inverse of the tool-space inertia, regularised where it is singular.

    Args:
        inertia: M, (..., n, n), positive definite.
        jacobian: J, (..., m, n).

    Returns:
        (..., m, m).
    """
    return _regular(jacobian @ namespace(inertia).linalg.solve(inertia, jacobian.mT))


def _regular(matrix: Array, ridge: float = 0.0) -> Array:
    kind = namespace(matrix), matrix.shape[-1], matrix.dtype, matrix.device
    regular = matrix + trace(matrix)[..., None, None] * _diagonal(RIDGE, *kind)
    return regular + _diagonal(ridge, *kind) if ridge else regular


@functools.lru_cache
def _diagonal(value: float, xp: Any, n: int, dtype: Any, device: Any) -> Array:
    return value * xp.eye(n, dtype=dtype, device=device)
