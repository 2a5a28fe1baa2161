"""The problem that a planner solves at each step, and its plan."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mjgym.actions import UNLIMITED
from mjgym.planning.tangent import State
from mjgym.util.values import one_of

SPLINES = ("constant", "linear", "cubic")

Tail = Callable[[Any], np.ndarray]
"""The value of observations (n, ...) at the horizon's end, (n,)."""


def unwrapped(env: Any) -> Any:
    """The environment within its wrappers."""
    bare = getattr(env, "unwrapped", env)
    if hasattr(bare, "possible_agents") or hasattr(bare, "num_players"):
        raise TypeError(
            "env: planning is for one agent, not for the players of a match; gymnasium.make(id)"
            " plays it against an opponent that stands still, opponent=... against another, and"
            " make_vec(id, **mjgym.registry.one_agent(id)) does so in a batch"
        )
    if not hasattr(bare, "rollout"):
        raise TypeError(f"env: {bare!r} has no rollouts; planning needs an environment of mjgym")
    return bare


@dataclass(frozen=True)
class Plan:
    """Actions for the next control steps."""

    actions: np.ndarray
    # Of their spline, (K, number of actions), in [-1, 1]; empty for a method without
    knots: np.ndarray
    # Standard deviation of the knots, of the same shape, where a method keeps it
    spread: np.ndarray
    phase: int = 0  # control steps since the first knot


@dataclass(frozen=True)
class Problem:
    """Finding the actions of largest return within the horizon."""

    env: Any
    low: np.ndarray  # lower bounds of an action; -inf for none
    high: np.ndarray
    steps: int  # control steps of the horizon
    spacing: int  # control steps between the knots of a spline of actions
    spline: str = "constant"  # kind of that spline, see `spline_basis`
    discount: float = 1.0
    tail: Tail | None = None  # value of the observation at the horizon's end; None for 0
    # Control steps since the first knot, fewer than the spacing. Knots stay at their times while
    # the horizon moves on: a plan that is resampled at new knots would be smoothed
    phase: int = 0

    @classmethod
    def from_env(cls, env: Any, steps: int, spacing: int, **options: Any) -> "Problem":
        """The problem with an environment's bounds of actions."""
        space = getattr(env, "single_action_space", None) or env.action_space
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        limited = np.where(low > -UNLIMITED, low, -np.inf), np.where(high < UNLIMITED, high, np.inf)
        return cls(env, *limited, steps, spacing, **options)

    @property
    def knots(self) -> int:
        return max(1, math.ceil((self.steps - 2) / self.spacing) + 2)

    @property
    def basis(self) -> np.ndarray:
        """Weights (T, K) of the knots in the actions."""
        times, end = self.phase + np.arange(self.steps), self.spacing * (self.knots - 1)
        return spline_basis(times, self.knots, end, self.spline)

    @property
    def drawn_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds for drawing actions: -1 and 1 where an action is unbounded."""
        low = np.where(np.isfinite(self.low), self.low, -1.0)
        return low, np.where(np.isfinite(self.high), self.high, 1.0)

    def actions(self, knots: np.ndarray) -> np.ndarray:
        """Actions (..., T, nu) of knots (..., K, nu), in which -1 and 1 are the bounds."""
        low, high = self.drawn_bounds
        unit = np.clip(self.basis @ knots, -1, 1)
        return np.asarray(low + (unit + 1) / 2 * (high - low))

    def knots_of(self, actions: np.ndarray) -> np.ndarray:
        """Fit knots (K, nu) to actions (T, nu), by least squares."""
        low, high = self.drawn_bounds
        unit = 2 * (actions - low) / np.where(high > low, high - low, 1.0) - 1
        nearest: np.ndarray = np.linalg.lstsq(self.basis, unit, rcond=None)[0]
        return nearest.clip(-1, 1)

    def returns(self, state: State, actions: np.ndarray) -> np.ndarray:
        """Returns (n,) of action sequences (n, T, nu) from a state; -inf where one diverges.

        Raises:
            ValueError: the tail returns another shape than (n,).
        """
        rollouts = self.env.rollout(state, actions, observations=self.tail is not None)
        discounts = self.discount ** np.arange(actions.shape[1])
        total: np.ndarray = rollouts.rewards @ discounts
        if self.tail is not None:
            ended = (rollouts.terminated | rollouts.truncated).any(axis=1)
            last = rollouts.observations
            last = {k: v[:, -1] for k, v in last.items()} if isinstance(last, dict) else last[:, -1]
            value = self.tail(last)
            if np.shape(value) not in ((), total.shape):
                raise ValueError(f"tail: expected shape {total.shape}, got {np.shape(value)}")
            total = total + np.where(ended, 0.0, self.discount ** actions.shape[1] * value)
        return np.where(rollouts.diverged.any(axis=1), -np.inf, total)

    def plan(self, knots: np.ndarray, spread: float | np.ndarray = 0.0) -> Plan:
        """The plan of some knots."""
        return Plan(self.actions(knots), knots, np.broadcast_to(spread, knots.shape), self.phase)

    def after(self, plan: Plan, by: int) -> tuple["Problem", Plan]:
        """Shift the problem and a plan by some control steps, holding the plan's last action."""
        if not plan.knots.size:
            ahead = np.minimum(np.arange(self.steps) + by, self.steps - 1)
            return self, replace(plan, actions=plan.actions[ahead])
        passed, phase = divmod(plan.phase + by, self.spacing)
        ahead = np.minimum(np.arange(self.knots) + passed, self.knots - 1)
        later = replace(self, phase=phase)
        return later, later.plan(plan.knots[ahead], plan.spread[ahead])


def spline_basis(times: np.ndarray, knots: int, end: float, kind: str = "linear") -> np.ndarray:
    """Weights (times, knots) of a spline through evenly spaced knots from 0 to `end`.

    Later times take the last knot's value. The cubic spline is Catmull and Rom's.
    """
    one_of("spline", kind, SPLINES)
    place = np.clip(times / max(end, 1e-9), 0, 1) * (knots - 1)
    left = np.minimum(place.astype(int), max(knots - 2, 0))
    s = place - left
    identity = np.eye(knots)
    if kind == "constant":
        return np.asarray(identity[np.minimum(place.astype(int), knots - 1)])
    at = [identity[np.clip(left + k, 0, knots - 1)] for k in (-1, 0, 1, 2)]
    if kind == "linear":
        weights = [np.zeros_like(s), 1 - s, s, np.zeros_like(s)]
    else:
        weights = [
            (-s + 2 * s**2 - s**3) / 2,
            (2 - 5 * s**2 + 3 * s**3) / 2,
            (s + 4 * s**2 - 3 * s**3) / 2,
            (s**3 - s**2) / 2,
        ]
    return np.asarray(sum(w[:, None] * each for w, each in zip(weights, at, strict=True)))
