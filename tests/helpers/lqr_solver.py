"""Optimal policy of the lqr domain and its cost, from a discrete-time Riccati equation.

    env = gymnasium.make("dmc/lqr-lqr_2_1-v0", dtype="float64")
    best = solve(env.unwrapped.model)
    action = best.k @ observation

The solver is the structure-preserving doubling algorithm of Chu, Fan, Lin and Wang,
"Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations" (2004).
"""

from typing import Any, NamedTuple

import numpy as np

MAX_DOUBLINGS = 60
LAST_CHANGE = 1e-14  # relative change of the solution in the last doubling
RESIDUAL = 1e-10  # relative to the solution; more means that no solution exists


class Solution(NamedTuple):
    """Optimum for states x = (positions, velocities) of n masses and m forces u."""

    P: np.ndarray
    """Cost to go: x' P x / 2 is the sum of all costs |q|^2 / 2 + control_cost |u|^2 / 2 from the
    state x on, its own among them; (2n, 2n)."""
    k: np.ndarray
    """Policy: u = k x; (m, 2n)."""
    beta: float
    """Largest absolute eigenvalue of the controlled system: costs fall by beta^2 or faster."""


def linear_dynamics(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Dynamics of a chain, x' = A x + B u, exactly as the engine integrates them.

    The engine is semi-implicit: new velocities first, with damping at the new velocities, then
    positions from them.
    """
    n, m, h = model.nv, model.nu, model.opt.timestep
    carried = np.cumsum(model.body_mass[:0:-1])[::-1]  # a joint moves its ball and all after it
    index = np.arange(n)
    mass = carried[np.maximum.outer(index, index)]
    damped_mass = mass + h * np.diag(model.dof_damping)

    position_rows = -h * np.linalg.solve(damped_mass, np.diag(model.jnt_stiffness))
    velocity_rows = np.linalg.solve(damped_mass, mass)
    force_rows = h * np.linalg.solve(damped_mass, np.eye(n, m))
    velocity_step = np.hstack([position_rows, velocity_rows])
    position_step = np.hstack([np.eye(n), np.zeros((n, n))]) + h * velocity_step
    return np.vstack([position_step, velocity_step]), np.vstack([h * force_rows, force_rows])


def solve(model: Any, control_cost: float = 0.1) -> Solution:
    """Optimal policy and cost to go of a chain; RuntimeError if none brings it to rest."""
    n, m = model.nv, model.nu
    A, B = linear_dynamics(model)
    Q = np.diag(np.repeat([1.0, 0.0], n))
    R = control_cost * np.eye(m)
    P = _riccati(A, B, Q, R)
    k = -np.linalg.solve(B.T @ P @ B + R, B.T @ P @ A)
    controlled = A + B @ k
    beta = float(np.abs(np.linalg.eigvals(controlled)).max())
    residual = float(np.abs(Q + A.T @ P @ controlled - P).max() / np.abs(P).max())
    if not (beta < 1 and residual <= RESIDUAL):
        raise RuntimeError(f"beta = {beta}, solved to {residual:.0e}")
    return Solution(P, k, beta)


def _riccati(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Stabilising solution P of P = Q + A'PA - A'PB (R + B'PB)^-1 B'PA.

    Each doubling covers twice as many steps: after j of them, P is the cost of the best 2^j steps.
    """
    P, G = Q, B @ np.linalg.solve(R, B.T)
    for _ in range(MAX_DOUBLINGS):
        W = np.eye(len(A)) + G @ P
        W_A, W_G = np.linalg.solve(W, A), np.linalg.solve(W, G)
        change = A.T @ P @ W_A
        P = P + (change + change.T) / 2
        G = G + A @ W_G @ A.T
        A = A @ W_A
        if np.linalg.norm(change) <= LAST_CHANGE * np.linalg.norm(P):
            break
    return P
