"""Checks of a task, with a reason and a remedy for each that fails."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from mjgym import registry
from mjgym.checks import of_environments as runs
from mjgym.checks import of_tasks as tasks
from mjgym.checks.of_names import check_names
from mjgym.checks.of_vector_envs import check_vector_env
from mjgym.checks.subject import Subject
from mjgym.checks.words import Result, Results, Status, error_line

__all__ = ["Finding", "check", "check_vector_env"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check."""

    id: str
    check: str
    # "pass", "skipped" (a package is missing), "warn" (it runs, but users may stumble) or "fail"
    status: Status
    reason: str  # the observation and, unless it passed, the remedy


def check(id: str, **kwargs: Any) -> list[Finding]:
    """Run all checks on a task.

    A check is left out if one that it depends on has failed.

    Returns:
        One finding or more for each check.

    Raises:
        gymnasium.error.NameNotFound: there is no such id; the message names the nearest ones.
        TypeError: make has no such argument; the message names the nearest ones.
    """
    cls = registry.registration(id).task_class
    # First, because a task without a required hook cannot be built.
    findings = [Finding(id, "hook names", status, reason) for status, reason in check_names(cls)]
    try:
        subject = Subject(id, kwargs)
    except Exception as error:
        if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
            raise
        return [*findings, Finding(id, "build", "fail", error_line(error, cls))]
    failed: set[str] = set()
    for name, look, needs in _CHECKS:
        if failed.intersection(needs):
            continue
        results: list[Result]
        try:
            with warnings.catch_warnings():  # `finite` reports them
                warnings.simplefilter("ignore", RuntimeWarning)
                results = list(look(subject))
        except Exception as error:
            results = [("fail", error_line(error, cls))]
        if any(status == "fail" for status, _ in results):
            failed.add(name)
        findings += [Finding(id, name, status, reason) for status, reason in results]
    return findings


_EVERYTHING = ("build", "varies", "hooks")
_CHECKS: tuple[tuple[str, Callable[[Subject], Results], tuple[str, ...]], ...] = (
    ("build", tasks.check_build, ()),
    ("varies", tasks.check_varies, ("build",)),
    ("frozen", tasks.check_frozen, ("build", "varies")),
    ("hooks", tasks.check_hooks, ("varies",)),
    ("batch shapes", tasks.check_batch_shapes, _EVERYTHING),
    ("array libraries", tasks.check_array_libraries, (*_EVERYTHING, "batch shapes")),
    ("determinism", runs.check_determinism, _EVERYTHING),
    ("single = batch", runs.check_single_is_batch, (*_EVERYTHING, "batch shapes", "determinism")),
    ("finite", runs.check_finite, _EVERYTHING),
    ("snapshot", runs.check_snapshot, (*_EVERYTHING, "determinism", "finite")),
    ("reward", runs.check_reward, _EVERYTHING),
    ("time limit", runs.check_time_limit, _EVERYTHING),
    ("compiled hooks", runs.check_compiled, _EVERYTHING),
    ("action space", tasks.check_action_space, ()),
    ("Gymnasium", runs.check_gymnasium, _EVERYTHING),
    ("observation names", tasks.check_observation_names, ("varies", "hooks")),
    ("model names", tasks.check_model_names, ()),
    ("docstring", tasks.check_docstring, ()),
)
