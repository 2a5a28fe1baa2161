"""The planning methods by name: a new one is a class and a line here."""

from typing import Any, Protocol

import numpy as np

from mjgym.planning.ilqg import ILQG
from mjgym.planning.problem import Plan, Problem
from mjgym.planning.sampling import CrossEntropy, PathIntegral, PredictiveSampling, RandomShooting
from mjgym.planning.tangent import State
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of, positive, whole_number


class Method(Protocol):
    """A planning method: a frozen dataclass of its settings, with two functions."""

    @property
    def spline(self) -> bool:
        """True if its plans are splines, instead of free actions."""

    def begin(self, problem: Problem) -> Plan:
        """The plan at an episode's start."""

    def improve(
        self,
        problem: Problem,
        state: State,
        plan: Plan,
        proposals: np.ndarray,
        rng: np.random.Generator,
    ) -> Plan:
        """A better plan from a state."""


METHODS = {
    "random_shooting": RandomShooting,
    "predictive_sampling": PredictiveSampling,
    "cem": CrossEntropy,
    "mppi": PathIntegral,
    "ilqg": ILQG,
}


def method_of(method: str | Method, settings: dict[str, Any]) -> Method:
    """A method by its name, with settings, or a `Method` as it is."""
    if not isinstance(method, str):
        if isinstance(method, type):
            raise TypeError(f"method: expected an object, {method.__name__}(), not its class")
        for name in ("spline", "begin", "improve"):
            if not hasattr(method, name):
                raise TypeError(f"method: {type(method).__name__} has no {name!r}")
        if settings:
            raise TypeError(
                f"{sorted(settings)[0]}: a method of one's own has its settings already"
            )
        return method
    one_of("method", method, METHODS)
    cls: Any = METHODS[method]
    known = cls.__dataclass_fields__
    for name, value in settings.items():
        if name not in known:
            raise TypeError(f"{method} has no setting {name!r}{or_else(name, known)}")
        if isinstance(known[name].default, int):
            whole_number(name, value)
        elif isinstance(known[name].default, float):
            positive(name, value)
    made: Method = cls(**settings)
    return made
