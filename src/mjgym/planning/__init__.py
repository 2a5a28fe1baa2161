"""Planning: an environment as its own model.

    planner = planning.Planner(env, "mppi", horizon=0.5, rollouts=64)
    action = planner(observation)  # a policy, of a single environment or of a batch

Planners are functions over `env.unwrapped.rollout`; `mjgym.planning.methods` lists them.
"""

from mjgym.planning.derivatives import Linearization, linearize
from mjgym.planning.methods import METHODS, Method
from mjgym.planning.planner import Planner
from mjgym.planning.problem import Plan, Problem

__all__ = ["METHODS", "Linearization", "Method", "Plan", "Planner", "Problem", "linearize"]
