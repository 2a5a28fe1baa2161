"""Products and symmetric systems of small matrices, on stacks of any leading shape.

Each matrix of a stack is one BLAS or LAPACK call of the library, so results are the same to the bit
for a single matrix and a stack.
"""

import functools
from typing import Any

import numpy as np

from mjgym.arrays import Array, namespace

# Added to the diagonal of a system, as a fraction of its trace. An arm at a singularity (a
# stretched elbow, fewer than six joints) makes the system singular: this keeps the solution finite,
# and is below rounding in a regular system.
RIDGE = 1e-16


def times(matrix: Array, vector: Array) -> Array:
    """Matrix times vector, (..., m, n) and (..., n) to (..., m)."""
    return (matrix @ vector[..., None])[..., 0]


def solve(matrix: Array, right: Array) -> Array:
    """The solution x of A x = b, (..., n, n) and (..., n) to (..., n)."""
    solution: Array = namespace(matrix).linalg.solve(matrix, right[..., None])
    return solution[..., 0]


def gram(matrix: Array, ridge: float = 0.0) -> Array:
    """A A^T, (..., m, n) to (..., m, m); `ridge` and `RIDGE` on the diagonal make it regular."""
    return regular(matrix @ matrix.mT, namespace(matrix), ridge)


def regular(matrix: Array, xp: Any, ridge: float = 0.0) -> Array:
    """A symmetric matrix, (..., m, m), with a small diagonal for regularity; see `gram`."""
    kind = xp, matrix.shape[-1], matrix.dtype, matrix.device
    size = matrix.trace(0, -2, -1) if xp is np else xp.linalg.trace(matrix)
    regular = matrix + size[..., None, None] * _diagonal(RIDGE, *kind)
    return regular + _diagonal(ridge, *kind) if ridge else regular


@functools.lru_cache
def _diagonal(value: float, xp: Any, n: int, dtype: Any, device: Any) -> Array:
    return value * xp.eye(n, dtype=dtype, device=device)
