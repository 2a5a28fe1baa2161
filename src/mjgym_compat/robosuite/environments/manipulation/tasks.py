"""The tasks' environments as classes: `Lift`, `Stack`, ..., under robosuite's names."""

from typing import Any

from mjgym import registry
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.arguments import FIXED_WIPING, HEIGHT_STD, WIPING
from mjgym_compat.robosuite.environments.base import REGISTERED_ENVS
from mjgym_compat.robosuite.environments.task_env import IDS

_WIPE = registry.registration(IDS["Wipe"]).task_class
DEFAULT_WIPE_CONFIG: dict[str, Any] = {
    **FIXED_WIPING,
    HEIGHT_STD: 0.0,
    **{theirs: getattr(_WIPE, ours) for theirs, ours in WIPING.items()},
}


def __getattr__(name: str) -> Any:
    if name not in IDS:
        raise AttributeError(f"no environment {name!r}{or_else(name, IDS)}", name=name)
    return REGISTERED_ENVS[name]
