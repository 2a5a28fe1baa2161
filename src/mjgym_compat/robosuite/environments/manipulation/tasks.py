"""The tasks' environments as classes: `Lift`, `Stack`, ..., under robosuite's names."""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.environments.base import REGISTERED_ENVS
from mjgym_compat.robosuite.environments.task_env import IDS


def __getattr__(name: str) -> Any:
    if name not in IDS:
        raise AttributeError(f"no environment {name!r}{or_else(name, IDS)}", name=name)
    return REGISTERED_ENVS[name]
