"""The interface of the Control Suite: `suite.load("cartpole", "swingup")`, `suite.cartpole`."""

import functools
import types
from collections.abc import Mapping
from typing import Any

from mjgym import registry
from mjgym_compat.dm_control import domains
from mjgym_compat.dm_control.utils.containers import TaggedTasks
from mjgym_compat.dm_env import (
    ALL_TASKS,
    BENCHMARKING,
    EASY,
    EXTRA,
    HARD,
    NO_REWARD_VIZ,
    REWARD_VIZ,
    TASKS_BY_DOMAIN,
    DmEnv,
    load,
)
from mjgym_compat.importing import submodules

__all__ = [
    "ALL_TASKS",
    "BENCHMARKING",
    "EASY",
    "EXTRA",
    "HARD",
    "NO_REWARD_VIZ",
    "REWARD_VIZ",
    "TASKS_BY_DOMAIN",
    "build_environment",
    "load",
]

build_environment = load


def _make(
    domain: str,
    task: str,
    time_limit: float | None = None,
    random: Any = None,
    environment_kwargs: Mapping[str, Any] | None = None,
    **fields: Any,
) -> DmEnv:
    fields |= {} if time_limit is None else {"time_limit": time_limit}
    return load(domain, task, {"random": random, **fields}, environment_kwargs)


def _model_and_assets(domain: str, **fields: Any) -> tuple[str, dict[str, bytes]]:
    """The MJCF and the files of a domain's model; keywords are fields of the task."""
    spec = domains.make_task(domain, TASKS_BY_DOMAIN[domain][0], fields).model()
    spec.compile()
    return spec.to_xml(), dict(spec.assets)


@functools.cache
def _domain(name: str) -> types.ModuleType:
    module = types.ModuleType(f"{__name__}.{name}", f"The domain {name} of the suite.")
    tasks = TaggedTasks()
    for task in TASKS_BY_DOMAIN[name]:
        make = functools.partial(_make, name, task)
        make.__name__ = task  # type: ignore[attr-defined]
        tasks.add(*registry.registration(f"dmc/{name}-{task}-v0").tags)(make)
    module.__dict__.update(
        tasks,
        Physics=domains.PHYSICS[name],
        SUITE=tasks,
        get_model_and_assets=functools.partial(_model_and_assets, name),
        **domains.task_classes(name),
    )
    return module


_others = submodules(__name__)


def __getattr__(name: str) -> types.ModuleType:
    return _domain(name) if name in TASKS_BY_DOMAIN else _others(name)
