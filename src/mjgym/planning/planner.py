"""A planner as a policy."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.envs.observations import take
from mjgym.planning.methods import Method, method_of
from mjgym.planning.problem import Plan, Problem, Tail, unwrapped
from mjgym.planning.tangent import State
from mjgym.policies.network import begin
from mjgym.util.values import whole_number

Prior = Callable[[Any], np.ndarray]
"""A policy: the action for an observation."""


class Planner:
    """A policy that plans: at each step it improves its plan from the state, and takes an action.

    It plans from the environment's present state, whatever the observation, and needs no training.
    Rewards are the task's own within the horizon. In a batch it plans for one sub-environment after
    the other.

    Args:
        env: an environment of this package, single or batched.
        method: a name in `METHODS`, or a `Method`.
        horizon: in seconds.
        spacing: seconds between the knots of a spline of actions.
        spline: "constant", "linear" or "cubic".
        every: control steps between two improvements.
        discount: of rewards, per control step.
        tail: value of observations at the horizon's end; None for 0. See `mjgym.planning.learned`.
        prior: a policy whose actions over the horizon are a candidate, and replace the plan where
            they are no worse; None for none.
        seed: of the planner's random numbers.
        **settings: of the method, such as `rollouts`, `iterations` and `noise`.

    Raises:
        TypeError: `method` is not a `Method` or has no such setting (the message lists its own), a
            value is of a wrong type, or the environment is not of this package.
        ValueError: a value is wrong or the method is unknown; the message names the nearest ones.
    """

    def __init__(
        self,
        env: Any,
        method: str | Method = "mppi",
        *,
        horizon: float = 0.6,
        spacing: float = 0.1,
        spline: str = "constant",
        every: int = 1,
        discount: float = 1.0,
        tail: Tail | None = None,
        prior: Prior | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        whole_number("every", every)
        for name, number in (("horizon", horizon), ("spacing", spacing), ("discount", discount)):
            if not isinstance(number, int | float | np.number):
                raise TypeError(f"{name}: must be a number, got {number!r}")
        if not 0 < discount <= 1:
            raise ValueError(f"discount: must be above 0 and at most 1, got {discount}")
        self._env = unwrapped(env)
        self.method = method_of(method, settings)
        options: dict[str, Any] = {"spline": spline, "discount": discount, "tail": tail}
        lengths = self._steps("horizon", horizon), self._steps("spacing", spacing)
        self.problem = Problem.from_env(self._env, *lengths, **options)
        _ = self.problem.basis  # refuses an unknown spline
        for name, function in (("tail", tail), ("prior", prior)):
            if function is not None and not callable(function):
                raise TypeError(f"{name}: must be a function of observations, got {function!r}")
            if function is not None and not self.method.spline:
                raise ValueError(f"{name}: {method} samples nothing; take another method")
        self._every, self._prior = every, prior
        self._batched = hasattr(self._env, "num_envs")
        count = self._env.num_envs if self._batched else 1
        self._plans: list[Plan | None] = [None] * count
        self._ages = [0] * count
        self._rng = np.random.default_rng(seed)

    def _steps(self, name: str, seconds: float) -> int:
        steps: float = seconds / self._env.control_timestep
        if not 0 < steps < 9999.5:
            raise ValueError(f"{name}: {seconds} s are {steps:g} control steps, not 1 to 9999")
        return max(1, round(steps))

    @property
    def knobs(self) -> dict[str, float]:
        """Settings that `turn` changes while the planner acts: horizon in s, and noise."""
        horizon = self.problem.steps * self._env.control_timestep
        noise = {"noise": self.method.noise} if hasattr(self.method, "noise") else {}
        return {"horizon": horizon, **noise}

    def turn(self, name: str, value: float) -> None:
        """Set one of `knobs`; a new horizon begins with new plans."""
        if name == "horizon":
            steps = self._steps(name, value)
            self.problem = dataclasses.replace(self.problem, steps=steps)
            self.restart()
        else:
            settings: Any = self.method
            self.method = dataclasses.replace(settings, **{name: value})

    def ahead(self) -> State | None:
        """States (T, ...) that a single environment goes through by its plan; None without one."""
        plan = self._plans[0]
        if plan is None or self._batched:
            return None
        actions = plan.actions[None, self._ages[0] :]
        if not actions.size:
            return None
        ahead = self._env.rollout(self._env.get_state(), actions, snapshots=True).states
        return {name: value[0] for name, value in ahead.items()}

    def restart(self, where: np.ndarray | None = None) -> None:
        """Forget the plans of episodes that begin, all or those of a mask."""
        for i in range(len(self._plans)):
            if where is None or where[i]:
                self._plans[i] = None

    def plan(self, i: int = 0) -> Plan | None:
        """The present plan of sub-environment i; None before its first action."""
        return self._plans[i]

    def __call__(self, observation: Any) -> np.ndarray:
        """The action, or those of all sub-environments."""
        if not self._batched:
            return self._act(0, self._env.get_state(), observation)
        states = self._env.get_state()
        actions = []
        for i in range(len(self._plans)):
            state = {name: value[i] for name, value in states.items()}
            seen = None if self._prior is None else take(observation, i)
            actions.append(self._act(i, state, seen))
        return np.stack(actions)

    def _act(self, i: int, state: State, observation: Any) -> np.ndarray:
        plan = self._plans[i]
        if plan is None or self._ages[i] == self._every:
            problem = self.problem
            if plan is None:
                plan = self.method.begin(problem)
            else:
                problem, plan = problem.after(plan, self._every)
            plan = self._improved(problem, state, plan, observation)
            self._plans[i], self._ages[i] = plan, 0
        action = plan.actions[min(self._ages[i], len(plan.actions) - 1)]
        self._ages[i] += 1
        return np.array(action)

    def _improved(self, problem: Problem, state: State, plan: Plan, observation: Any) -> Plan:
        if self._prior is None:
            nothing = np.empty((0, *plan.knots.shape))
            return self.method.improve(problem, state, plan, nothing, self._rng)
        actions = proposed(self._prior, problem, state, observation)
        knots = problem.knots_of(actions)
        plan = self.method.improve(problem, state, plan, knots[None], self._rng)
        policy, planned = problem.returns(state, np.stack([actions, plan.actions]))
        if policy >= planned:  # knots lose what the policy does between them
            plan = dataclasses.replace(plan, actions=actions, knots=knots)
        return plan


def proposed(prior: Prior, problem: Problem, state: State, observation: Any) -> np.ndarray:
    """A policy's actions from a state, (T, nu)."""
    begin(prior)
    actions = []
    for _ in range(problem.steps):
        action = np.clip(prior(observation), problem.low, problem.high)
        if action.shape != problem.low.shape:
            raise ValueError(f"prior: expected shape {problem.low.shape}, got {action.shape}")
        actions.append(action)
        step = problem.env.rollout(state, action[None, None], observations=True, snapshots=True)
        state = {name: value[0, 0] for name, value in step.states.items()}
        observation = take(take(step.observations, 0), 0)
    return np.stack(actions)
