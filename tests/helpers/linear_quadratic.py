"""Linear-quadratic tasks, solved without the planners."""

import gymnasium
import numpy as np

IDS = ("dmc/lqr-lqr_2_1-v0", "dmc/lqr-lqr_6_2-v0")


def made(id, seed=0, **options):
    """An environment at an episode's start."""
    env = gymnasium.make(id, **options)
    env.reset(seed=seed)
    return env


def dynamics(env):
    """A and B of a linear task, by unit states and actions, each stepped by itself."""
    plain = env.unwrapped
    state, nv, nu = plain.get_state(), plain.model.nv, plain.model.nu

    def step(x, u):
        plain.set_state({**state, "qpos": x[:nv], "qvel": x[nv:], "steps": 0})
        plain.step(u)
        return np.concatenate([plain.data.qpos, plain.data.qvel])

    A = np.stack([step(e, np.zeros(nu)) for e in np.eye(2 * nv)], 1)
    B = np.stack([step(np.zeros(2 * nv), e) for e in np.eye(nu)], 1)
    plain.set_state(state)
    return A, B


def cost_matrices(env):
    """Q and R of the cost x' Q x / 2 + u' R u / 2, with x after the step."""
    model = env.unwrapped.model
    Q = np.diag([1.0] * model.nv + [0.0] * model.nv)
    return Q, env.unwrapped.task.control_cost * np.eye(model.nu)


def riccati(A, B, Q, R, steps, x):
    """The optimal actions of a finite horizon from a state, by dynamic programming."""
    # The state's cost is that after the step: the last step's is the first value.
    value, gains = Q, []
    for _ in range(steps):
        gain = np.linalg.solve(R + B.T @ value @ B, B.T @ value @ A)
        gains.append(gain)
        value = Q + A.T @ value @ (A - B @ gain)
    actions = []
    for gain in reversed(gains):
        actions.append(-gain @ x)
        x = A @ x + B @ actions[-1]
    return np.stack(actions)
