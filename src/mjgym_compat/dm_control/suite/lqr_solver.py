"""The best policy of an LQR task, by iteration of the Riccati equation."""

from typing import Any

import mujoco
import numpy as np

TOLERANCE = 1e-13  # of the largest entry


def solve(env: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """The cost's matrix p, the policy's gains k and its rate of convergence beta.

    With the state x of positions and velocities, the controls `k @ x` are optimal and cost
    `x @ p @ x / 2`; beta is the largest eigenvalue's absolute value of a step under them.
    """
    physics = env.physics
    model, data = physics.model.ptr, mujoco.MjData(physics.model.ptr)
    size, controls = 2 * model.nv, model.nu
    steps = round(env.control_timestep() / physics.timestep())
    a, b = np.zeros((size, size)), np.zeros((size, controls))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, a, b, None, None)
    one, drive = a.copy(), b.copy()
    for _ in range(steps - 1):
        a, b = one @ a, one @ b + drive
    q = np.diag([1.0] * model.nv + [0.0] * model.nv)
    r = env.task.control_cost * np.eye(controls)
    p = q
    while True:
        k = -np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        new = q + a.T @ p @ (a + b @ k)
        if np.abs(new - p).max() <= TOLERANCE * np.abs(new).max():
            break
        p = new
    return p, k, float(np.abs(np.linalg.eigvals(a + b @ k)).max())
