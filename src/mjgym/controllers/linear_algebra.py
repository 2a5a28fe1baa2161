"""Products and symmetric systems of small matrices, on stacks of any leading shape.

Each matrix of a stack is one call of the library's own BLAS or LAPACK, so that a result is the same
to the bit whether its matrix stands alone or in a stack.
"""

from mjgym.arrays import Array, namespace

# What is added to the diagonal of a system, as a share of the sum of the diagonal. An arm at a
# singularity (a stretched elbow, fewer joints than six) has a system without a solution: this keeps
# what comes out finite, and is below the rounding of the entries of a sound one.
RIDGE = 1e-16


def times(matrix: Array, vector: Array) -> Array:
    """Matrix times vector, (..., m, n) and (..., n) to (..., m)."""
    return (matrix @ vector[..., None])[..., 0]


def transposed(matrix: Array) -> Array:
    """The last two axes swapped, (..., m, n) to (..., n, m)."""
    return namespace(matrix).matrix_transpose(matrix)


def mobility(inertia: Array, jacobian: Array) -> Array:
    """J M^-1 J^T, whose inverse is the inertia felt at the tool.

    Args:
        inertia: M, (..., n, n), positive definite.
        jacobian: J, (..., m, n).

    Returns:
        (..., m, m).
    """
    return jacobian @ namespace(inertia).linalg.solve(inertia, transposed(jacobian))


def solve(matrix: Array, right: Array) -> Array:
    """The solution x of A x = b for a symmetric positive semidefinite A.

    Args:
        matrix: A, (..., n, n).
        right: b, (..., n).

    Returns:
        x, (..., n); large numbers in the directions that A does not determine.
    """
    xp = namespace(matrix)
    ridge = RIDGE * xp.linalg.trace(matrix)[..., None, None]
    sound = matrix + ridge * xp.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return xp.linalg.solve(sound, right[..., None])[..., 0]
