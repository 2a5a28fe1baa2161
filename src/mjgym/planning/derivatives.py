"""Derivatives of a control step and its reward, by central differences through rollouts.

A state is perturbed in `mjgym.planning.tangent` coordinates.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.planning.problem import unwrapped
from mjgym.planning.tangent import State, Tangent
from mjgym.util.values import positive

STEP = 1e-4  # of a difference, in units of the coordinates
MOST_PAIRS = 200  # pairs of coordinates, up to which the reward's curvature is of all pairs
CHUNK = 512  # candidates of a batch


@dataclass(frozen=True)
class Linearization:
    """A control step near m states and actions: x' = A dx + B du, in tangent coordinates."""

    A: np.ndarray  # (m, nx, nx), by the state
    B: np.ndarray  # (m, nx, nu), by the action
    rewards: np.ndarray  # (m,)
    gradient: np.ndarray  # of the reward by state and action, (m, nx + nu)
    # Of the reward, (m, nx + nu, nx + nu): the second derivatives, or, with many coordinates, Gauss
    # and Newton's: through the reward's terms, and the diagonal
    curvature: np.ndarray


def linearize(env: Any, states: State, actions: np.ndarray, *, step: float = STEP) -> Linearization:
    """Linearize control steps, and the reward to second order.

    Args:
        env: an environment of this package, single or batched.
        states: entries of `get_state`, of one state or of m.
        actions: (number of actions,), or (m, number of actions).
        step: of the differences.

    Returns:
        The derivatives, with an axis of length 1 for one state.

    Raises:
        TypeError: the environment is not of this package.
        ValueError: actions have a wrong shape, or are more or fewer than the states; a state does
            not fit, see `rollout`; the step is not positive.
    """
    env = unwrapped(env)
    tangent, actions = Tangent(env.model), np.atleast_2d(np.asarray(actions, np.float64))
    size = len(env.task.actions(env.model))
    if actions.shape[1:] != (size,):
        raise ValueError(f"actions: expected shape ({size},) or (m, {size}), got {actions.shape}")
    positive("step", step)
    for name in ("qpos", "qvel", "act")[: 3 if env.model.na else 2]:
        if name not in states:
            raise ValueError(f"state: no entry {name!r}; give a whole state of get_state()")
    one = np.ndim(states["qpos"]) == 1
    states = {name: np.asarray(value)[None] if one else value for name, value in states.items()}
    if len(states["qpos"]) != len(actions):
        raise ValueError(f"actions: {len(actions)} for {len(states['qpos'])} states")
    m, nx, nz = len(actions), tangent.size, tangent.size + actions.shape[1]
    pairs = list(itertools.combinations(range(nz), 2))
    pairs = pairs if len(pairs) <= MOST_PAIRS else []
    unit = step * np.eye(nz)
    sums = np.array([unit[i] + unit[j] for i, j in pairs]).reshape(-1, nz)
    moves = np.concatenate([np.zeros((1, nz)), unit, -unit, sums, -sums])
    ends, rewards, terms = _stepped(env, tangent, states, actions, moves)
    plus, minus = rewards[:, 1 : nz + 1], rewards[:, nz + 1 : 2 * nz + 1]
    jacobian = (ends[:, 1 : nz + 1] - ends[:, nz + 1 : 2 * nz + 1]).swapaxes(1, 2) / (2 * step)
    gradient = (plus - minus) / (2 * step)
    middle = rewards[:, :1]
    curvature = ((plus - 2 * middle + minus) / step**2)[..., None] * np.eye(nz)
    if pairs:
        first, second = np.array(pairs).T
        above, below = np.split(rewards[:, 2 * nz + 1 :], 2, axis=1)
        single = plus[:, first] + plus[:, second] + minus[:, first] + minus[:, second]
        mixed = (above + below + 2 * middle - single) / (2 * step**2)
        curvature[:, first, second] = curvature[:, second, first] = mixed
    elif terms:
        curvature = _through_terms(env.task, terms, curvature, nz, step)
    return Linearization(
        jacobian[..., :nx], jacobian[..., nx:], rewards[:, 0].reshape(m), gradient, curvature
    )


def _through_terms(
    task: Any, terms: dict[str, np.ndarray], curvature: np.ndarray, nz: int, step: float
) -> np.ndarray:
    """J' F J off the diagonal, with the terms' Jacobian J and the reward's curvature F in them."""
    names = list(terms)
    slope = np.stack(
        [(x[:, 1 : nz + 1] - x[:, nz + 1 : 2 * nz + 1]) / (2 * step) for x in terms.values()], 1
    )

    def reward(*raised: tuple[str, float]) -> np.ndarray:
        near = {name: terms[name][:, 0] for name in names}
        for name, by in raised:
            near[name] = near[name] + by
        return np.broadcast_to(task.reward(near), len(curvature))

    second = np.zeros((len(curvature), len(names), len(names)))
    for (i, a), (j, b) in itertools.product(enumerate(names), repeat=2):
        corners = [p * q * reward((a, p * step), (b, q * step)) for p in (1, -1) for q in (1, -1)]
        second[:, i, j] = sum(corners) / (4 * step**2)
    through = slope.swapaxes(1, 2) @ second @ slope
    diagonal = np.eye(nz, dtype=bool)
    return np.where(diagonal, curvature, through)


def _stepped(
    env: Any, tangent: Tangent, states: State, actions: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Ends relative to the unmoved ones' (m, k, nx), rewards and terms (m, k) of k moves."""
    m, k, nx = len(actions), len(moves), tangent.size
    points, which = np.repeat(np.arange(m), k), np.tile(np.arange(k), m)
    size = min(CHUNK, m * k)
    ends, rewards, terms = [], [], []
    for begin in range(0, m * k, size):
        # The last chunk is filled up, so that all run in the same batch.
        rows = np.minimum(np.arange(begin, begin + size), m * k - 1)
        at, move = points[rows], moves[which[rows]]
        start = {n: v[at] if len(v) == m else v for n, v in states.items()}
        rollouts = env.rollout(
            tangent.moved(start, move[:, :nx]),
            (actions[at] + move[:, nx:])[:, None],
            snapshots=True,
        )
        ends.append(
            {n: rollouts.states[n][:, 0] for n in ("qpos", "qvel", "act") if n in rollouts.states}
        )
        rewards.append(rollouts.rewards[:, 0])
        terms.append({name: term[:, 0] for name, term in rollouts.terms.items() if term.ndim == 2})
    end = {n: np.concatenate([part[n] for part in ends])[: m * k] for n in ends[0]}
    unmoved = {n: v.reshape(m, k, -1)[points, 0] for n, v in end.items()}
    return (
        tangent.between(unmoved, end).reshape(m, k, nx),
        np.concatenate(rewards)[: m * k].reshape(m, k),
        {n: np.concatenate([t[n] for t in terms])[: m * k].reshape(m, k) for n in terms[0]},
    )
