"""iLQG with bounds on the actions (Tassa, Mansard and Todorov, 2014)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.planning.derivatives import linearize
from mjgym.planning.problem import Plan, Problem
from mjgym.planning.tangent import State, Tangent

LARGEST = 1e8  # regularization at which a plan is given up as the best
NEWTON_STEPS = 50  # of a quadratic program with bounds
SHORTEST = 1e-8  # step length of its line search


@dataclass(frozen=True)
class ILQG:
    """Newton steps along a trajectory: a quadratic model backward, a line search forward.

    Plans are free actions. The model is of `mjgym.planning.linearize`, made convex.
    """

    rollouts: int = 8  # step lengths of the line search: 1, 1/2, 1/4, ...
    iterations: int = 1  # Newton steps per improvement
    regularization: float = 1e-6  # first value that is added to the actions' curvature
    tolerance: float = 1e-12  # expected gain of the return below which the iterations end

    spline = False

    def begin(self, problem: Problem) -> Plan:
        zero = np.clip(np.zeros((problem.steps, len(problem.low))), problem.low, problem.high)
        return Plan(zero, np.empty(0), np.empty(0))

    def improve(
        self,
        problem: Problem,
        state: State,
        plan: Plan,
        proposals: np.ndarray,
        rng: np.random.Generator,
    ) -> Plan:
        actions, mu = plan.actions, 0.0
        alone = problem.env.rollout(state, actions[None], snapshots=True)
        states = {k: np.concatenate([state[k][None], v[0]]) for k, v in alone.states.items()}
        best = float(alone.rewards[0] @ problem.discount ** np.arange(problem.steps))
        if alone.diverged.any():
            return self.begin(problem)
        for _ in range(self.iterations):
            gain = 0.0
            model = linearize(
                problem.env, {n: v[: problem.steps] for n, v in states.items()}, actions
            )
            while mu < LARGEST:
                proposal = _backward(problem, model, actions, mu)
                if proposal is not None:
                    change, feedback, expected = proposal
                    if expected < self.tolerance:
                        break
                    tried = self._forward(problem, state, actions, states, change, feedback)
                    gain = tried[2] - best
                    if gain > 0:
                        actions, states, best = tried
                        mu = mu / 10 if mu > self.regularization else 0.0
                        break
                mu = max(10 * mu, self.regularization)
            if gain <= self.tolerance:
                break
        return Plan(actions, plan.knots, plan.spread)

    def _forward(
        self,
        problem: Problem,
        state: State,
        actions: np.ndarray,
        along: State,
        change: np.ndarray,
        feedback: np.ndarray,
    ) -> tuple[np.ndarray, State, float]:
        n = self.rollouts
        length = 0.5 ** np.arange(n)[:, None]
        tangent = Tangent(problem.env.model)
        now: State = {k: np.repeat(v[None], n, axis=0) for k, v in state.items()}
        total, alive = np.zeros(n), np.ones(n, dtype=bool)
        made, passed = [], [now]
        for t in range(problem.steps):
            planned = {k: np.repeat(v[t : t + 1], n, 0) for k, v in along.items()}
            action = actions[t] + length * change[t] + tangent.between(planned, now) @ feedback[t].T
            action = np.clip(action, problem.low, problem.high)
            step: Any = problem.env.rollout(now, action[:, None], snapshots=True)
            total += np.where(alive, problem.discount**t * step.rewards[:, 0], 0.0)
            total[alive & step.diverged[:, 0]] = -np.inf
            alive &= ~(step.terminated | step.truncated)[:, 0]
            now = {k: v[:, 0] for k, v in step.states.items()}
            made.append(action)
            passed.append(now)
        best = int(total.argmax())
        chosen = {k: np.stack([each[k][best] for each in passed]) for k in now}
        return np.stack([action[best] for action in made]), chosen, float(total[best])


def _backward(
    problem: Problem, model: Any, actions: np.ndarray, mu: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Changes of the actions, their feedback and gain; None if the model is not convex."""
    nx, (steps, nu) = model.A.shape[-1], actions.shape
    slope, value = np.zeros(nx), np.zeros((nx, nx))
    change, feedback = np.zeros((steps, nu)), np.zeros((steps, nu, nx))
    gain = 0.0
    for t in reversed(range(steps)):
        dynamics = np.concatenate([model.A[t], model.B[t]], axis=1)
        weight = problem.discount**t
        q = -weight * model.gradient[t] + dynamics.T @ slope
        curvature = _convex(-weight * model.curvature[t]) + dynamics.T @ value @ dynamics
        regular = curvature[nx:, nx:] + mu * np.eye(nu)
        low, high = problem.low - actions[t], problem.high - actions[t]
        try:
            change[t], free = bounded_minimum(regular, q[nx:], low, high)
            rows = np.flatnonzero(free)
            if rows.size:
                inner = regular[np.ix_(rows, rows)]
                feedback[t, rows] = -np.linalg.solve(inner, curvature[nx:, :nx][rows])
        except np.linalg.LinAlgError:
            return None
        k, gains, cross, full = change[t], feedback[t], curvature[nx:, :nx], curvature[nx:, nx:]
        slope = q[:nx] + gains.T @ (full @ k + q[nx:]) + cross.T @ k
        value = curvature[:nx, :nx] + gains.T @ full @ gains + gains.T @ cross + cross.T @ gains
        value = (value + value.T) / 2
        gain -= float(k @ full @ k / 2 + k @ q[nx:])
    return change, feedback, gain


def _convex(curvature: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def bounded_minimum(
    curvature: np.ndarray, slope: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The minimum of x' H x / 2 + g' x within bounds, by Newton steps, and its free variables."""
    np.linalg.cholesky(curvature)
    x = np.clip(np.zeros_like(slope), low, high)

    def cost(x: np.ndarray) -> float:
        return float(x @ curvature @ x / 2 + slope @ x)

    free = np.ones(len(x), dtype=bool)
    for _ in range(NEWTON_STEPS):
        gradient = slope + curvature @ x
        free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
        if not free.any() or np.abs(gradient[free]).max() < 1e-14:
            break
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        length = 1.0
        while length > SHORTEST and cost(np.clip(x + length * step, low, high)) >= cost(x):
            length /= 2
        if length <= SHORTEST:
            break
        x = np.clip(x + length * step, low, high)
    return x, free
