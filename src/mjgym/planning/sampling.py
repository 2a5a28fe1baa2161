"""Planners that sample: random shooting, predictive sampling, cross-entropy and MPPI.

All sample the knots of splines and let the rollouts decide.
"""

from dataclasses import dataclass

import numpy as np

from mjgym.planning.problem import Plan, Problem
from mjgym.planning.tangent import State


@dataclass(frozen=True)
class Sampling:
    """Settings that sampling planners share."""

    # Candidates per iteration, with the plan so far and the proposals among them
    rollouts: int = 64
    iterations: int = 1  # per improvement
    noise: float = 0.3  # standard deviation of the knots, in half ranges of the actions

    spline = True

    def begin(self, problem: Problem) -> Plan:
        return problem.plan(np.zeros((problem.knots, len(problem.low))), self.noise)

    def improve(
        self,
        problem: Problem,
        state: State,
        plan: Plan,
        proposals: np.ndarray,
        rng: np.random.Generator,
    ) -> Plan:
        for _ in range(self.iterations):
            known = np.concatenate([plan.knots[None], proposals])[: self.rollouts]
            drawn = self.draw(known, plan, self.rollouts - len(known), rng)
            knots = np.concatenate([known, np.clip(drawn, -1, 1)])
            returns = problem.returns(state, problem.actions(knots))
            if np.isfinite(returns).any():
                plan = self.choose(problem, plan, knots, returns)
        return plan

    def draw(
        self, known: np.ndarray, plan: Plan, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Further candidates (count, K, nu), around the known ones in turn."""
        around = known[np.arange(count) % len(known)]
        return around + self.noise * rng.standard_normal(around.shape)

    def choose(self, problem: Problem, plan: Plan, knots: np.ndarray, returns: np.ndarray) -> Plan:
        return problem.plan(knots[returns.argmax()], plan.spread)


@dataclass(frozen=True)
class RandomShooting(Sampling):
    """The best of uniformly drawn splines and the plan so far."""

    def draw(
        self, known: np.ndarray, plan: Plan, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        return rng.uniform(-1, 1, (count, *plan.knots.shape))


@dataclass(frozen=True)
class PredictiveSampling(Sampling):
    """The best of Gaussian changes of the plan so far (Howell et al., 2022)."""


@dataclass(frozen=True)
class CrossEntropy(Sampling):
    """The cross-entropy method: a Gaussian is fitted to the best candidates."""

    iterations: int = 3
    elites: float = 0.125  # share of the candidates that the Gaussian is fitted to
    least: float = 0.05  # standard deviation that it keeps

    def draw(
        self, known: np.ndarray, plan: Plan, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        return plan.knots + plan.spread * rng.standard_normal((count, *plan.knots.shape))

    def choose(self, problem: Problem, plan: Plan, knots: np.ndarray, returns: np.ndarray) -> Plan:
        """The Gaussian of the best."""
        count = max(1, round(self.elites * len(knots)))
        best = knots[np.argsort(-returns, kind="stable")[:count]]
        return problem.plan(best.mean(axis=0), np.maximum(best.std(axis=0), self.least))


@dataclass(frozen=True)
class PathIntegral(Sampling):
    """MPPI: the mean of the candidates, weighted by their exponential returns.

    Williams et al. (2017), with candidates of several noises, and a temperature in units of the
    returns' standard deviation.
    """

    noise: float = 1.0
    temperature: float = 0.1  # of the weights, in standard deviations of the returns
    # Multiples of the noise, one of which each candidate has
    scales: tuple[float, ...] = (1 / 3, 1.0, 2.0)

    def draw(
        self, known: np.ndarray, plan: Plan, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        around = known[np.arange(count) % len(known)]
        noise = self.noise * rng.choice(self.scales, (count, 1, 1))
        return around + noise * rng.standard_normal(around.shape)

    def choose(self, problem: Problem, plan: Plan, knots: np.ndarray, returns: np.ndarray) -> Plan:
        """The weighted mean."""
        finite = np.isfinite(returns)
        knots, returns = knots[finite], returns[finite]
        width = max(self.temperature * returns.std(), 1e-12)
        weights = np.exp((returns - returns.max()) / width)
        mean = np.tensordot(weights / weights.sum(), knots, axes=1)
        return problem.plan(mean, plan.spread)
