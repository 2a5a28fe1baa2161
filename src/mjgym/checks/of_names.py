"""Checks of the names that a task's class gives its methods."""

import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from mjgym.checks.words import Results
from mjgym.task import Task
from mjgym.util.suggestions import close

ALIKE = 0.8  # minimum similarity of a misspelt hook
# Names in Gymnasium, dm_control and robosuite for the hooks on the left.
_ELSEWHERE = {
    ("model",): "_load_model load_model make_model build_model get_model mjcf_model",
    ("initialize",): (
        "reset reset_model _reset _reset_internal reset_internal initialise init_episode"
        " initialize_episode initialize_episode_mjcf on_reset"
    ),
    ("observation",): (
        "observe get_obs _get_obs get_observation _get_observation get_observations"
        " _get_observations obs"
    ),
    ("terms", "reward"): (
        "get_reward _get_reward compute_reward calculate_reward rewards reward_fn get_rewards"
        " reward_function"
    ),
    ("terminated",): (
        "done is_done _is_done get_done terminate termination get_termination is_terminated"
        " is_terminal should_terminate should_terminate_episode _check_terminated is_healthy"
    ),
    ("truncated",): "truncate truncation is_truncated get_truncated time_out timeout",
    ("success",): (
        "is_success _is_success check_success _check_success get_success succeeded is_successful"
        " is_solved"
    ),
    ("before_step", "control"): "step _pre_action pre_step pre_action apply_action set_action act",
    ("update",): "after_step post_step _post_action post_action",
    ("substep",): "after_substep before_substep",
    ("actions",): "action_space get_action_space action_spec",
    ("labels",): "observation_space observation_spec",
    ("observables",): "_setup_observables task_observables get_observables",
    ("scripted_policy",): "expert expert_policy scripted get_expert",
}
_SYNONYMS = {word: hooks for hooks, words in _ELSEWHERE.items() for word in words.split()}
_HOOKS = [name for name in dir(Task) if not name.startswith("_")]


def check_names(cls: type[Task]) -> Results:
    """No method is meant as a hook but misnamed, so that it is never called."""
    called = _called(cls)
    misnamed = False
    for name in _methods(cls):
        hooks = _SYNONYMS.get(name) or tuple(
            # `close` also suggests words that merely contain the name.
            hook
            for hook in close(name, _HOOKS, 1, ALIKE)
            if name not in hook
        )
        if not hooks or name in called:
            continue
        misnamed = True
        defined = all(getattr(cls, hook) is not getattr(Task, hook) for hook in hooks)
        yield (
            "warn" if defined else "fail",
            f"nothing calls {name}(): the hook is {' and '.join(map(_signature, hooks))}"
            + (", which there is too" if defined else ""),
        )
    if not misnamed:
        yield "pass", "no method looks like a misnamed hook"


def _methods(cls: type[Task]) -> Iterator[str]:
    bases = [base for base in cls.__mro__ if base is not object]
    strange = [base for base in bases if not _is_ours(base)]
    known = {name for base in bases if _is_ours(base) for name in vars(base)}
    for name in dict.fromkeys(name for base in strange for name in vars(base)):
        value = inspect.getattr_static(cls, name)
        kinds = (property, staticmethod, classmethod)
        method = inspect.isfunction(value) or isinstance(value, kinds)
        if method and name not in known and (not name.startswith("_") or name in _SYNONYMS):
            yield name


def _is_ours(base: type) -> bool:
    module = base.__module__
    return module.startswith("mjgym.") and not module.startswith("mjgym.tasks.")


def _called(cls: type[Task]) -> set[str]:
    """Names that the methods of a class refer to, except to themselves."""
    names: set[str] = set()
    for base in cls.__mro__:
        for name, value in vars(base).items():
            plain: Any = value.fget if isinstance(value, property) else value
            code = getattr(getattr(plain, "__func__", plain), "__code__", None)
            if isinstance(code, CodeType):
                names |= _references(code) - {name}
    return names


def _references(code: CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return {*code.co_names}.union(*(_references(part) for part in inner))


def _signature(hook: str) -> str:
    value = inspect.getattr_static(Task, hook)
    if not inspect.isfunction(value):
        return f"the property {hook}"
    return f"{hook}({', '.join(list(inspect.signature(value).parameters)[1:])})"
