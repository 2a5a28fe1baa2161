"""Environments under the interfaces of other libraries: thin wrappers without task logic."""

from typing import TYPE_CHECKING, Any

import mjgym  # noqa: F401  (registers the ids)
from mjgym_compat.installing import install

if TYPE_CHECKING:
    from mjgym_compat.of_dm_env import gymnasium

__all__ = ["gymnasium", "install"]


def __getattr__(name: str) -> Any:
    if name == "gymnasium":  # the command's help is shown without Gymnasium
        from mjgym_compat.of_dm_env import gymnasium

        return gymnasium
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
